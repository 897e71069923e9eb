//! The boots of a log that goes on over a restart.

use super::milestone::{BOOTING, VERSION};
use super::shape::{self, Stamp};
use crate::several_boots::ranges;
use crate::text::lines;
use memchr::memmem;
use std::ops::Range;
use std::thread;

/// Stamps that step back by more are of another boot, not of another processor.
const RESTART_NS: i64 = 1_000_000_000;

/// What journalctl prints between two boots.
const BETWEEN: [&[u8]; 2] = [b"-- Boot ", b"-- Reboot --"];

/// The boots of a log, each from its first byte to that of the next; empty if it has one.
pub(super) fn boots(log: &[u8]) -> Vec<Range<u64>> {
    let between = |line: &[u8]| BETWEEN.iter().any(|b| line.starts_with(b));
    let Signs {
        is_journal,
        versions,
        bootings,
    } = Signs::of(log);
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

/// What is looked for in one piece of a log before the next, in bytes: it stays in a
/// processor's cache, so that the log is fetched from memory once.
const PIECE: usize = 256 * 1024;

/// A shorter log is not worth a thread, in bytes.
const SHORT: usize = 16 * PIECE;

/// The longest of what is looked for, in bytes.
const LONGEST: usize = BOOTING.len();

/// What of a log tells whether it may have several boots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Signs {
    /// It has a line that journalctl prints between two boots.
    is_journal: bool,
    versions: usize,
    bootings: usize,
}

impl Signs {
    fn of(log: &[u8]) -> Self {
        if log.len() < SHORT {
            return Self::between(log, 0, log.len());
        }
        let middle = log.len() / 2;
        let (first, second) = thread::scope(|scope| {
            let half = || Self::between(log, middle, log.len());
            let other = thread::Builder::new().spawn_scoped(scope, half);
            let first = Self::between(log, 0, middle);
            let other = other.ok().and_then(|o| o.join().ok());
            (first, other.unwrap_or_else(half))
        });
        first.and(second)
    }

    /// Of what begins from `from` on and before `to`.
    fn between(log: &[u8], from: usize, to: usize) -> Self {
        let mut signs = Self::default();
        for start in (from..to).step_by(PIECE) {
            let length = PIECE.min(to - start);
            let end = (start + length + LONGEST - 1).min(log.len());
            let piece = log.get(start..end).unwrap_or_default();
            let count = |what: &[u8]| {
                let found = memmem::find_iter(piece, what);
                found.take_while(|at| *at < length).count()
            };
            signs = signs.and(Self {
                is_journal: BETWEEN.iter().any(|b| count(b) > 0),
                versions: count(VERSION),
                bootings: count(BOOTING),
            });
        }
        signs
    }

    const fn and(self, other: Self) -> Self {
        Self {
            is_journal: self.is_journal || other.is_journal,
            versions: self.versions.saturating_add(other.versions),
            bootings: self.bootings.saturating_add(other.bootings),
        }
    }
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
    use super::{BETWEEN, BOOTING, LONGEST, PIECE, SHORT, Signs, VERSION, boots};

    #[test]
    fn signs_are_counted_once_wherever_they_lie() {
        assert!(
            [VERSION, BOOTING, BETWEEN[0], BETWEEN[1]]
                .iter()
                .all(|s| s.len() <= LONGEST)
        );
        let middle = SHORT / 2;
        for what in [VERSION, BOOTING] {
            for place in [PIECE, middle, middle + PIECE, SHORT] {
                for before in 0..=what.len() {
                    let mut log = vec![b'x'; SHORT];
                    let at = (place - before).min(SHORT - what.len());
                    log[at..at + what.len()].copy_from_slice(what);
                    let signs = Signs::of(&log);
                    assert_eq!(signs.versions + signs.bootings, 1, "{place} {before}");
                    assert!(!signs.is_journal);
                }
            }
        }
    }

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
