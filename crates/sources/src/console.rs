//! The console of a boot loader or of systemd without any stamps, as it is copied from a
//! terminal. Its only times are those that U-Boot prints itself: of a command run under `time`,
//! of a read, and of `bootstage report`; and how long a start job of systemd runs, which
//! stands in its line.
//!
//! Units of the ledger are lines.

use crate::bootstage::{Outcome, Reader as BootstageReader};
use crate::serial::{Stages, screen};
use crate::source::{Input, Sniff, Source};
use crate::systemd::is_unit;
use crate::text;
use record::{ClockId, ClockKind, NoteKind, Origin, Phase, Recorder, Severity, SpanKind};

/// The reader of such texts.
#[derive(Debug)]
pub struct Console;

const BLANK_LINE: NoteKind = NoteKind::new(
    "blank_line",
    Severity::Info,
    "Blank lines were skipped. No action needed.",
);

const NO_STAMPS: NoteKind = NoteKind::new(
    "no_timestamps",
    Severity::Doubt,
    "The lines have no timestamps, so only times that the loader prints itself are known. Record \
     the console with `firstlight capture serial`.",
);

/// What only a loader prints, beside the lines that begin its stages.
const LOADER: [&str; 9] = [
    "Hit any key to stop autoboot",
    "starting USB",
    "scanning bus",
    " bytes read in ",
    "## Booting kernel from",
    "## Loading kernel from",
    "Loading Environment from",
    "switch to partitions #",
    "Bytes transferred = ",
];

fn is_loaders(line: &str) -> bool {
    let stages = Stages::builtin();
    let stage = stages.find(line).and_then(|at| stages.get(at));
    stage.is_some_and(|s| s.phase() < Phase::Decompression)
        || LOADER.iter().any(|l| line.contains(l))
        || read_in(line).is_some()
}

/// The nanoseconds of a read that a loader tells with its rate: `read in 52ms at 1.9MB/s`,
/// `loaded in 52 ms (19.2 MiB/s)`.
fn read_in(line: &str) -> Option<i64> {
    // Every line of a log is asked.
    if !line.contains("/s") && !line.contains("/S") {
        return None;
    }
    let lower = line.to_ascii_lowercase();
    let rate = ["mb/s", "kb/s", "mib/s", "kib/s"];
    rate.iter().find(|r| lower.contains(**r))?;
    let (number, behind) = lower.split_once(" in ")?.1.split_once("ms")?;
    let is_rate =
        behind.starts_with(" at ") || behind.starts_with(" (") || behind.starts_with(", ");
    let ms = number.trim().parse::<i64>().ok().filter(|_| is_rate)?;
    ms.checked_mul(1_000_000)
}

/// The states that systemd writes in brackets before what it did.
const STATES: [&str; 4] = ["OK", "FAILED", "TIME", "DEPEND"];

/// What it writes while nothing else goes on, and how later versions do.
const RUNNING: &str = "A start job is running for ";
const RUNNING_IN_BRACKETS: &str = "] A start job is running for ";
const JOB: [&str; 2] = ["Job ", " running ("];

/// Whether a line is one of `systemctl list-jobs` and shows a job that runs: `12 a.service start
/// running`.
fn is_listed_job(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let number = words.next().is_some_and(|w| w.parse::<u32>().is_ok());
    let unit = words.next().is_some_and(is_unit);
    number && unit && words.eq(["start", "running"])
}

/// What stands between the time that a job has run and the one that it may.
const OF_LIMIT: &str = " / ";

/// Whether a line shows a job that systemd waits for, with its times. People quote it without
/// the stars in brackets before it.
pub(crate) fn is_running_job(line: &str) -> bool {
    let of_text = line.split_once(RUNNING).map(|(_, job)| job);
    let later = || {
        let (job, times) = line.split_once(JOB[0])?.1.split_once(JOB[1])?;
        (!job.contains(' ')).then_some(times)
    };
    let times = of_text.or_else(later);
    is_listed_job(line)
        || times.is_some_and(|t| {
            let (_, limit) = t.split_once(OF_LIMIT).unwrap_or_default();
            limit.contains(')')
        })
}

/// How a step of initramfs-tools begins.
const STEP: &str = "Begin: ";

/// How lines begin that others write while they set up the root or the network and wait: the
/// first stage of NixOS, ipconfig of klibc, mkinitcpio, Upstart; what LVM says of devices; and
/// what others say of a wait.
const SETUP: [&str; 4] = [
    "waiting for device /",
    "IP-Config: no response after ",
    ":: Waiting ",
    "Waiting for network configuration...",
];
const INSIDE: [&str; 3] = [
    // An event of Android in the brief form of `logcat`.
    "I/boot_progress_",
    " more seconds for network configuration",
    "not initialized in udev database even after waiting ",
];

