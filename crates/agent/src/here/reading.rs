//! One reading of the counter beside the kernel's clocks, as lines of the kernel's log.
//!
//! The kernel stamps a line when it is written. The counter is read right before, and again
//! before a second line: so the first line's stamp was taken between the two readings.

use super::log::kmsg;
use super::measured_hz;
use crate::LINES;
use crate::clocks::{Stamp, hz_in_log};
use crate::sys::{self, read_kernel_file};
use rustix::fs::{Mode, OFlags, SeekFrom, open, seek};
use rustix::io::{read, write};
use std::io;
use std::path::Path;

/// The kernel's log.
const KMSG: &str = "/dev/kmsg";

/// Debug: a console does not wait for it.
const LEVEL: &str = "<7>";

/// How many records are looked at to find the own ones.
const MOST_RECORDS: usize = 200;

/// A record of `/dev/kmsg` is not longer (`CONSOLE_EXT_LOG_MAX` of `kernel/printk`).
const RECORD_BYTES: usize = 8192;

/// Where the kernel says what loader started it, in x86's numbers; 13 is kexec
/// (`Documentation/arch/x86/boot.rst`).
const LOADER: &str = "/proc/sys/kernel/bootloader_type";
const KEXEC: u32 = 13;

/// What the device tree has behind a kexec, and under a hypervisor that says so.
const KEXEC_NODES: [&str; 2] = [
    "/proc/device-tree/chosen/linux,booted-from-kexec",
    "/proc/device-tree/chosen/linux,elfcorehdr",
];
const HYPERVISORS: [&str; 2] = ["/proc/device-tree/hypervisor", "/sys/hypervisor/type"];

/// The readings, as lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Lines of a kernel log: with stamps, if the kernel took them.
    pub lines: Vec<String>,
    /// Why the kernel did not take them, in a sentence.
    pub refused: Option<String>,
}

/// Reads the clocks twice, writes the readings into the kernel's log, and gives them as that
/// log shows them. Without the right to write there, they are given without stamps.
#[must_use]
pub fn read_clocks() -> Said {
    let begin = Stamp::now();
    let hz = sys::counter_hz()
        .or_else(|| sys::counter().and_then(|_| hz_in_log(&kmsg().unwrap_or_default())))
        .or_else(sys::nominal_hz)
        .or_else(|| measured_hz(&begin));
    let seen = seen();
    let line = || Stamp::now().reading_line(hz, &seen);
    match written(&line) {
        Ok(lines) => Said {
            lines,
            refused: None,
        },
        Err(why) => Said {
            lines: vec![format!("{LINES}{}", line())],
            refused: Some(format!(
                "cannot write to {KMSG}: {why}; run as root, so that the reading has a timestamp \
                 of the kernel log"
            )),
        },
    }
}

/// Writes two lines, and reads them back with their stamps.
fn written(line: &dyn Fn() -> String) -> io::Result<Vec<String>> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let kmsg = open(KMSG, flags, Mode::empty())?;
    // Behind all that is there.
    seek(&kmsg, SeekFrom::End(0))?;
    let mut said = Vec::new();
    for _ in 0..2 {
        let line = format!("{LINES}{}", line());
        // The kernel takes one record a write.
        write(&kmsg, format!("{LEVEL}{line}\n").as_bytes())?;
        said.push(line);
    }
    let mut lines = Vec::new();
    let mut record = vec![0; RECORD_BYTES];
    for _ in 0..MOST_RECORDS {
        let Ok(bytes) = read(&kmsg, &mut record) else {
            break;
        };
        let record = record.get(..bytes).unwrap_or_default();
        lines.extend(said.iter().filter_map(|line| stamped(record, line)));
    }
    match lines.len() {
        0 => Err(io::Error::other("the kernel did not keep the lines")),
        _ => Ok(lines),
    }
}

/// The record of `/dev/kmsg` as `dmesg` prints it, if it holds `line`:
/// `7,339,5140900,-;firstlight: clocks ...`.
fn stamped(record: &[u8], line: &str) -> Option<String> {
    let record = std::str::from_utf8(record).ok()?;
    let (head, words) = record.split_once(';')?;
    let us: u64 = head.split(',').nth(2)?.parse().ok()?;
    let (s, us) = (us / 1_000_000, us % 1_000_000);
    (words.lines().next()? == line).then(|| format!("[{s:5}.{us:06}] {line}"))
}

/// What was seen on this machine that sets or keeps the counter, in words.
fn seen() -> Vec<&'static str> {
    let loader = read_kernel_file(LOADER).ok();
    let loader = loader.and_then(|b| String::from_utf8(b).ok()?.trim().parse().ok());
    let by_kexec = loader.is_some_and(|kind: u32| kind >> 4 == KEXEC)
        || KEXEC_NODES.iter().any(|n| Path::new(n).exists());
    let hypervisor = sys::has_hypervisor() || HYPERVISORS.iter().any(|h| Path::new(h).exists());
    let words = [(by_kexec, "kexec"), (hypervisor, "hypervisor")];
    words.into_iter().filter(|w| w.0).map(|w| w.1).collect()
}

#[cfg(test)]
mod tests {
    use super::{read_clocks, stamped};

    #[test]
    fn a_record_becomes_a_line_of_dmesg() {
        let record = b"7,339,5140900,-;firstlight: clocks monotonic_ns=5\n SUBSYSTEM=x\n";
        let line = "firstlight: clocks monotonic_ns=5";
        let wanted = "[    5.140900] firstlight: clocks monotonic_ns=5";
        assert_eq!(stamped(record, line).as_deref(), Some(wanted));
        assert_eq!(stamped(b"7,339,x,-;firstlight: clocks", line), None);
        assert_eq!(stamped(b"7,339,5,-;other", line), None);
        assert_eq!(stamped(b"\xff;", line), None);
    }

    #[test]
    fn a_machine_that_refuses_gets_a_line_all_the_same() {
        let said = read_clocks();
        assert!(said.lines.iter().all(|l| l.contains("firstlight: clocks ")));
        assert!(said.lines.iter().all(|l| l.contains("monotonic_ns=")));
        assert!(!said.lines.is_empty());
        assert_eq!(said.refused.is_none(), said.lines[0].starts_with('['));
    }
}
