//! Units, as systemd tells of them on a console or in a log of lines: `Starting x...`, then
//! `Started x`.

use super::milestone::At;
use crate::text::lossy;
use record::{Recorder, SpanKind};
use std::collections::HashMap;

/// What says that a unit is there.
const DONE: [&[u8]; 4] = [b"Started ", b"Finished ", b"Mounted ", b"Activated swap "];

/// What says that it begins.
const BEGINS: [&[u8]; 3] = [b"Starting ", b"Mounting ", b"Activating swap "];

/// So many units may be open: a log that only begins them is no boot's.
const MOST: usize = 4_096;

/// Units that have begun.
#[derive(Debug, Default)]
pub(crate) struct Units {
    open: HashMap<Vec<u8>, At>,
}

impl Units {
    /// Takes the words of a line that came at `at`. A unit that has begun and is there
    /// becomes a span, called by the unit's name if systemd prints it, else by what systemd
    /// calls it.
    pub(crate) fn line(&mut self, recorder: &mut Recorder, at: At, text: &[u8]) {
        let Some(words) = said(text) else {
            return;
        };
        let behind = |starts: &[&[u8]]| starts.iter().find_map(|s| words.strip_prefix(*s));
        if let Some(unit) = behind(&BEGINS).filter(|_| self.open.len() < MOST) {
            self.open.insert(named(unit).to_vec(), at);
        } else if let Some(unit) = behind(&DONE) {
            let unit = named(unit);
            let begun = self.open.remove(unit).filter(|b| b.clock == at.clock);
            if let Some(begun) = begun.filter(|b| b.ns <= at.ns) {
                let name = recorder.name(&lossy(unit));
                let span = recorder.span_of(begun.clock, SpanKind::Unit, name, begun.origin);
                recorder.span(span.start(Some(begun.ns)).end(Some(at.ns)));
            }
        }
    }
}

/// The words of systemd in a line: behind its name and number in a log, behind the state or
/// blanks on a console.
fn said(text: &[u8]) -> Option<&[u8]> {
    if let Some(words) = text.strip_prefix(b"systemd[1]: ") {
        return Some(words);
    }
    match text.strip_prefix(b"[") {
        Some(state) => {
            let words = state.trim_ascii_start().strip_prefix(b"OK")?;
            Some(
                words
                    .trim_ascii_start()
                    .strip_prefix(b"]")?
                    .trim_ascii_start(),
            )
        }
        // On the console what begins stands below what is done.
        None => text
            .starts_with(b"         ")
            .then(|| text.trim_ascii_start()),
    }
}

/// `a.service` of `a.service - Description...`; the description where systemd prints no
/// more.
fn named(unit: &[u8]) -> &[u8] {
    let end = memchr::memmem::find(unit, b" - ");
    let name = end
        .and_then(|at| unit.get(..at))
        .filter(|name| name.contains(&b'.') && !name.contains(&b' '));
    let Some(name) = name else {
        let mut unit = unit.trim_ascii_end();
        while let Some(rest) = unit.strip_suffix(b".") {
            unit = rest;
        }
        return unit;
    };
    name
}

#[cfg(test)]
mod tests {
    use super::{named, said};

    #[test]
    fn systemd_is_understood_on_a_console_and_in_a_log() {
        for (line, unit) in [
            ("systemd[1]: Starting a.service - Thing A...", "a.service"),
            ("systemd[1]: Started Thing A.", "Thing A"),
            ("         Starting Thing A...", "Thing A"),
            ("[  OK  ] Finished a.service - Thing A.", "a.service"),
        ] {
            let words = said(line.as_bytes()).unwrap_or_default();
            let at = words.iter().position(|b| *b == b' ').unwrap_or(0);
            let name = named(words.get(at + 1..).unwrap_or_default());
            assert_eq!(String::from_utf8_lossy(name), unit, "{line}");
        }
        for line in [
            "Starting x...",
            "[FAILED] Failed to start x.",
            "app[7]: Started y",
        ] {
            assert_eq!(said(line.as_bytes()), None, "{line}");
        }
    }
}
