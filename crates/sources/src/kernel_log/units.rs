//! Units, as systemd tells of them on a console or in a log of lines: `Starting x...`, then
//! `Started x`. Android's init says itself how long its services and commands took.

use super::at::At;
use super::descriptions;
use crate::text::{lossy, seconds};
use record::{Recorder, SpanKind};
use std::collections::HashMap;

/// What says that a unit is there, or that it will not be: either ends its job.
const DONE: [&[u8]; 7] = [
    b"Started ",
    b"Finished ",
    b"Mounted ",
    b"Activated swap ",
    b"Failed to start ",
    b"Failed to mount ",
    b"Failed to activate swap ",
];

/// What says that it begins.
const BEGINS: [&[u8]; 3] = [b"Starting ", b"Mounting ", b"Activating swap "];

/// So many units may be open: a log that only begins them is no boot's.
const MOST: usize = 4_096;

/// How a step of initramfs-tools begins.
///
/// <https://salsa.debian.org/kernel-team/initramfs-tools/-/blob/master/scripts/functions>
const BEGIN: &str = "Begin: ";

/// Units that have begun.
#[derive(Debug, Default)]
pub(crate) struct Units {
    open: HashMap<Vec<u8>, At>,
    /// The steps of an initramfs that have begun, the innermost last.
    steps: Vec<(String, At)>,
    /// Whether the line that began the last one says that it is done: then it was when the
    /// next line came.
    is_done: bool,
}

/// How deep the scripts of an initramfs are nested at most.
const DEEPEST: usize = 16;

impl Units {
    /// Takes any line, of which some are of initramfs-tools: `Begin: Mounting root file
    /// system ... Begin: Running /scripts/local-top ... done.`, and `done.` of a step that
    /// wrote lines of its own. A step whose line is complete was over when the next line
    /// came.
    pub(crate) fn initramfs(&mut self, recorder: &mut Recorder, at: At, text: &[u8]) {
        if std::mem::take(&mut self.is_done) {
            self.step_ends(recorder, at);
        }
        if !(text.starts_with(BEGIN.as_bytes()) || text.starts_with(b"done.")) {
            return;
        }
        let text = lossy(text.trim_ascii());
        if text == "done." {
            self.step_ends(recorder, at);
        }
        let steps = text.split(BEGIN).filter(|s| !s.is_empty());
        for step in steps.filter(|_| text.starts_with(BEGIN)) {
            let (name, rest) = step.split_once(" ...").unwrap_or((step, ""));
            if self.steps.len() < DEEPEST {
                self.steps.push((name.trim().to_owned(), at));
                self.is_done = rest.trim() == "done.";
            }
        }
    }

    fn step_ends(&mut self, recorder: &mut Recorder, at: At) {
        let step = self.steps.pop();
        let step = step.filter(|(_, b)| b.clock == at.clock && b.ns <= at.ns);
        if let Some((name, begun)) = step {
            let name = recorder.name(&name);
            let span = recorder.span_of(begun.clock, SpanKind::Unit, name, begun.origin);
            recorder.span(span.start(Some(begun.ns)).end(Some(at.ns)));
        }
    }

    /// Takes the words of a line that came at `at`. A unit that has begun and is there
    /// becomes a span, called by the unit's name if systemd prints it, else by what systemd
    /// calls it.
    pub(crate) fn line(&mut self, recorder: &mut Recorder, at: At, text: &[u8]) {
        if let Some((name, ns)) = of_init(text).and_then(took) {
            let name = recorder.name(&name);
            let span = recorder.span_of(at.clock, SpanKind::Unit, name, at.origin);
            let start = at.ns.saturating_sub(ns);
            recorder.span(span.start(Some(start)).end(Some(at.ns)).reported(Some(ns)));
            return;
        }
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
                let name = recorder.name(&descriptions::unit(&lossy(unit)));
                let span = recorder.span_of(begun.clock, SpanKind::Unit, name, begun.origin);
                recorder.span(span.start(Some(begun.ns)).end(Some(at.ns)));
            }
        }
    }
}

/// The words of Android's init in a line: `init: words` in the kernel's log, `init    (    1):
/// words` and `init    : words` in `logcat`'s.
pub(super) fn of_init(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"init")?.trim_ascii_start();
    let rest = match rest.strip_prefix(b"(") {
        Some(number) => number.get(memchr::memchr(b')', number)? + 1..)?,
        None => rest,
    };
    rest.strip_prefix(b": ")
}

