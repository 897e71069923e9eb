//! The console of a boot loader, as the exact lab saw it: each line with the instant,
//! in virtual time since reset, at which its first byte was written.
//!
//! Units of the ledger are lines.

use crate::source::{Input, Sniff, Source};
use crate::text;
use agent::capture::LOADER_CONSOLE;
use record::{ClockKind, NoteKind, Origin, Recorder, Severity};

/// The counter of a lab's machine, by the name that captures give it.
const COUNTER: &str = "counter";

/// The reader of such files.
///
/// Every line becomes a message on the lab's counter. Which stages they begin is told
/// by the capture's marks.
#[derive(Debug)]
pub struct LoaderConsole;

const TITLE: NoteKind = NoteKind::new("header", Severity::Info, "The first line names the format.");

const OTHER_LINE: NoteKind = NoteKind::new(
    "unrecognized_line",
    Severity::Doubt,
    "These lines have no timestamp in brackets. Capture again.",
);

/// `[    1.000000001] DRAM:  1 GiB`.
fn line(line: &[u8]) -> Option<(i64, &[u8])> {
    let rest = line.strip_prefix(b"[")?.trim_ascii_start();
    let (at, _, rest) = text::seconds(rest)?;
    let rest = rest.strip_prefix(b"]")?;
    Some((at, rest.strip_prefix(b" ").unwrap_or(rest)))
}

impl Source for LoaderConsole {
    fn name(&self) -> &'static str {
        "loader-console"
    }

    fn description(&self) -> &'static str {
        "console output of the boot loader, timestamped by firstlight's lab or agent"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        match head.starts_with(LOADER_CONSOLE.as_bytes()) {
            true => Sniff::Yes,
            false => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let clock = recorder.clock(COUNTER, ClockKind::Virtual, 1);
        for (number, raw) in text::lines(input.bytes).enumerate() {
            let origin = Origin {
                source,
                offset: raw.offset,
            };
            match line(raw.bytes) {
                Some((at, words)) => {
                    let words = text::lossy(words);
                    recorder.message(clock, Some(at), None, words.trim_end(), origin);
                    recorder.took(source);
                }
                None if number == 0 && raw.bytes.trim_ascii() == LOADER_CONSOLE.as_bytes() => {
                    recorder.skipped(origin, &TITLE);
                }
                None => recorder.skipped(origin, &OTHER_LINE),
            }
        }
    }
}
