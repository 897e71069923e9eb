//! The kernel log, in every shape it is found in.
//!
//! # Line by line
//!
//! Another source that meets kernel lines among its own (a stamped serial log)
//! strips its own stamp and hands each line to a [`Reader`]:
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
//! The reader never counts units: each call of [`Reader::line`] is one unit of
//! the caller's. `printk_ns` is the kernel's own stamp of the line, so that the
//! caller can relate its clock to `printk`. A kernel without stamps is read by
//! the host's: `host` then times initcalls, probes and milestones.

mod reader;

pub(crate) use reader::{Outcome, Reader};

use crate::{Input, Sniff, Source};
use record::Recorder;

/// Kernel log lines.
#[derive(Debug)]
pub struct KernelLog;

impl Source for KernelLog {
    fn name(&self) -> &'static str {
        "kernel-log"
    }

    fn sniff(&self, _head: &[u8]) -> Sniff {
        Sniff::No
    }

    fn read(&self, _input: Input<'_>, _recorder: &mut Recorder) {}
}
