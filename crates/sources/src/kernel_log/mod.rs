//! The kernel log, in every shape it is found in.
//!
//! # From bytes to events
//!
//! What a line says by itself is found out ahead, on any thread, by `plain`:
//! `shape` takes off what stands before the words, `call` reads the words of
//! initcalls and probes. What it means beside the lines before it is decided by
//! the one `Reader`, in the order of the log: it keeps the books on stamps,
//! and asks `spans` (with `pairs`) to bring starts and ends together and
//! `milestone` to know the lines that a boot's phases begin with. Lines that are
//! not plain (torn, glued, coloured, JSON) the reader takes apart itself; it
//! does the same with each line that another source hands to it.
//!
//! # Line by line
//!
//! Another source that meets kernel lines among its own (a stamped serial log)
//! strips its own stamp and hands each line to a `Reader`:
//!
//! ```text
//! let mut reader = Reader::new(source);                    // the caller's own SourceId
//! for each line of the log {
//!     // `text`: the line without the host's stamp and without LF or CR; controls may stay in.
//!     // `offset`: the byte at which `text` begins in the file (events carry it).
//!     // `host`: the host's stamp of this line, if there is one.
//!     match reader.line(recorder, text, offset, host) {
//!         Outcome::Kernel { printk_ns } => recorder.took(source),   // events are recorded
//!         Outcome::Noted(kind) => recorder.skipped(origin, kind),   // nothing is recorded
//!         Outcome::Other => { /* nothing is recorded: the caller's line; took or skipped */ }
//!     }
//! }
//! reader.finish(recorder);                                 // lost ends, counted notes
//! ```
//!
//! The reader never counts units: each call of `Reader::line` is one unit of
//! the caller's. `printk_ns` is the kernel's own stamp of the line, so that the
//! caller can relate its clock to `printk`. A kernel without stamps is read by
//! the host's: `host` then times initcalls, probes and milestones.

mod at;
mod boots;
mod call;
mod counter;
mod descriptions;
mod finished;
mod journal;
mod local_clock;
mod milestone;
mod notes;
mod order;
mod pairs;
mod plain;
mod reader;
mod relative;
mod shape;
mod spans;
mod stamps;
#[cfg(test)]
mod tests;
mod units;

pub(crate) use at::At;
pub use order::newest_first;
pub(crate) use reader::{Outcome, Reader};
pub(crate) use units::Units;

use crate::blocks::in_order;
use crate::journal_forms::{Form, pieces_of_a_form};
use crate::several_boots::read_last;
use crate::source::{Input, Sniff, Source};
use crate::text::{lines, without_controls, without_no_break};
use call::Call;
use memchr::memmem;
use record::{Origin, Recorder};
use shape::Stamp;
use std::ops::Range;

/// A span takes two lines of the log, of about this length together.
const SPAN_BYTES: usize = 120;

/// About the length of a line that is recorded as a message.
const MESSAGE_BYTES: usize = 60;

/// The kernel log: `dmesg` (also `-r`, `-x`, `-T`, `-d`, `-H`, `--json`), `/dev/kmsg`,
/// a console's capture, `journalctl -k` (every form but `verbose` and `cat`) and syslog
/// files.
///
/// Initcalls and probes become spans, milestones marks, all else messages. An
/// initcall's times are the stamps of its two lines; the kernel's own number
/// stands beside. A probe has one line only: its start is the stamp less the
/// kernel's number, so the two agree by construction.
///
/// A unit is a line; in `dmesg --json` it is an object of the array, and in the forms
/// of a journal that are not one line a record, a record.
#[derive(Debug)]
pub struct KernelLog;

