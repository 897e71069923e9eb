//! The text of `systemd-analyze dump`.
//!
//! Units of the ledger are blocks: a line that begins at the left edge, with
//! the indented lines under it.

use super::clocks::MONOTONIC;
use super::notes::BLANK_LINE;
use super::startup::LOADER_START;
use super::unit::{self, NEVER_ACTIVE, Times};
use crate::calendar;
use crate::source::{Input, Sniff, Source};
use crate::text::{self, Line};
use record::{
    ClockId, ClockKind, DependencyKind, NoteKind, Origin, Phase, Recorder, Severity, SourceId, mark,
};

/// `systemd-analyze dump` text.
///
/// It prints the time of day in whole seconds, so that is what units get, on
/// the clock `realtime`. The time zone is not used: times of day are taken as
/// they are printed.
#[derive(Debug)]
pub struct Dump;

const WHOLE_SECONDS: NoteKind = NoteKind {
    name: "times_in_whole_seconds",
    severity: Severity::Doubt,
    advice: "`systemd-analyze dump` prints whole seconds, so shorter durations are lost. Use \
        `systemctl show` and `systemctl show --all '*'`, which print microseconds.",
};

const OTHER_ZONE: NoteKind = NoteKind {
    name: "time_zone_changed",
    severity: Severity::Doubt,
    advice: "The dump mixes time zones. Durations across them are wrong by the difference between \
        the zones.",
};

const UNUSED: NoteKind = NoteKind {
    name: "unused_block",
    severity: Severity::Info,
    advice: "These parts of the dump contain no boot times.",
};

const TORN: NoteKind = NoteKind {
    name: "unrecognized_line",
    severity: Severity::Doubt,
    advice: "These lines are truncated or not systemd-analyze output. Use the unedited output.",
};

const SECOND_NS: i64 = 1_000_000_000;
const SECOND_NS_UNSIGNED: u64 = 1_000_000_000;

impl Source for Dump {
    fn name(&self) -> &'static str {
        "systemd-dump"
    }

    fn description(&self) -> &'static str {
        "systemd state with times in whole seconds: `systemd-analyze dump`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let mut unit = false;
        let mut state = false;
        for line in text::lines(head) {
            unit |= line.bytes.starts_with(b"-> Unit ");
            state |= line.bytes.starts_with(b"\tInactive Exit Timestamp: ")
                || line.bytes.starts_with(b"Timestamp userspace: ")
                || line.bytes.starts_with(b"Manager: systemd ");
            if unit && state {
                return Sniff::Yes;
            }
        }
        if unit || state {
            Sniff::Maybe
        } else {
            Sniff::No
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let clock = recorder.clock("realtime", ClockKind::Wall, SECOND_NS_UNSIGNED);
        let mut reader = Reader {
            source,
            clock,
            zone: None,
            coarse: false,
        };
        let mut block: Option<Block> = None;
        for line in text::lines(input.bytes) {
            let indented = line.bytes.starts_with(b"\t") || line.bytes.starts_with(b" ");
            match block.as_mut() {
                Some(block) if indented => reader.property(block, line, recorder),
                _ => {
                    if let Some(done) = block.take() {
                        reader.finish(&done, recorder);
                    }
                    block = reader.head(line, recorder);
                }
            }
        }
        if let Some(done) = block {
            reader.finish(&done, recorder);
        }
    }
}

/// A block whose lines belong together.
#[derive(Debug)]
struct Block {
    origin: Origin,
    /// The unit's name; empty for other blocks.
    unit: String,
    times: Times,
    dependencies: Vec<(DependencyKind, String)>,
}

#[derive(Debug)]
struct Reader {
    source: SourceId,
    clock: ClockId,
    /// The time zone of the first time.
    zone: Option<String>,
    /// Whether the note on whole seconds was made.
    coarse: bool,
}

impl Reader {
    /// A line at the left edge: a block's first one, or one on its own.
    fn head(&mut self, line: Line<'_>, recorder: &mut Recorder) -> Option<Block> {
        let origin = self.origin(line);
        let text = text::lossy(line.bytes);
        if text.trim().is_empty() {
            recorder.skipped(origin, &BLANK_LINE);
            return None;
        }
        let block = |unit: &str| Block {
            origin,
            unit: unit.to_owned(),
            times: Times::default(),
            dependencies: Vec::new(),
        };
        if let Some(name) = text.strip_prefix("-> Unit ") {
            return Some(block(name.trim_end().trim_end_matches(':')));
        }
        if let Some((name, time)) = text
            .strip_prefix("Timestamp ")
            .and_then(|t| t.split_once(": "))
        {
            let taken = self.manager_time(name, time, origin, recorder);
            self.count(taken, origin, recorder);
            return None;
        }
        if let Some(version) = text.strip_prefix("Manager: systemd ") {
            recorder.fact("systemd.version", version.trim(), origin);
            recorder.took(self.source);
            return None;
        }
        Some(block(""))
    }

    fn origin(&self, line: Line<'_>) -> Origin {
        Origin {
            source: self.source,
            offset: line.offset,
        }
    }

    fn count(&self, taken: bool, origin: Origin, recorder: &mut Recorder) {
        match taken {
            true => recorder.took(self.source),
            false => recorder.skipped(origin, &TORN),
        }
    }