/// A service or a command of Android's init, and how long it took, in nanoseconds:
/// `Service 'x' (pid 7) exited with status 0 waiting took 2.150000 seconds`,
/// `Command 'x' action=y (z.rc:7) took 153ms and succeeded` and `Wait for property 'x=1' took
/// 400ms`, some versions without the unit. What went on in the background was not waited for.
///
/// <https://android.googlesource.com/platform/system/core/+/refs/heads/main/init/>
fn took(words: &[u8]) -> Option<(String, i64)> {
    let text = std::str::from_utf8(words).ok()?;
    if let Some(rest) = text.strip_prefix("Wait for property '") {
        let (property, time) = rest.split_once("' took ")?;
        let ms = time.trim_end().trim_end_matches("ms").parse::<i64>().ok()?;
        return Some((format!("wait for {property}"), ms.checked_mul(1_000_000)?));
    }
    let kind = ["Service ", "Command "];
    let rest = kind.iter().find_map(|k| text.strip_prefix(k))?;
    let (name, rest) = rest.strip_prefix('\'')?.split_once('\'')?;
    let (_, time) = rest.rsplit_once(" took ")?;
    let ns = match time.split_once("ms and ") {
        Some((ms, _)) => ms.parse::<i64>().ok()?.checked_mul(1_000_000)?,
        None => {
            let (number, _) = time
                .split_once(" seconds")
                .filter(|(_, rest)| rest.is_empty())?;
            let (ns, _, rest) = seconds(number.as_bytes())?;
            rest.is_empty().then_some(ns)?
        }
    };
    Some((name.to_owned(), ns))
}

/// The words of the first systemd in a log. Where the journal hands its lines to a syslog, some
/// systems (RHEL 7) leave out the number.
pub(super) fn of_systemd(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"systemd[1]: ")
        .or_else(|| text.strip_prefix(b"systemd: "))
}

/// The words of systemd in a line: behind its name and number in a log, behind the state or
/// blanks on a console.
fn said(text: &[u8]) -> Option<&[u8]> {
    if let Some(words) = of_systemd(text) {
        return Some(words);
    }
    match text.strip_prefix(b"[") {
        Some(state) => {
            let state = state.trim_ascii_start();
            let words = state
                .strip_prefix(b"OK")
                .or(state.strip_prefix(b"FAILED"))?;
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
    use super::{BEGINS, DONE, named, said, took};

    #[test]
    fn androids_init_says_how_long_it_waited() {
        let second = 1_000_000_000;
        for (words, found) in [
            (
                "Service 'a_b' (pid 4) exited with status 0 waiting took 2.500000 seconds",
                Some(("a_b", 2 * second + second / 2)),
            ),
            (
                "Command 'restore --all /x' action=late (/y.rc:7) took 1500ms and succeeded",
                Some(("restore --all /x", second + second / 2)),
            ),
            (
                "Service 'a' (pid 4) exited with status 0 oneshot service took 1.0 seconds in \
                 background",
                None,
            ),
            ("Service 'a' (pid 4) exited with status 0", None),
            (
                "Wait for property 'a.b=1' took 2000",
                Some(("wait for a.b=1", 2 * second)),
            ),
            (
                "Wait for property 'a.b=1' took 2000ms",
                Some(("wait for a.b=1", 2 * second)),
            ),
            ("Wait for property 'a.b=1' took long", None),
            ("starting service 'a'...", None),
        ] {
            let found = found.map(|(name, ns)| (name.to_owned(), ns));
            assert_eq!(took(words.as_bytes()), found, "{words}");
        }
    }

    #[test]
    fn systemd_is_understood_on_a_console_and_in_a_log() {
        for (line, unit) in [
            ("systemd[1]: Starting a.service - Thing A...", "a.service"),
            ("systemd[1]: Started Thing A.", "Thing A"),
            ("         Starting Thing A...", "Thing A"),
            ("[  OK  ] Finished a.service - Thing A.", "a.service"),
            ("[FAILED] Failed to start Thing A.", "Thing A"),
        ] {
            let words = said(line.as_bytes()).unwrap_or_default();
            let all = BEGINS.iter().chain(&DONE);
            let rest = all.into_iter().find_map(|s| words.strip_prefix(*s));
            let name = named(rest.unwrap_or_default());
            assert_eq!(String::from_utf8_lossy(name), unit, "{line}");
        }
        for line in [
            "Starting x...",
            "[DEPEND] Dependency failed for x.",
            "app[7]: Started y",
        ] {
            assert_eq!(said(line.as_bytes()), None, "{line}");
        }
    }
}
