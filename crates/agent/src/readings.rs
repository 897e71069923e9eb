//! Readings of a board's storage and processor, as `firstlight-agent measure` prints them:
//! raw lengths and durations, one per line. A host makes figures of them.
//!
//! ```text
//! firstlight readings 1
//! machine aarch64 6.12.9
//! additions 16000000 13333000
//! device /dev/mmcblk0 31268536320 0 128 64 mq-deadline
//! read 4096 152000
//! parallel 4096 8 256 9800000
//! end
//! ```
//!
//! `additions N NS`: additions that each wait for the one before, a cycle each.
//! `device PATH BYTES ROTATIONAL READ_AHEAD_KB NR_REQUESTS SCHEDULER`: `-` is unknown.
//! `read BYTES NS`: one read past the page cache, of 4096 bytes at random places or of more
//! in sequence. `parallel BYTES THREADS READS NS`: so many reads by so many threads at once.

use std::fmt;

/// The first line: kind and version.
pub const HEAD: &str = "firstlight readings 1";

/// The size of the reads at random places, in bytes.
pub const SMALL: u64 = 4096;

/// Readings of one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Its architecture as the agent was built for, such as `aarch64`.
    pub arch: String,
    /// The release of its kernel.
    pub kernel: String,
    /// How many dependent additions took how many nanoseconds.
    pub additions: Vec<(u64, u64)>,
    /// The device that was read.
    pub device: Option<Device>,
    /// Reads one after another.
    pub reads: Vec<Read>,
    /// Reads at once.
    pub parallel: Vec<Parallel>,
}

/// A block device, or a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Its path.
    pub path: String,
    /// Its length, in bytes.
    pub bytes: u64,
    /// Whether it has parts that turn.
    pub rotational: Option<bool>,
    /// `read_ahead_kb` of its queue.
    pub read_ahead_kb: Option<u32>,
    /// `nr_requests` of its queue.
    pub nr_requests: Option<u32>,
    /// The scheduler of its queue.
    pub scheduler: Option<String>,
}

/// One read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Its length, in bytes.
    pub bytes: u64,
    /// How long it took, in nanoseconds.
    pub ns: u64,
}

/// Reads by several threads at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallel {
    /// The length of each, in bytes.
    pub bytes: u64,
    /// How many threads.
    pub threads: u32,
    /// How many reads by all threads together.
    pub reads: u64,
    /// How long all of them took, in nanoseconds.
    pub ns: u64,
}

/// Why a text has no readings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadingsError {
    /// It begins with something else.
    #[error("line 1: expected `{HEAD}`; take the readings with `firstlight-agent measure DEVICE`")]
    Head,
    /// A line is not of the format.
    #[error("line {0}: not a reading; take the readings again")]
    Line(usize),
    /// It was cut off.
    #[error("the line `end` is missing, so the readings are incomplete; take them again")]
    Cut,
}

impl Readings {
    /// Reads them from their text.
    ///
    /// # Errors
    /// One clause with the line.
    pub fn parse(text: &str) -> Result<Self, ReadingsError> {
        let mut lines = text.lines().enumerate();
        if lines.next().is_none_or(|(_, line)| line.trim_end() != HEAD) {
            return Err(ReadingsError::Head);
        }
        let mut readings = Self::default();
        for (at, line) in lines {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            if words == ["end"] {
                return Ok(readings);
            }
            readings.line(&words).ok_or(ReadingsError::Line(at + 1))?;
        }
        Err(ReadingsError::Cut)
    }

