//! U-Boot's bootstage: what the loader timed itself.
//!
//! Four forms of the same records: the text of `bootstage report` (also when
//! it stands in a serial log), the device tree that U-Boot hands to
//! the kernel (a blob such as `/sys/firmware/fdt`, or a tar of
//! `/proc/device-tree/bootstage`), and the stash in memory, of machines of 32
//! and of 64 bits and of both byte orders.
//!
//! Marks begin the loader's phase and its stages. The counter's zero is taken
//! as power-on if it ran before the loader's first mark.

mod notes;
mod report;
mod stash;
mod table;
mod tree;

pub(crate) use notes::COUNTER;
pub(crate) use report::{Outcome, Reader};
pub(crate) use table::{clock, ns, step};

use crate::fdt;
use crate::source::{Input, Sniff, Source};
use crate::text;
use crate::unpack;
use notes as note;
use record::{Origin, Recorder};

/// U-Boot's bootstage records, in any of their forms.
///
/// Units are lines of a report, nodes of a tree, records of a stash.
#[derive(Debug)]
pub struct Bootstage;

impl Source for Bootstage {
    fn name(&self) -> &'static str {
        "bootstage"
    }

    fn description(&self) -> &'static str {
        "U-Boot boot stage times: `bootstage report`, or a device tree with a bootstage node"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        if stash::is_stash(head) || tree::has_bootstage(head) {
            return Sniff::Yes;
        }
        if unpack::is_tar(head) {
            let (members, _) = unpack::members(head);
            return if tree::is_folder(&members) {
                Sniff::Yes
            } else {
                Sniff::No
            };
        }
        if memchr::memmem::find(head, report::TITLE.as_bytes()).is_none() {
            return match report::is_headless(&text::lossy(head)) {
                true => Sniff::Yes,
                false => Sniff::No,
            };
        }
        // A log with a report in it is for those who know logs.
        let first = text::lines(head).map(|l| l.bytes.trim_ascii());
        match first.into_iter().find(|l| !l.is_empty()) {
            Some(line) if line.starts_with(report::TITLE.as_bytes()) => Sniff::Yes,
            _ => Sniff::Maybe,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let bytes = input.bytes;
        if stash::is_stash(bytes) {
            let table = stash::read(bytes, source, recorder);
            table::alone(table, recorder);
        } else if bytes.starts_with(fdt::MAGIC) {
            let table = tree::blob(bytes, source, recorder);
            table::alone(table, recorder);
        } else if unpack::is_tar(bytes) {
            let table = tree::folder(bytes, source, recorder);
            table::alone(table, recorder);
        } else {
            let mut reader = Reader::new(source);
            if memchr::memmem::find(bytes, report::TITLE.as_bytes()).is_none() {
                let headless = !report::has_columns(&text::lossy(bytes));
                reader.begin(Origin { source, offset: 0 }, headless);
            }
            for line in text::lines(bytes) {
                let origin = line.origin(source);
                let words = text::without_controls(line.bytes);
                let words = text::lossy(&words);
                match reader.line(&words, line.offset, None, recorder) {
                    Outcome::Report => recorder.took(source),
                    Outcome::Noted(kind) => recorder.skipped(origin, kind),
                    Outcome::Other if words.trim().is_empty() => {
                        recorder.skipped(origin, &note::BLANK_LINE);
                    }
                    Outcome::Other => recorder.skipped(origin, &note::OTHER_LINE),
                }
            }
            reader.finish(recorder);
        }
    }
}
