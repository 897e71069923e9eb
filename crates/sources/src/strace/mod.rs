//! strace: the system calls of programs.
//!
//! Best written by `strace -f -ttt -T -o FILE`. Read in every form that has the
//! calls one to a line: with process ids in front or in brackets, and the names of
//! tasks; with stamps since 1970, of the time of day, since the line before, or
//! none; with the numbers of calls and where they were made, or without; calls
//! that others interrupt are joined.
//!
//! Units of the ledger are lines.

mod line;
mod notes;
mod reader;

use crate::source::{Input, Sniff, Source};
use crate::text;
use line::{Event, is_frame, parse};
use notes::{OTHER_LINE, REPORT, STACK_FRAME};
use reader::Reader;
use record::Recorder;

/// strace's output.
///
/// Processes with their forks, programs and exits; files that were opened, and
/// those that were looked for and not there, also along search paths; and a
/// table of calls, by task and call, with the times of `-T`. Times are on the
/// clock `realtime`, or `strace` where the log does not say which day it is.
#[derive(Debug)]
pub struct Strace;

/// How many lines are looked at to know the format.
const SNIFF_LINES: usize = 60;

impl Source for Strace {
    fn name(&self) -> &'static str {
        "strace"
    }

    fn description(&self) -> &'static str {
        "system calls of programs: `strace -f -ttt -T -o FILE COMMAND`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let (mut calls, mut sure, mut all) = (0_usize, false, 0_usize);
        for line in text::lines(head).take(SNIFF_LINES) {
            let clean = text::without_cr(line.bytes);
            if clean.trim_ascii().is_empty() || is_frame(clean) {
                continue;
            }
            all += 1;
            let Some(parsed) = parse(clean) else {
                continue;
            };
            calls += 1;
            sure |= match parsed.event {
                // What no other log has.
                Event::Call(c) => c.name == b"execve" || c.took.is_some() || c.error.is_some(),
                Event::Unfinished(..) | Event::Resumed(_) | Event::Exited(_) => true,
                _ => false,
            };
        }
        match calls * 2 > all {
            true if sure => Sniff::Yes,
            true if calls > 2 => Sniff::Maybe,
            _ => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let mut reader = Reader::new(source);
        for line in text::lines(input.bytes) {
            let parsed = parse(line.bytes);
            let origin = line.origin(source);
            match parsed {
                Some(parsed) if reader.line(parsed, origin, recorder) => recorder.took(source),
                Some(_) => recorder.skipped(origin, &REPORT),
                None if reader.rest(line.bytes, recorder) => recorder.took(source),
                None if line.bytes.trim_ascii().is_empty() => recorder.skipped(origin, &REPORT),
                None if is_frame(text::without_cr(line.bytes)) => {
                    recorder.skipped(origin, &STACK_FRAME);
                }
                None => recorder.skipped(origin, &OTHER_LINE),
            }
        }
        reader.finish(recorder);
    }
}
