//! OpenRC's log (`rc_logger="YES"` in `/etc/rc.conf`: `/var/log/rc.log`).
//!
//! It has the time of day, in whole seconds, at the begin and the end of each runlevel, and the
//! names of the services in the order of their start, without times.
//!
//! Units of the ledger are lines.

use crate::several_boots::{SEVERAL_BOOTS, ranges, read_last};
use crate::source::{Input, Sniff, Source};
use crate::text;
use crate::walltime::ctime;
use record::{
    ClockId, ClockKind, NoteKind, Origin, Phase, Recorder, Severity, SourceId, SpanKind, mark,
};
use std::ops::Range;

/// OpenRC's log of runlevels.
#[derive(Debug)]
pub struct Openrc;

/// The time of day, in seconds.
const CLOCK: &str = "realtime";
const STEP_NS: u64 = 1_000_000_000;

/// The runlevel in which a machine's own services start, the last one of a boot.
const DEFAULT: &str = "default";

/// The runlevels of a shutdown.
const OF_SHUTDOWN: &str = "shutdown";

/// So many lines are looked at to know the format.
const LOOKED_AT: usize = 500;

const BLANK_LINE: NoteKind = NoteKind::new(
    "blank_line",
    Severity::Info,
    "Blank lines were skipped. No action needed.",
);

const RESULT: NoteKind = NoteKind::new(
    "result_line",
    Severity::Info,
    "These lines tell the result of the service before them.",
);

const NO_SERVICE_TIMES: NoteKind = NoteKind::new(
    "no_service_times",
    Severity::Doubt,
    "OpenRC logs no time of a single service, and that of a runlevel in whole seconds. A serial \
     log with host timestamps, or bootchart, shows how long each service takes.",
);

const SHUTDOWN: NoteKind = NoteKind::new(
    "shutdown",
    Severity::Info,
    "These lines are of the shutdown, and no part of the boot.",
);

const NOT_ENDED: NoteKind = NoteKind::new(
    "runlevel_not_ended",
    Severity::DataLoss,
    "The log ends before these runlevels do.",
);

/// A line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row<'a> {
    Blank,
    /// A runlevel begins or ends, at a time in nanoseconds.
    Started(&'a str, i64),
    Stopped(&'a str, i64),
    /// `[ ok ]` or `[ !! ]`.
    Result,
    /// A service, or what it says.
    Says(&'a str),
}

/// `rc boot logging started at Mon Nov 28 00:47:46 2011`.
fn row(line: &str) -> Row<'_> {
    let text = line.trim();
    if text.is_empty() {
        return Row::Blank;
    }
    if matches!(text, "[ ok ]" | "[ !! ]" | "[ oops ]") {
        return Row::Result;
    }
    runlevel(text).unwrap_or(Row::Says(text))
}

fn runlevel(text: &str) -> Option<Row<'_>> {
    let (name, rest) = text.strip_prefix("rc ")?.split_once(" logging ")?;
    let (did, date) = rest.split_once(" at ")?;
    let (at, rest) = ctime(date.as_bytes())?;
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    match (did, is_name && rest.trim_ascii().is_empty()) {
        ("started", true) => Some(Row::Started(name, at)),
        ("stopped", true) => Some(Row::Stopped(name, at)),
        _ => None,
    }
}