impl Source for KernelLog {
    fn name(&self) -> &'static str {
        "kernel-log"
    }

    fn description(&self) -> &'static str {
        "kernel log: `dmesg`, `cat /dev/kmsg`, `journalctl -k -o short-monotonic` or a console log"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let head: &[u8] = &without_no_break(head);
        if journal::dmesg_array(head).is_some() {
            return Sniff::Yes;
        }
        if Form::of(head).is_some() {
            let kernel = memmem::find(head, b"kernel").is_some();
            return if kernel { Sniff::Yes } else { Sniff::Maybe };
        }
        let (mut seen, mut stamped, mut foreign) = (0_u32, 0_u32, 0_u32);
        let (mut bare, mut indented, mut named, mut bracketless) = (false, 0, 0, 0);
        for line in lines(head) {
            let clean = without_controls(line.bytes);
            if clean.starts_with(b" ") {
                // A mail indents what it quotes, and a call is like nothing else.
                let call = call::call(clean.trim_ascii());
                bare |= call.is_some_and(|c| c != Call::Torn);
                indented += usize::from(kernel_like(&clean) == Some(true));
                continue;
            }
            if clean.trim_ascii().is_empty() {
                continue;
            }
            seen += 1;
            if shape::bracketless(&clean).is_some() {
                bracketless += 1;
                continue;
            }
            match kernel_like(&clean) {
                Some(true) => stamped += 1,
                Some(false) => foreign += 1,
                None => {
                    bare |= says_kernel(&clean);
                    named += usize::from(clean.starts_with(NAME));
                }
            }
        }
        bare |= named >= FEWEST_NAMED || bracketless >= FEWEST_NAMED;
        // A line under a host's stamp is for a source that knows the host.
        match stamped {
            0 if foreign == 0 && indented >= FEWEST_INDENTED => Sniff::Maybe,
            0 if foreign == 0 && !bare => Sniff::No,
            0 => Sniff::Maybe,
            _ if foreign > stamped || stamped < seen / 8 => Sniff::Maybe,
            _ => Sniff::Yes,
        }
    }

    fn boots(&self, bytes: &[u8]) -> Vec<Range<u64>> {
        let bytes: &[u8] = &without_no_break(bytes);
        let is_lines = journal::dmesg_array(bytes).is_none() && Form::of(bytes).is_none();
        if is_lines {
            boots::boots(bytes)
        } else {
            Vec::new()
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        read_last(self, input, recorder);
    }

    fn read_boot(&self, input: Input<'_>, boot: Range<u64>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let plain = without_no_break(input.bytes);
        let input = Input {
            bytes: &plain,
            ..input
        };
        let mut reader = Reader::new(source);
        let origin = |offset| Origin { source, offset };
        if let Some(start) = journal::dmesg_array(input.bytes) {
            for piece in journal::pieces(input.bytes, start) {
                let offset = piece.offset as u64;
                let outcome = match piece.entry {
                    Some(entry) => reader.entry(recorder, &entry, offset),
                    None => Outcome::Noted(&notes::BAD_JSON),
                };
                match outcome {
                    Outcome::Noted(kind) => recorder.skipped(origin(offset), kind),
                    _ => recorder.took(source),
                }
            }
        } else if let Some(journal) = pieces_of_a_form(input.bytes) {
            for piece in journal {
                let at = origin(piece.offset);
                match reader.line(recorder, &piece.bytes, piece.offset, None) {
                    Outcome::Kernel { .. } => recorder.took(source),
                    Outcome::Noted(kind) => recorder.skipped(at, kind),
                    Outcome::Other => {
                        reader.unstamped(recorder, &piece.bytes, at, None);
                        recorder.took(source);
                    }
                }
            }
        } else {
            let bytes = input.bytes.len();
            recorder.reserve(bytes / SPAN_BYTES, bytes / MESSAGE_BYTES, bytes);
            let hasher = reader.hasher();
            let parse = |block, list: &mut _| plain::parse(block, &hasher, list);
            in_order(input.bytes, parse, |list| {
                for parsed in list {
                    let line = parsed.line;
                    if !boot.contains(&line.offset) {
                        let kind = match line.offset < boot.start {
                            true => &notes::EARLIER_BOOT,
                            false => &notes::LATER_BOOT,
                        };
                        recorder.skipped(origin(line.offset), kind);
                        continue;
                    }
                    match reader.parsed(recorder, parsed) {
                        Outcome::Kernel { .. } => recorder.took(source),
                        Outcome::Noted(kind) => recorder.skipped(origin(line.offset), kind),
                        Outcome::Other => {
                            reader.unstamped(recorder, line.bytes, origin(line.offset), None);
                            recorder.took(source);
                        }
                    }
                }
            });
        }
        reader.finish(recorder);
    }
}

/// So many indented lines with a kernel's stamp are quoted in a text, and are no chance.
const FEWEST_INDENTED: usize = 2;

/// What journals and syslogs write before the kernel's words, and how many lines without a stamp
/// that begin so are no chance: `journalctl -o cat` and people leave out the rest.
const NAME: &[u8] = b"kernel: ";
const FEWEST_NAMED: usize = 2;

/// Whether a line without a stamp says what only the kernel says.
fn says_kernel(line: &[u8]) -> bool {
    let shaped = shape::shape(line);
    shaped.level.is_some()
        || shaped.text.starts_with(b"Linux version ")
        || shaped.text.starts_with(counter::LINE)
        || call::call(shaped.text).is_some_and(|c| c != Call::Torn)
}

/// Whether a line of a text that is no log is one of a log: the kernel's stamp stands before it,
/// or a time of day and the name of what wrote it. People write times of day themselves.
pub(crate) fn is_logged(line: &[u8]) -> bool {
    let has_name = || {
        [&b"kernel: "[..], b"]: "]
            .iter()
            .any(|n| memmem::find(line, n).is_some())
    };
    match shape::shape(line).stamp {
        Stamp::None => false,
        Stamp::Wall { .. } => has_name(),
        _ => true,
    }
}

/// Whether a line is one of the kernel's: `Some(false)` if a host stamped it
/// before, or a program of a journal wrote it.
fn kernel_like(line: &[u8]) -> Option<bool> {
    if line.starts_with(b"{") {
        return journal::is_json(line).then(|| memmem::find(line, b"\"kernel\"").is_some());
    }
    let shaped = shape::shape(line);
    match shaped.stamp {
        Stamp::Printk(_) => Some(!shaped.host_stamped),
        // Any syslog has such lines; the kernel's say so.
        Stamp::Wall { .. } => Some(!shaped.by_program),
        Stamp::Since(_) | Stamp::Minute(_) => Some(true),
        Stamp::None | Stamp::Monotonic(_) => None,
    }
}