/// What people quote alone, in a text of few lines.
const QUOTED: [&str; 9] = [
    // What systemd, libata and cloud-init say of what did not come.
    "Timed out waiting for device ",
    ".device/start timed out",
    ".service: start operation timed out",
    ": qc timeout after ",
    "]: Giving up on ",
    "udevadm settle - timeout of ",
    "No DHCPOFFERS received",
    // A USB device and a drive that do not answer in time.
    ": device descriptor read/64, error -110",
    ": COMRESET failed (errno=-16)",
];

/// In a text of more lines for each, such a line is an aside.
const MOST_LINES: usize = 16;

/// Whether a line is one that people quote.
fn is_quoted(line: &str) -> bool {
    is_running_job(line) || QUOTED.iter().any(|q| line.contains(q))
}

/// Whether systemd or an initramfs wrote a line.
fn is_systemds(line: &str) -> bool {
    // Text that was pasted may have lost the escape byte of a control before the bracket.
    if line.starts_with(STEP) || line.contains(RUNNING_IN_BRACKETS) {
        return true;
    }
    if line.starts_with('[') && is_running_job(line) {
        return true;
    }
    let is_setup = SETUP.iter().any(|s| line.trim_start().starts_with(s));
    if is_setup || INSIDE.iter().any(|i| line.contains(i)) {
        return true;
    }
    let state = line.strip_prefix('[').and_then(|l| l.split_once("] "));
    state.is_some_and(|(state, _)| STATES.contains(&state.trim()))
}

impl Source for Console {
    fn name(&self) -> &'static str {
        "console"
    }

    fn description(&self) -> &'static str {
        "console of a boot loader, an initramfs or systemd without timestamps, copied from a terminal"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let (mut quoted, mut all) = (0_usize, 0_usize);
        for line in text::lines(head).take(500) {
            let shown = screen(line.bytes);
            // Any log that knows more goes first.
            if is_loaders(&shown) || is_systemds(&shown) {
                return Sniff::Maybe;
            }
            all = all.saturating_add(usize::from(!shown.trim().is_empty()));
            quoted = quoted.saturating_add(usize::from(is_quoted(&shown)));
        }
        match quoted > 0 && all <= MOST_LINES.saturating_mul(quoted) {
            true => Sniff::Maybe,
            false => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let clock = recorder.clock("serial", ClockKind::Wall, 1_000_000);
        let mut reader = Reader {
            clock,
            rate: None,
            before: None,
            command: None,
            bootstage: BootstageReader::new(source),
        };
        let mut first = true;
        for line in text::lines(input.bytes) {
            let origin = Origin {
                source,
                offset: line.offset,
            };
            let text = screen(line.bytes);
            if text.trim().is_empty() {
                recorder.skipped(origin, &BLANK_LINE);
                continue;
            }
            if std::mem::take(&mut first) {
                recorder.note(origin, &NO_STAMPS, String::new);
            }
            reader.line(&text, origin, recorder);
            recorder.took(source);
        }
        reader.bootstage.finish(recorder);
    }
}

struct Reader {
    clock: ClockId,
    /// How many bytes a second U-Boot said last that it gets from the network.
    rate: Option<f64>,
    /// The line before, which may name what is read.
    before: Option<String>,
    /// The first line since the last time that was printed: the command, or what it said
    /// first.
    command: Option<(String, Origin)>,
    bootstage: BootstageReader,
}

impl Reader {
    fn line(&mut self, text: &str, origin: Origin, recorder: &mut Recorder) {
        let is_report = self.bootstage.line(text, origin.offset, None, recorder) != Outcome::Other;
        if let Some(ns) = timed(text) {
            if let Some((command, begun)) = self.command.take() {
                self.span(&command, ns, begun, recorder);
            }
        } else if let Some(ns) = text
            .split_once(" bytes read in ")
            .and_then(|(_, t)| millis(t))
        {
            self.span(&reading(text), ns, origin, recorder);
        } else if let Some(ns) = read_in(text) {
            let what = self.before.take().unwrap_or_else(|| text.trim().to_owned());
            self.span(&what, ns, origin, recorder);
        } else if let Some(bytes) = transferred(text) {
            // U-Boot divides the bytes by the time, and prints only the quotient.
            if let Some(rate) = self.rate.take().filter(|r| *r > 0.0) {
                let ns = (bytes as f64 / rate * 1e9).min(LONGEST_READ_NS) as i64;
                self.span(&reading_of(bytes), ns, origin, recorder);
            }
        } else if !is_report && (self.command.is_none() || is_prompt(text)) {
            let words = text.trim().trim_start_matches(['=', '>', '#', ' ']);
            let words = words.strip_prefix("time ").unwrap_or(words);
            let words = words.trim_end_matches(['.', ' ']).to_owned();
            self.command = Some((words, origin));
        }
        self.rate = rate(text).or(self.rate);
        self.before = Some(text.trim().to_owned());
        // `systemctl list-jobs` has columns.
        let words: Vec<&str> = text.split_whitespace().collect();
        match is_listed_job(text) {
            true => recorder.message(self.clock, None, None, &words.join(" "), origin),
            false => recorder.message(self.clock, None, None, text, origin),
        }
    }