impl Source for Openrc {
    fn name(&self) -> &'static str {
        "openrc"
    }

    fn description(&self) -> &'static str {
        "OpenRC's log of runlevels: `/var/log/rc.log`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let mut lines = text::lines(head).take(LOOKED_AT);
        match lines.any(|l| runlevel(text::lossy(l.bytes).trim()).is_some()) {
            true => Sniff::Yes,
            false => Sniff::No,
        }
    }

    /// A boot begins with its first runlevel behind one of an earlier boot or of a shutdown:
    /// `default` is the last one of each.
    fn boots(&self, bytes: &[u8]) -> Vec<Range<u64>> {
        let mut starts = Vec::new();
        let mut is_over = false;
        for line in text::lines(bytes) {
            match row(&text::lossy(line.bytes)) {
                Row::Started(name, _) if name != OF_SHUTDOWN && std::mem::take(&mut is_over) => {
                    starts.push(line.offset);
                }
                Row::Stopped(DEFAULT | OF_SHUTDOWN, _) => is_over = true,
                _ => {}
            }
        }
        ranges(&starts, bytes.len() as u64)
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        read_last(self, input, recorder);
    }

    fn read_boot(&self, input: Input<'_>, boot: Range<u64>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let mut reader = Reader {
            source,
            clock: recorder.clock(CLOCK, ClockKind::Wall, STEP_NS),
            open: None,
            has_begun: false,
            is_over: false,
            is_down: false,
        };
        for line in text::lines(input.bytes) {
            let offset = line.offset;
            let origin = Origin { source, offset };
            if boot.contains(&offset) {
                reader.line(&text::lossy(line.bytes), origin, recorder);
            } else {
                recorder.skipped(origin, &SEVERAL_BOOTS);
            }
        }
        reader.finish(recorder);
    }
}

struct Reader {
    source: SourceId,
    clock: ClockId,
    /// The runlevel that has begun: its name, when, and where that is said.
    open: Option<(String, i64, Origin)>,
    has_begun: bool,
    is_over: bool,
    is_down: bool,
}

impl Reader {
    fn line(&mut self, line: &str, origin: Origin, recorder: &mut Recorder) {
        let row = row(line);
        if let Row::Started(name, _) = row {
            self.is_down = name == OF_SHUTDOWN;
        }
        match row {
            _ if self.is_down => return recorder.skipped(origin, &SHUTDOWN),
            Row::Blank => return recorder.skipped(origin, &BLANK_LINE),
            Row::Result => return recorder.skipped(origin, &RESULT),
            Row::Started(name, at) => {
                self.ended(None, recorder);
                self.open = Some((name.to_owned(), at, origin));
                if !std::mem::replace(&mut self.has_begun, true) {
                    let (start, phase) = (mark::USERSPACE_START, Some(Phase::Userspace));
                    recorder.mark(self.clock, start, at, phase, origin);
                }
            }
            Row::Stopped(name, at) => {
                self.ended(Some((name, at)), recorder);
                if name == DEFAULT && !std::mem::replace(&mut self.is_over, true) {
                    recorder.mark(self.clock, mark::STARTUP_FINISHED, at, None, origin);
                }
            }
            Row::Says(text) => {
                recorder.message(self.clock, None, None, text, origin);
                recorder.note(origin, &NO_SERVICE_TIMES, String::new);
            }
        }
        recorder.took(self.source);
    }

    /// The open runlevel ends at the time that is said of it, or nobody says when.
    fn ended(&mut self, said: Option<(&str, i64)>, recorder: &mut Recorder) {
        let Some((name, start, origin)) = self.open.take() else {
            return;
        };
        let end = said.filter(|(n, at)| *n == name && *at >= start);
        let end = end.map(|(_, at)| at);
        let id = recorder.name(&format!("openrc/{name}"));
        let span = recorder.span_of(self.clock, SpanKind::Stage, id, origin);
        recorder.span(span.start(Some(start)).end(end));
        if end.is_none() {
            recorder.note(origin, &NOT_ENDED, || name);
        }
    }

    fn finish(mut self, recorder: &mut Recorder) {
        self.ended(None, recorder);
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, row};

    #[test]
    fn lines_of_every_kind_are_known() {
        let at = 1_322_441_266_000_000_000;
        for (line, expected) in [
            (
                "rc boot logging started at Mon Nov 28 00:47:46 2011",
                Row::Started("boot", at),
            ),
            (
                "rc default logging stopped at Mon Nov 28 00:47:46 2011",
                Row::Stopped("default", at),
            ),
            (" [ ok ]", Row::Result),
            (" * Starting sshd ...", Row::Says("* Starting sshd ...")),
            (
                "rc boot logging started at noon",
                Row::Says("rc boot logging started at noon"),
            ),
            ("", Row::Blank),
        ] {
            assert_eq!(row(line), expected, "{line}");
        }
    }
}