    fn line(&mut self, words: &[&str]) -> Option<()> {
        match words {
            ["machine", arch, kernel] => {
                self.arch = known(arch).unwrap_or_default().to_owned();
                self.kernel = known(kernel).unwrap_or_default().to_owned();
            }
            ["additions", n, ns] => self.additions.push((n.parse().ok()?, ns.parse().ok()?)),
            ["device", path, bytes, turns, ahead, requests, scheduler] => {
                self.device = Some(Device {
                    path: (*path).to_owned(),
                    bytes: bytes.parse().ok()?,
                    rotational: known(turns).map(|t| t == "1"),
                    read_ahead_kb: known(ahead).and_then(|a| a.parse().ok()),
                    nr_requests: known(requests).and_then(|r| r.parse().ok()),
                    scheduler: known(scheduler).map(str::to_owned),
                });
            }
            ["read", bytes, ns] => self.reads.push(Read {
                bytes: bytes.parse().ok()?,
                ns: ns.parse().ok()?,
            }),
            ["parallel", bytes, threads, reads, ns] => self.parallel.push(Parallel {
                bytes: bytes.parse().ok()?,
                threads: threads.parse().ok()?,
                reads: reads.parse().ok()?,
                ns: ns.parse().ok()?,
            }),
            _ => return None,
        }
        Some(())
    }
}

fn known(word: &str) -> Option<&str> {
    (word != "-").then_some(word)
}

/// A word of a line: a path with spaces would be several, and what is not known would be none.
fn word(text: &str) -> String {
    match text {
        "" => "-".to_owned(),
        text => text.replace(|c: char| c.is_ascii_whitespace(), "_"),
    }
}

impl fmt::Display for Readings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}")?;
        writeln!(f, "machine {} {}", word(&self.arch), word(&self.kernel))?;
        for (n, ns) in &self.additions {
            writeln!(f, "additions {n} {ns}")?;
        }
        if let Some(device) = &self.device {
            let or = |n: Option<u32>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
            writeln!(
                f,
                "device {} {} {} {} {} {}",
                word(&device.path),
                device.bytes,
                or(device.rotational.map(u32::from)),
                or(device.read_ahead_kb),
                or(device.nr_requests),
                device
                    .scheduler
                    .as_deref()
                    .map_or_else(|| "-".to_owned(), word)
            )?;
        }
        for read in &self.reads {
            writeln!(f, "read {} {}", read.bytes, read.ns)?;
        }
        for p in &self.parallel {
            writeln!(f, "parallel {} {} {} {}", p.bytes, p.threads, p.reads, p.ns)?;
        }
        writeln!(f, "end")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    #[test]
    fn readings_come_back_as_they_were() {
        let readings = Readings {
            arch: "aarch64".into(),
            kernel: "6.12.9".into(),
            additions: vec![(16_000_000, 13_333_000)],
            device: Some(Device {
                path: "/dev/mmcblk0".into(),
                bytes: 31_268_536_320,
                rotational: Some(false),
                read_ahead_kb: None,
                nr_requests: Some(64),
                scheduler: None,
            }),
            reads: vec![Read {
                bytes: SMALL,
                ns: 152_000,
            }],
            parallel: vec![Parallel {
                bytes: SMALL,
                threads: 8,
                reads: 256,
                ns: 9_800_000,
            }],
        };
        let text = readings.to_string();
        assert_eq!(Readings::parse(&text).unwrap(), readings);
        // What a broken connection leaves is not taken for all of it.
        for (end, _) in text.char_indices() {
            assert!(Readings::parse(&text[..end]).is_err() || text[..end].ends_with("end"));
        }
        assert_eq!(
            Readings::parse("firstlight readings 1\nread x 1\nend\n"),
            Err(ReadingsError::Line(2))
        );
        assert_eq!(Readings::parse("x"), Err(ReadingsError::Head));
    }

    #[test]
    fn a_machine_without_a_name_and_odd_blanks_come_back() {
        let mut readings = Readings::default();
        assert_eq!(Readings::parse(&readings.to_string()), Ok(readings.clone()));
        // Only blanks of ASCII part words.
        readings.arch = "a\u{b}b\u{a0}c".to_owned();
        assert_eq!(Readings::parse(&readings.to_string()), Ok(readings.clone()));
        readings.kernel = "6.12 (x)".to_owned();
        let read = Readings::parse(&readings.to_string()).unwrap();
        assert_eq!(read.kernel, "6.12_(x)");
    }
}