    /// A line of a unit: `Active Enter Timestamp: Sat 2026-11-21 21:26:13 UTC`,
    /// or `After: system.slice (origin-file)`.
    fn property(&mut self, block: &mut Block, line: Line<'_>, recorder: &mut Recorder) {
        if block.unit.is_empty() {
            return;
        }
        let text = text::lossy(line.bytes);
        let Some((key, value)) = text.trim().split_once(": ") else {
            return;
        };
        let slot = match key {
            "Inactive Exit Timestamp" => &mut block.times.activating,
            "Active Enter Timestamp" => &mut block.times.activated,
            "Inactive Enter Timestamp" => &mut block.times.deactivated,
            _ => {
                if let Some(kind) = unit::dependency(key) {
                    let on = value.split_once(' ').map_or(value, |v| v.0);
                    block.dependencies.push((kind, on.to_owned()));
                }
                return;
            }
        };
        *slot = self.time(value, self.origin(line), recorder);
    }

    fn finish(&mut self, block: &Block, recorder: &mut Recorder) {
        let is_unit = unit::is_name(&block.unit);
        let span = is_unit
            .then(|| {
                block
                    .times
                    .span(&block.unit, self.clock, block.origin, recorder)
            })
            .flatten();
        match span {
            Some(span) => {
                recorder.span(span);
                for (kind, on) in &block.dependencies {
                    recorder.dependency(&block.unit, on, *kind, block.origin);
                }
                recorder.took(self.source);
            }
            None if is_unit => recorder.skipped(block.origin, &NEVER_ACTIVE),
            None => recorder.skipped(block.origin, &UNUSED),
        }
    }

    /// `Timestamp userspace: Sat 2026-11-21 21:26:09 UTC`.
    fn manager_time(
        &mut self,
        name: &str,
        time: &str,
        origin: Origin,
        recorder: &mut Recorder,
    ) -> bool {
        let Some(at) = self.time(time, origin, recorder) else {
            return false;
        };
        let (mark, begins) = match name {
            "firmware" => (mark::POWER_ON, Some(Phase::Firmware)),
            "loader" => (LOADER_START, Some(Phase::Loader)),
            "kernel" => (mark::KERNEL_CLOCK_START, Some(Phase::Kernel)),
            "initrd" => (mark::INITRD_START, Some(Phase::Initrd)),
            "userspace" => (mark::USERSPACE_START, Some(Phase::Userspace)),
            "finish" => (mark::STARTUP_FINISHED, None),
            other => (other, None),
        };
        if name == "kernel" {
            let monotonic = recorder.clock(MONOTONIC, ClockKind::Monotonic, 0);
            let points = ((self.clock, at), (monotonic, 0));
            recorder.relate(points.0, points.1, SECOND_NS_UNSIGNED, Some(origin));
        }
        recorder.mark(self.clock, mark, at, begins, origin);
        true
    }

    /// Nanoseconds since 1970, had the clock on the wall been UTC.
    fn time(&mut self, text: &str, origin: Origin, recorder: &mut Recorder) -> Option<i64> {
        let (seconds, zone) = time_of_day(text)?;
        match &self.zone {
            None => self.zone = Some(zone.to_owned()),
            Some(first) if first != zone => {
                recorder.note(origin, &OTHER_ZONE, || format!("{first}, then {zone}"));
            }
            Some(_) => {}
        }
        if !self.coarse {
            self.coarse = true;
            recorder.note(origin, &WHOLE_SECONDS, String::new);
        }
        seconds.checked_mul(SECOND_NS)
    }
}

/// The form of `format_timestamp()` in systemd: `Sat 2026-11-21 21:26:13 UTC`.
/// Gives the seconds since 1970 as if in UTC, and the zone.
fn time_of_day(text: &str) -> Option<(i64, &str)> {
    let mut words = text.split_ascii_whitespace();
    let (_weekday, date, time) = (words.next()?, words.next()?, words.next()?);
    let zone = words.next().unwrap_or("");
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let days = calendar::days(year, month, day)?;
    (hour < 24 && minute < 60 && second < 61)
        .then(|| (((days * 24 + hour) * 60 + minute) * 60 + second, zone))
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator).map(|p| {
        let digits = !p.is_empty() && p.len() <= 4 && p.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| p.parse::<i64>().ok()).flatten()
    });
    let three = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(three)
}

#[cfg(test)]
mod tests {
    use super::time_of_day;

    #[test]
    fn times_of_day_are_seconds() {
        for (text, seconds) in [
            ("Thu 1970-01-01 00:00:00 UTC", Some(0)),
            ("Thu 2024-02-29 23:59:59 CET", Some(1_709_251_199)),
            ("Sat 2026-11-21 21:26:13 UTC", Some(1_795_296_373)),
            ("n/a", None),
            ("Sat 2026-13-21 21:26:13 UTC", None),
            ("Sat 2026-11-21 21:26", None),
            ("Sat 99999-11-21 21:26:13 UTC", None),
        ] {
            assert_eq!(time_of_day(text).map(|t| t.0), seconds, "{text}");
        }
    }
}
