//! Readers for boot logs and traces: one module per format.
//!
//! A [`Source`] reads one format and fills a [`Recorder`] with events. It never opens
//! a file, never prints and never fails on content: every line or packet becomes an
//! event or is counted in a note.
//!
//! [`sniff`] finds the source of an input by its first bytes, [`named`] by its name,
//! and [`SOURCES`] lists them all.
//!
//! ```
//! use firstlight_sources::{Input, Recorder, sniff};
//!
//! let log = b"[    0.000000] Linux version 6.12.0 (gcc) #1
//! [    0.120000] calling  serial8250_init+0x0/0x190 @ 1
//! [    0.150000] initcall serial8250_init+0x0/0x190 returned 0 after 30000 usecs
//! ";
//! let source = sniff(log).expect("a kernel log");
//! assert_eq!(source.name(), "kernel-log");
//!
//! let mut recorder = Recorder::new();
//! source.read(Input { name: "dmesg", bytes: log }, &mut recorder);
//! let record = recorder.finish();
//! assert_eq!(record.spans().len(), 1);
//! assert_eq!(record.messages().len(), 1);
//! ```

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
pub mod cloud_init;
pub mod console;
mod decimal;
mod drawing;
mod fdt;
pub mod ftrace;
mod journal_forms;
pub mod kernel_config;
pub mod kernel_log;
pub mod kft;
pub mod loader_console;
pub mod logic;
pub mod openrc;
pub mod perf_script;
pub mod serial;
mod several_boots;
mod source;
pub mod state;
pub mod strace;
pub mod systemd;
pub mod systemd_bootchart;
mod text;
pub mod ti_report;
mod unpack;
pub mod video;
mod walltime;

/// What a source fills.
pub use kernel_log::newest_first;
pub use record::Recorder;
pub use source::{Input, SNIFF_BYTES, Sniff, Source};

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
    &ti_report::TiReport,
    &cloud_init::CloudInit,
    &openrc::Openrc,
    &logic::Vcd,
    &logic::LogicCsv,
    &video::Video,
    &loader_console::LoaderConsole,
    &systemd::Bus,
    &systemd::Journal,
    &systemd::Show,
    &systemd::Plot,
    &systemd::PlotJson,
    &systemd::Dot,
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
    &console::Console,
];

/// The source called `name`.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Source> {
    SOURCES.iter().copied().find(|s| s.name() == name)
}

/// The source that knows `head` best; of equals, the first of [`SOURCES`].
#[must_use]
pub fn sniff(head: &[u8]) -> Option<&'static dyn Source> {
    best(head).map(|(_, source)| source)
}

/// The same, and how sure it is.
#[must_use]
pub fn best(head: &[u8]) -> Option<(Sniff, &'static dyn Source)> {
    let head = head.get(..SNIFF_BYTES).unwrap_or(head);
    let document = document(head).is_some();
    let mut best: Option<(Sniff, &'static dyn Source)> = None;
    for &source in SOURCES {
        // A page or a drawing is no log, whatever stands in it.
        let sure = match document && !source.reads_drawings() {
            true => Sniff::No,
            false => source.sniff(head),
        };
        if sure > best.map_or(Sniff::No, |b| b.0) {
            best = Some((sure, source));
        }
        if sure == Sniff::Yes {
            break;
        }
    }
    best
}

/// What `head` begins that is made from a boot's evidence, and is none itself: a drawing, a
/// page, a trace for a viewer, an answer of this program.
#[must_use]
pub fn document(head: &[u8]) -> Option<&'static str> {
    let start = head.trim_ascii_start();
    let begins = |words: &[&[u8]]| words.iter().any(|w| start.starts_with(w));
    let early = start.get(..4_096).unwrap_or(start);
    let has = |words: &[u8]| memchr::memmem::find(early, words).is_some();
    if begins(&[b"<svg", b"<?xml"]) {
        Some("a drawing")
    } else if is_page(head) {
        Some("an HTML page")
    } else if begins(&[b"{", b"["]) && has(b"\"traceEvents\"") {
        Some("a trace for a viewer")
    } else if begins(&[b"{"]) && has(b"\"schema\"") && has(b"\"firstlight.") {
        Some("the output of `firstlight --json`")
    } else {
        None
    }
}

/// Whether `head` begins an HTML page.
#[must_use]
pub fn is_page(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let start = head.trim_ascii_start();
    let begins = |word: &&[u8]| {
        let start = start.get(..word.len());
        start.is_some_and(|s| s.eq_ignore_ascii_case(word))
    };
    let words: [&[u8]; 4] = [b"<!doctype", b"<html", b"<head", b"<body"];
    words.iter().any(begins)
}

/// Whether `head` begins an archive that is no capture, and that a source
/// reads: a bootchart, or a folder of a device tree.
#[must_use]
pub fn is_archive_of_others(head: &[u8]) -> bool {
    let readers: [&dyn Source; 2] = [&bootchart::Bootchart, &bootstage::Bootstage];
    unpack::is_tar(head) && readers.iter().any(|r| r.sniff(head) == Sniff::Yes)
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