    fn span(&self, what: &str, ns: i64, origin: Origin, recorder: &mut Recorder) {
        let name = recorder.name(what);
        let span = recorder.span_of(self.clock, SpanKind::Stage, name, origin);
        recorder.span(span.reported(Some(ns)));
    }
}

/// No read takes a day.
const LONGEST_READ_NS: f64 = 86_400e9;

/// The bytes of `Bytes transferred = 7340032 (700000 hex)`, which U-Boot prints behind a file
/// from the network.
fn transferred(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("Bytes transferred = ")?;
    rest.split(' ').next()?.parse().ok()
}

/// The bytes a second at the end of a line: `1.1 MiB/s`.
fn rate(text: &str) -> Option<f64> {
    let (text, unit) = text.trim_end().rsplit_once(' ')?;
    let scale = match unit {
        "GiB/s" => 1_073_741_824.0,
        "MiB/s" => 1_048_576.0,
        "KiB/s" => 1_024.0,
        "Bytes/s" => 1.0,
        _ => return None,
    };
    let number = text.rsplit([' ', '\t', '#']).next()?;
    Some(number.parse::<f64>().ok()? * scale)
}

fn reading_of(bytes: u32) -> String {
    format!("reading {bytes} bytes")
}

/// What `18370568 bytes read in 11689 ms` read; programs put words before the number.
fn reading(text: &str) -> String {
    let before = text.split(" bytes read in ").next().unwrap_or_default();
    let bytes = before.rsplit(' ').next().unwrap_or_default();
    format!("reading {bytes} bytes")
}

/// `=> usb start`
fn is_prompt(text: &str) -> bool {
    text.trim_start().starts_with("=> ")
}

/// `time: 20.163 seconds`, `time: 1 minutes, 2.345 seconds`: what the command `time` of
/// U-Boot prints.
fn timed(text: &str) -> Option<i64> {
    let rest = text.trim().strip_prefix("time: ")?;
    let (minutes, rest) = match rest.split_once(" minutes, ") {
        Some((minutes, rest)) => (minutes.parse::<i64>().ok()?, rest),
        None => (0, rest),
    };
    let number = rest.strip_suffix(" seconds")?;
    let (ns, _, rest) = text::seconds(number.as_bytes())?;
    let all = minutes.checked_mul(60_000_000_000)?.checked_add(ns)?;
    rest.is_empty().then_some(all)
}

/// The nanoseconds of `52 ms (19.2 MiB/s)`.
fn millis(text: &str) -> Option<i64> {
    let (number, _) = text.split_once(" ms")?;
    number.trim().parse::<i64>().ok()?.checked_mul(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::{is_quoted, is_systemds, millis, rate, read_in, timed, transferred};

    #[test]
    fn a_read_with_its_rate_is_known_in_any_loader() {
        assert_eq!(read_in("[D] FS: read in 52ms at 1.9MB/S"), Some(52_000_000));
        assert_eq!(read_in("loaded in 7 ms (19.2 MiB/s)"), Some(7_000_000));
        assert_eq!(read_in("done in 7 ms"), None);
        assert_eq!(read_in("a disk of 6.0 Gb/s in 3ms"), None);
    }

    #[test]
    fn a_file_from_the_network_has_its_rate_and_its_bytes() {
        assert_eq!(
            transferred("Bytes transferred = 4096 (1000 hex)"),
            Some(4_096)
        );
        assert_eq!(rate("Loading: ####  1.5 KiB/s"), Some(1_536.0));
        assert_eq!(rate("\t 2 MiB/s"), Some(2_097_152.0));
        assert_eq!(rate("a lot/s"), None);
    }

    #[test]
    fn a_listed_job_that_runs_is_known() {
        assert!(is_quoted("85 a.service      start running"));
        assert!(!is_quoted("85 a.service      start waiting"));
        assert!(!is_quoted("a.service start running"));
    }

    #[test]
    fn lines_of_programs_that_set_up_the_root_or_the_network_are_known() {
        for line in [
            "waiting for device /dev/old to appear......",
            "IP-Config: no response after 2 secs - giving up",
            ":: Waiting 10 seconds for device /dev/old ...",
            "Waiting up to 60 more seconds for network configuration...",
            "I/boot_progress_start(  500): 12345",
            "  WARNING: Device /dev/sda not initialized in udev database even after waiting 10 \
             microseconds.",
        ] {
            assert!(is_systemds(line), "{line}");
        }
        for line in ["waiting for device 7", "Waiting up to an hour", "IP-Config"] {
            assert!(!is_systemds(line), "{line}");
        }
    }

    #[test]
    fn the_times_that_u_boot_prints_are_read() {
        for (text, ns) in [
            ("time: 2.500 seconds", Some(2_500_000_000)),
            ("time: 1 minutes, 2.500 seconds", Some(62_500_000_000)),
            ("time: soon", None),
            ("time: 2.500 minutes", None),
        ] {
            assert_eq!(timed(text), ns, "{text}");
        }
        assert_eq!(millis("52 ms (19.2 MiB/s)"), Some(52_000_000));
        assert_eq!(millis("a while"), None);
    }
}
