//! Bytes to records: one module per format.
//!
//! A source never opens a file, never prints, and never fails on content:
//! every line or packet becomes an event, or is counted in a note.

mod balance;
pub mod blkparse;
pub mod blktrace;
mod block;
mod blocks;
pub mod bootchart;
pub mod bootstage;
mod calendar;
pub mod capture;
pub mod cbmem;
mod drawing;
mod fdt;
pub mod ftrace;
mod journal_forms;
pub mod kernel_config;
pub mod kernel_log;
pub mod kft;
pub mod loader_console;
pub mod perf_script;
pub mod serial;
pub mod state;
pub mod strace;
pub mod systemd;
pub mod systemd_bootchart;
mod text;
mod unpack;
mod walltime;

use record::Recorder;

/// How sure a source is that some bytes are its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sniff {
    /// They are not.
    No,
    /// They could be; another source may know better.
    Maybe,
    /// They are.
    Yes,
}

/// How many bytes from the start of an input [`Source::sniff`] is shown.
pub const SNIFF_BYTES: usize = 64 * 1024;

/// One raw input.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The file's name as the user gave it, or the capture member's.
    pub name: &'a str,
    /// All of it.
    pub bytes: &'a [u8],
}

/// A format that can be read.
pub trait Source: Sync {
    /// The format's name, as captures and `--json` say it: `kernel-log`.
    fn name(&self) -> &'static str;

    /// Whether the first bytes (at most [`SNIFF_BYTES`]) look like this format.
    fn sniff(&self, head: &[u8]) -> Sniff;

    /// Whether an empty file of this name is a part of this format: of
    /// parts, some may hold nothing.
    fn may_be_empty(&self, _name: &str) -> bool {
        false
    }

    /// Reads all of `input`. Afterwards every line or packet of it was either
    /// [taken](Recorder::took) or [skipped](Recorder::skipped).
    fn read(&self, input: Input<'_>, recorder: &mut Recorder);

    /// Reads all inputs of this format that one boot left. A format whose files
    /// are parts of one stream, such as one file a processor, joins them here.
    fn read_all(&self, inputs: &[Input<'_>], recorder: &mut Recorder) {
        for &input in inputs {
            self.read(input, recorder);
        }
    }

    /// Whether memory stays bounded however large an input is. Logs are kept
    /// as evidence, whole; traces are not.
    fn is_bounded(&self) -> bool {
        false
    }
}

/// Every format, most particular first: the whole plug-in system.
pub static SOURCES: &[&dyn Source] = &[
    &blktrace::Blktrace,
    &ftrace::TraceDat,
    &ftrace::Ftrace,
    &kft::Kft,
    &bootchart::Bootchart,
    &blkparse::Blkparse,
    &bootstage::Bootstage,
    &cbmem::Cbmem,
    &loader_console::LoaderConsole,
    &systemd::Bus,
    &systemd::Journal,
    &systemd::Show,
    &systemd::Plot,
    &systemd_bootchart::SystemdBootchart,
    &systemd::Analyze,
    &systemd::Dump,
    &strace::Strace,
    &perf_script::PerfScript,
    &kernel_config::KernelConfigFile,
    &state::Mounts,
    &state::Modules,
    &state::Interrupts,
    &state::Meminfo,
    &serial::Serial,
    &kernel_log::KernelLog,
];

/// The source called `name`.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Source> {
    SOURCES.iter().copied().find(|s| s.name() == name)
}

/// The source that knows `head` best; of equals, the first of [`SOURCES`].
#[must_use]
pub fn sniff(head: &[u8]) -> Option<&'static dyn Source> {
    let head = head.get(..SNIFF_BYTES).unwrap_or(head);
    let mut best: Option<(Sniff, &'static dyn Source)> = None;
    for &source in SOURCES {
        let sure = source.sniff(head);
        if sure > best.map_or(Sniff::No, |b| b.0) {
            best = Some((sure, source));
        }
    }
    best.map(|b| b.1)
}

/// Whether `head` begins an archive that is no capture, and that a source
/// reads: a bootchart, or a folder of a device tree.
#[must_use]
pub fn is_archive_of_others(head: &[u8]) -> bool {
    let readers: [&dyn Source; 2] = [&bootchart::Bootchart, &bootstage::Bootstage];
    unpack::is_tar(head) && readers.iter().any(|r| r.sniff(head) == Sniff::Yes)
}
