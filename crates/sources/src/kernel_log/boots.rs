//! The boots of a log that goes on over a restart.

use super::milestone::{BOOTING, VERSION};
use super::shape::{self, Stamp};
use crate::several_boots::ranges;
use crate::text::lines;
use memchr::memmem;
use std::ops::Range;

/// Stamps that step back by more are of another boot, not of another processor.
const RESTART_NS: i64 = 1_000_000_000;

/// What journalctl prints between two boots.
const BETWEEN: [&[u8]; 2] = [b"-- Boot ", b"-- Reboot --"];

/// The boots of a log, each from its first byte to that of the next; empty if it has one.
pub(super) fn boots(log: &[u8]) -> Vec<Range<u64>> {
    let between = |line: &[u8]| BETWEEN.iter().any(|b| line.starts_with(b));
    let is_journal = BETWEEN.iter().any(|b| memmem::find(log, b).is_some());
    let versions = memmem::find_iter(log, VERSION).take(2).count();
    let bootings = memmem::find_iter(log, BOOTING).take(2).count();
    // Most logs need no walk.
    if versions + bootings == 0 && !is_journal {
        return Vec::new();
    }
    let mut starts: Vec<u64> = Vec::new();
    let mut begun = Begun::default();
    // Whether anything came since the last start.
    let mut any = false;
    for line in lines(log) {
        if is_journal && between(line.bytes) {
            if any {
                starts.push(line.offset);
            }
            (begun, any) = (Begun::default(), false);
            continue;
        }
        let shaped = shape::shape(line.bytes);
        let ns = match shaped.stamp {
            Stamp::Printk(ns) => Some(ns),
            _ => None,
        };
        let end = line.offset.saturating_add(line.bytes.len() as u64 + 1);
        if begun.again(shaped.text, ns) {
            // What a firmware or a loader says in between is of the boot that begins.
            starts.push(begun.stamped_to.unwrap_or(line.offset));
            begun = Begun::default();
        }
        begun.take(shaped.text, ns, end);
        any |= !line.bytes.trim_ascii().is_empty();
        // Nothing more can begin.
        if !is_journal && versions + bootings < 3 && begun.version && versions < 2 {
            break;
        }
    }
    ranges(&starts, log.len() as u64)
}

/// What a boot has had so far.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    booting: bool,
    version: bool,
    last: Option<i64>,
    /// The byte behind the last line with a stamp.
    stamped_to: Option<u64>,
}

impl Begun {
    /// Whether a line is the first of another boot: a kernel's first words behind later
    /// ones, or, where nothing is stamped, behind the same words.
    fn again(&self, text: &[u8], ns: Option<i64>) -> bool {
        let seen = match text {
            _ if text.starts_with(VERSION) => self.version,
            _ if text.starts_with(BOOTING) => self.version || self.booting,
            _ => return false,
        };
        match (self.last, ns) {
            (Some(last), Some(ns)) => last > ns.saturating_add(RESTART_NS) || (seen && last > ns),
            _ => seen,
        }
    }

    fn take(&mut self, text: &[u8], ns: Option<i64>, end: u64) {
        if ns.is_some() {
            self.stamped_to = Some(end);
        }
        self.version |= text.starts_with(VERSION);
        self.booting |= text.starts_with(BOOTING);
        self.last = ns.or(self.last);
    }
}

#[cfg(test)]
mod tests {
    use super::boots;

    #[test]
    fn a_log_is_cut_where_a_kernel_begins_again() {
        let one = "[    0.000000] Linux version 6.1\n[    9.000000] x\n";
        let arm = "[    0.000000] Booting Linux on physical CPU 0x0\n\
                   [    0.000000] Linux version 6.1\n[    2.000000] y\n";
        let bare = "Linux version 6.1\nx\n";
        for (log, count) in [
            (one.to_owned(), 0),
            (arm.to_owned(), 0),
            (format!("{one}{one}"), 2),
            (format!("{one}{arm}{arm}"), 3),
            (format!("[  700.000000] bye\n{arm}"), 2),
            (format!("{bare}{bare}"), 2),
            (bare.to_owned(), 0),
            ("-- Boot aa --\na\n-- Boot bb --\nb\n".to_owned(), 2),
            ("-- Boot aa --\na\n".to_owned(), 0),
            (String::new(), 0),
        ] {
            let found = boots(log.as_bytes());
            assert_eq!(found.len(), count, "{log}");
            for pair in found.windows(2) {
                assert_eq!(pair[0].end, pair[1].start);
            }
        }
    }
}
