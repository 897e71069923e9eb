//! Watching a boot: how its console grows, and why it ended.

use super::clock::Clock;
use crate::console::{self, Who};
use crate::error::{LabError, io_error};
use crate::tools::last_words;
use crate::trial::{Failure, Reason};
use agent::payload::PayloadError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// What a program gets that writes to a mapped file when the disk is full.
const SIGBUS: i32 = 7;

/// How often the console is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long a console is silent before the machine's own clock is looked at, and
/// how often that is done.
const SILENCE: Duration = Duration::from_secs(3);

/// How long after a panic it is believed that nothing more comes.
const PANIC_GRACE: Duration = Duration::from_secs(2);

/// No line that ends a panic is longer, in bytes.
const LONGEST_LINE: usize = 1024;

/// When a boot is ended by force.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Seconds of the host.
    pub wall_s: u32,
    /// Seconds of the kernel's clock, as far as its console shows them, or of the
    /// machine's, while the console is silent.
    pub virtual_s: Option<u32>,
    /// What tells the machine's own time.
    pub clock: Option<Clock>,
    /// The line of the console with these words is the end.
    pub until: Option<&'static str>,
}

/// Why the watching ended.
#[derive(Debug)]
pub enum Stop {
    /// QEMU ended.
    Ended(ExitStatus),
    /// It took too long on the host.
    WallLimit,
    /// The kernel's clock passed the limit.
    VirtualLimit,
    /// The kernel panicked, and does not restart by itself.
    Panic,
    /// The line that is the end was written.
    LastLine,
}

/// Watches `child`, whose monitor may be on a socket, to its end or a limit; gives the console up to there.
pub fn watch(
    child: &mut Child,
    console: &Path,
    monitor: Option<&Path>,
    limits: Limits,
    seen: &mut dyn FnMut(u64, &str),
) -> Result<(Stop, Vec<u8>), LabError> {
    let begin = Instant::now();
    let mut heard = begin;
    let mut bytes = Vec::new();
    let mut panic = None;
    loop {
        let ended = child
            .try_wait()
            .map_err(io_error(console, "waiting for QEMU failed"))?;
        let before = bytes.len();
        // QEMU makes the file before it runs.
        if let Ok(mut file) = File::open(console) {
            file.seek(SeekFrom::Start(before as u64))
                .and_then(|_| file.read_to_end(&mut bytes))
                .map_err(io_error(console, "cannot be read"))?;
        }
        let new = bytes.get(before..).unwrap_or_default();
        let last = new.split(|b| *b == b'\n').rev().nth(1).map(console::plain);
        if let Some(line) = last {
            seen(bytes.len() as u64, &line);
        }
        // How far it came beyond a limit is the host's accident: it is cut.
        if let Some(limit) = limits.virtual_s {
            let length = within(&bytes, u64::from(limit));
            if length < bytes.len() {
                bytes.truncate(length);
                return Ok((Stop::VirtualLimit, bytes));
            }
            if bytes.len() > before {
                heard = Instant::now();
            } else if heard.elapsed() > SILENCE {
                heard = Instant::now();
                let now = limits.clock.zip(monitor);
                let now = now.and_then(|(clock, socket)| clock.seconds(socket));
                if now.is_some_and(|now| now >= u64::from(limit)) {
                    return Ok((Stop::VirtualLimit, bytes));
                }
            }
        }
        if let Some(words) = limits.until {
            let from = before.saturating_sub(LONGEST_LINE);
            let rest = bytes.get(from..).unwrap_or_default();
            if let Some(length) = console::end_of_line_with(rest, words) {
                bytes.truncate(from + length);
                return Ok((Stop::LastLine, bytes));
            }
        }
        if let Some(status) = ended {
            return Ok((Stop::Ended(status), bytes));
        }
        // With `panic=` it restarts, which ends it: it is given time for that.
        panic = panic.or_else(|| {
            let from = before.saturating_sub(LONGEST_LINE);
            let length = console::end_of_panic(bytes.get(from..)?)?;
            Some((from + length, Instant::now()))
        });
        if let Some((length, since)) = panic
            && since.elapsed() > PANIC_GRACE
        {
            bytes.truncate(length);
            return Ok((Stop::Panic, bytes));
        }
        if begin.elapsed() > Duration::from_secs(u64::from(limits.wall_s)) {
            return Ok((Stop::WallLimit, bytes));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// How many bytes there are before the first line that is stamped later than
/// `limit` seconds.
fn within(console: &[u8], limit: u64) -> usize {
    let mut length = 0;
    for line in console.split_inclusive(|b| *b == b'\n') {
        if console::stamp_seconds(line).is_some_and(|s| s >= limit) {
            break;
        }
        length += line.len();
    }
    length
}

/// Why a boot that ended in this way failed, if it did. `payload` is what is
/// wrong with its payload.
pub fn failure(
    stop: &Stop,
    console: &[u8],
    payload: Option<&PayloadError>,
    errors: &[u8],
    limits: Limits,
) -> Option<Failure> {
    // A trial that handed out its payload has done all there is to do.
    let payload = payload?;
    let (reason, detail) = match (stop, console::complaint(console)) {
        (Stop::WallLimit, _) => {
            let limit = limits.wall_s;
            let detail = format!("stopped after {limit} s on the host (limit_wall_s)");
            (Reason::WallLimit, detail)
        }
        (Stop::VirtualLimit, _) => {
            let limit = limits.virtual_s.unwrap_or_default();
            let detail = format!("stopped after {limit} s of virtual time (limit_virtual_s)");
            (Reason::VirtualLimit, detail)
        }
        (Stop::Ended(_) | Stop::Panic, Some((Who::Kernel, words))) => (Reason::Panic, words),
        (Stop::Ended(_) | Stop::Panic, Some((Who::Agent, words))) => (Reason::Agent, words),
        (Stop::LastLine, _) => return None,
        (Stop::Panic, None) => (Reason::Panic, "the kernel panicked".to_owned()),
        (Stop::Ended(status), None) if !status.success() => {
            let full = match status.signal() {
                Some(SIGBUS) => "; the disk with the memory files is full, so free some space",
                _ => "",
            };
            let said = last_words(errors);
            let detail = format!("QEMU ended with {status}: {said}{full}");
            (Reason::Emulator, detail)
        }
        (Stop::Ended(_), None) => {
            let reason = match payload {
                PayloadError::Absent => Reason::Ended,
                _ => Reason::Payload,
            };
            (reason, payload.to_string())
        }
    };
    Some(Failure {
        reason,
        detail,
        last_lines: console::last_lines(console),
    })
}

#[cfg(test)]
mod tests {
    use super::{Limits, Stop, failure, within};
    use crate::trial::Reason;
    use agent::payload::PayloadError;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn why(stop: &Stop, console: &str, errors: &str) -> (Reason, String) {
        let limits = Limits {
            wall_s: 7,
            virtual_s: Some(9),
            clock: None,
            until: None,
        };
        let absent = Some(&PayloadError::Absent);
        let failed = failure(stop, console.as_bytes(), absent, errors.as_bytes(), limits);
        let failed = failed.unwrap();
        assert!(!failed.detail.contains('\n'), "{}", failed.detail);
        (failed.reason, failed.detail)
    }

    #[test]
    fn each_end_has_its_reason_and_sentence() {
        let ended = |raw| Stop::Ended(ExitStatus::from_raw(raw));
        let panic = "[ 1.0] Kernel panic - not syncing: no root\n";
        for (stop, console, errors, reason, part) in [
            (ended(0), "", "", Reason::Ended, "the payload is missing"),
            (ended(0), panic, "", Reason::Panic, "not syncing: no root"),
            (
                Stop::Panic,
                panic,
                "",
                Reason::Panic,
                "not syncing: no root",
            ),
            (
                ended(1 << 8),
                "",
                "q: initrd\ntoo large\n",
                Reason::Emulator,
                "initrd; too large",
            ),
            (ended(9), "", "", Reason::Emulator, "signal: 9"),
            (ended(7), "", "", Reason::Emulator, "is full, so free"),
            (
                Stop::WallLimit,
                "x\n",
                "",
                Reason::WallLimit,
                "after 7 s on the host",
            ),
            (
                Stop::VirtualLimit,
                "x\n",
                "",
                Reason::VirtualLimit,
                "after 9 s of virtual time",
            ),
            (
                ended(0),
                "firstlight: error: no memory\n",
                "",
                Reason::Agent,
                "no memory",
            ),
        ] {
            let (found, detail) = why(&stop, console, errors);
            assert_eq!(found, reason, "{detail}");
            assert!(detail.contains(part), "{detail}");
        }
        // Who handed out the payload has done everything.
        let limits = Limits {
            wall_s: 7,
            virtual_s: None,
            clock: None,
            until: None,
        };
        assert_eq!(failure(&ended(9), b"", None, b"", limits), None);
    }

    #[test]
    fn the_console_is_cut_at_the_limit() {
        let console = b"BIOS\n[    1.500000] a\n[   10.000000] b\n[    2.000000] c\n";
        assert_eq!(within(console, 10), 22);
        assert_eq!(within(console, 11), console.len());
    }
}
