//! Readings of the target's clocks side by side.

use crate::bytes::find;
use crate::capture::{ClockInfo, MarkInfo, Reading};
use crate::sys;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

/// The processor's counter.
pub const COUNTER: &str = "counter";
/// `CLOCK_MONOTONIC`.
pub const MONOTONIC: &str = "monotonic";
/// `CLOCK_BOOTTIME`.
pub const BOOTTIME: &str = "boottime";
/// `CLOCK_REALTIME`.
pub const WALL: &str = "wall";
/// `CLOCK_MONOTONIC_RAW`: nobody sets it right, so it keeps to the counter.
pub const RAW: &str = "monotonic_raw";

const NS_PER_S: u64 = 1_000_000_000;

/// All clocks, read one after the other.
///
/// Each pair that belongs together is a reading between two of the other clock,
/// so that the error is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The counter's ticks at the very first.
    pub at: Option<u64>,
    /// The counter's ticks before and after `monotonic_ns`.
    pub counter: Option<(u64, u64)>,
    /// `CLOCK_MONOTONIC`, between the two readings of the counter.
    pub monotonic_ns: u64,
    /// `CLOCK_BOOTTIME`, read after `monotonic_ns`.
    pub boottime_ns: u64,
    /// `CLOCK_REALTIME`, read after `boottime_ns`.
    pub wall_ns: u64,
    /// `CLOCK_MONOTONIC_RAW`, read after `wall_ns`.
    pub raw_ns: u64,
    /// `CLOCK_MONOTONIC` again, last.
    pub monotonic_end_ns: u64,
}

impl Stamp {
    /// Reads all clocks now.
    #[must_use]
    pub fn now() -> Self {
        let at = sys::counter();
        // The first reading in a process waits for memory: it is thrown away.
        read(ClockId::Monotonic);
        let before = sys::counter();
        let monotonic_ns = read(ClockId::Monotonic);
        let after = sys::counter();
        Self {
            at,
            counter: before.zip(after),
            monotonic_ns,
            boottime_ns: read(ClockId::Boottime),
            wall_ns: read(ClockId::Realtime),
            raw_ns: read(ClockId::MonotonicRaw),
            monotonic_end_ns: read(ClockId::Monotonic),
        }
    }

    /// The readings as words, for another process of the agent.
    #[must_use]
    pub fn to_words(&self) -> String {
        let mut words = String::new();
        for ticks in [
            self.at,
            self.counter.map(|c| c.0),
            self.counter.map(|c| c.1),
        ] {
            match ticks {
                Some(ticks) => words.push_str(&format!("{ticks} ")),
                None => words.push_str("- "),
            }
        }
        let Self {
            monotonic_ns,
            boottime_ns,
            wall_ns,
            raw_ns,
            monotonic_end_ns,
            ..
        } = self;
        words + &format!("{monotonic_ns} {boottime_ns} {wall_ns} {raw_ns} {monotonic_end_ns}")
    }

    /// Reads what [`Self::to_words`] wrote.
    #[must_use]
    pub fn from_words(words: &str) -> Option<Self> {
        let mut words = words.split_ascii_whitespace();
        let mut ticks = || match words.next()? {
            "-" => Some(None),
            number => number.parse().ok().map(Some),
        };
        let (at, before, after) = (ticks()?, ticks()?, ticks()?);
        let mut ns = || words.next()?.parse().ok();
        Some(Self {
            at,
            counter: before.zip(after),
            monotonic_ns: ns()?,
            boottime_ns: ns()?,
            wall_ns: ns()?,
            raw_ns: ns()?,
            monotonic_end_ns: ns()?,
        })
    }

    /// How long ago that was.
    #[must_use]
    pub fn age(&self) -> Duration {
        monotonic().saturating_sub(Duration::from_nanos(self.monotonic_ns))
    }

    /// The line that says this in the kernel's log.
    #[must_use]
    pub fn kmsg_line(&self, counter_hz: Option<u64>) -> String {
        let counter = match (self.counter, counter_hz) {
            (Some((before, after)), Some(hz)) => {
                format!("counter={} hz={hz} ", middle(before, after))
            }
            _ => String::new(),
        };
        format!(
            "clocks {counter}monotonic_ns={} boottime_ns={}",
            self.monotonic_ns, self.boottime_ns
        )
    }

    /// The line that says this, with the time within which the counter and `CLOCK_MONOTONIC`
    /// were read, and what was `seen` that makes the counter's zero doubtful. A counter of
    /// unknown rate is in it: an input may state the rate.
    #[must_use]
    pub fn reading_line(&self, counter_hz: Option<u64>, seen: &[&str]) -> String {
        let mut line = "clocks".to_owned();
        if let Some((before, after)) = self.counter {
            line += &format!(" counter={}", middle(before, after));
            if let Some(hz) = counter_hz {
                line += &format!(" hz={hz}");
            }
        }
        line += &format!(
            " monotonic_ns={} boottime_ns={}",
            self.monotonic_ns, self.boottime_ns
        );
        if let (Some((before, after)), Some(hz)) = (self.counter, counter_hz) {
            line += &format!(" error_ns={}", half_bracket(before, after, hz));
        }
        if !seen.is_empty() {
            line += &format!(" seen={}", seen.join(","));
        }
        line
    }

    /// A mark at this instant, on the counter if there is one.
    #[must_use]
    pub fn mark(&self, name: &str, begins: Option<&str>, counter_hz: Option<u64>) -> MarkInfo {
        let on_counter = self.at.zip(counter_hz).and_then(|(ticks, hz)| {
            let ns = u128::from(ticks) * u128::from(NS_PER_S) / u128::from(hz.max(1));
            i64::try_from(ns).ok()
        });
        MarkInfo {
            name: name.into(),
            clock: on_counter.map_or(MONOTONIC, |_| COUNTER).into(),
            at_ns: on_counter.unwrap_or_else(|| signed(self.monotonic_ns)),
            begins: begins.map(Into::into),
        }
    }
}

/// The clocks of a capture, related by `stamps`. A counter of unknown speed is
/// left out: its ticks say nothing.
#[must_use]
pub fn clocks(stamps: &[Stamp], counter_hz: Option<u64>) -> Vec<ClockInfo> {
    let clock = |name: &str, kind: &str, hz, readings| ClockInfo {
        name: name.into(),
        kind: kind.into(),
        hz,
        readings,
    };
    let mut clocks = Vec::new();
    if let Some(hz) = counter_hz.filter(|hz| *hz > 0) {
        let readings = stamps.iter().filter_map(|s| {
            let (before, after) = s.counter?;
            Some(Reading {
                ticks: middle(before, after),
                other: MONOTONIC.into(),
                other_ns: signed(s.monotonic_ns),
                error_ns: half_bracket(before, after, hz),
            })
        });
        clocks.push(clock(COUNTER, "counter", hz, readings.collect()));
    }
    let readings = stamps.iter().flat_map(|s| {
        let others = [
            (BOOTTIME, s.boottime_ns),
            (WALL, s.wall_ns),
            (RAW, s.raw_ns),
        ];
        others.map(|(other, ns)| Reading {
            ticks: middle(s.monotonic_ns, s.monotonic_end_ns),
            other: other.into(),
            other_ns: signed(ns),
            error_ns: s.monotonic_end_ns.saturating_sub(s.monotonic_ns) / 2 + 1,
        })
    });
    clocks.push(clock(MONOTONIC, "monotonic", NS_PER_S, readings.collect()));
    clocks.push(clock(BOOTTIME, "monotonic", NS_PER_S, Vec::new()));
    clocks.push(clock(WALL, "wall", NS_PER_S, Vec::new()));
    clocks.push(clock(RAW, "monotonic", NS_PER_S, Vec::new()));
    clocks
}

/// The ticks per second of the counter between two stamps, by the clock that
/// nobody sets right. `None` if there is no counter.
#[must_use]
pub fn hz_between(first: &Stamp, second: &Stamp) -> Option<u64> {
    // The counter stands still at no time, so the outer readings hold all.
    let ticks = |s: &Stamp| s.counter.map(|(before, after)| middle(before, after));
    let ticks = u128::from(ticks(second)?.checked_sub(ticks(first)?)?);
    // Both clocks are read some moments after the counter, and about as many.
    let ns = u128::from(second.raw_ns.checked_sub(first.raw_ns)?);
    u64::try_from((ticks * u128::from(NS_PER_S)).checked_div(ns)?).ok()
}

/// The ticks per second of an x86 processor's counter that the kernel goes by, as
/// its log has them: `tsc: Refined TSC clocksource calibration: 2194.917 MHz`.
#[must_use]
pub fn hz_in_log(log: &[u8]) -> Option<u64> {
    // The better one last: what was measured for long, or what the processor
    // says itself. The speed of the processor is often that of its counter.
    let patterns: [(&[u8], &[u8]); 3] = [
        (b"tsc: Detected ", b" MHz processor"),
        (b"tsc: Detected ", b" MHz TSC"),
        (b"tsc: Refined TSC clocksource calibration: ", b" MHz"),
    ];
    let mut found = None;
    for (before, behind) in patterns {
        let mut left = log;
        while let Some(begin) = find(left, before) {
            left = left.get(begin + before.len()..).unwrap_or_default();
            let rest = left.get(..32).unwrap_or(left);
            let number = find(rest, behind).and_then(|end| rest.get(..end));
            let number = number.and_then(|n| std::str::from_utf8(n).ok());
            let Some((mhz, khz)) = number.and_then(|n| n.split_once('.')) else {
                continue;
            };
            if let (Ok(mhz), Ok(khz), 3) = (mhz.parse::<u64>(), khz.parse::<u64>(), khz.len()) {
                found = mhz.checked_mul(1_000_000)?.checked_add(khz * 1000);
            }
        }
    }
    found.filter(|hz| *hz > 0)
}

/// The time since the kernel's clock started (`CLOCK_MONOTONIC`).
#[must_use]
pub fn monotonic() -> Duration {
    Duration::from_nanos(read(ClockId::Monotonic))
}

/// The time since the boot, suspended or not (`CLOCK_BOOTTIME`).
#[must_use]
pub fn boottime() -> Duration {
    Duration::from_nanos(read(ClockId::Boottime))
}

fn read(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    let ns = i128::from(tv_sec) * i128::from(NS_PER_S) + i128::from(tv_nsec);
    u64::try_from(ns).unwrap_or(0)
}

/// Half the time between two readings of a counter of `hz` ticks a second, in nanoseconds,
/// rounded up.
fn half_bracket(before: u64, after: u64, hz: u64) -> u64 {
    let bracket = u128::from(after.saturating_sub(before)) * u128::from(NS_PER_S);
    u64::try_from(bracket / u128::from(hz.max(1)) / 2 + 1).unwrap_or(u64::MAX)
}

fn middle(a: u64, b: u64) -> u64 {
    a + b.saturating_sub(a) / 2
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Stamp, clocks, hz_between, hz_in_log};

    const STAMP: Stamp = Stamp {
        at: Some(2_000),
        counter: Some((3_000, 3_100)),
        monotonic_ns: 500,
        boottime_ns: 510,
        wall_ns: 9_000,
        raw_ns: 505,
        monotonic_end_ns: 540,
    };

    #[test]
    fn a_reading_is_the_middle_of_its_bracket() {
        let clocks = clocks(&[STAMP], Some(2_000_000_000));
        let counter = &clocks[0].readings[0];
        assert_eq!((counter.ticks, counter.other_ns), (3_050, 500));
        assert_eq!(counter.error_ns, 26);
        let boottime = &clocks[1].readings[0];
        assert_eq!((boottime.ticks, boottime.other_ns), (520, 510));
        assert_eq!(boottime.error_ns, 21);
    }

    #[test]
    fn a_stamp_goes_from_one_process_to_another() {
        let without = Stamp {
            at: None,
            counter: None,
            ..STAMP
        };
        for stamp in [STAMP, without] {
            assert_eq!(Stamp::from_words(&stamp.to_words()), Some(stamp));
        }
        assert_eq!(without.to_words(), "- - - 500 510 9000 505 540");
        assert_eq!(Stamp::from_words("- - - 500 510 9000 505"), None);
    }

    #[test]
    fn a_mark_is_on_the_counter_if_its_speed_is_known() {
        let mark = STAMP.mark("first-light", None, Some(2_000_000_000));
        assert_eq!((mark.clock.as_str(), mark.at_ns), ("counter", 1_000));
        let mark = STAMP.mark("first-light", None, None);
        assert_eq!((mark.clock.as_str(), mark.at_ns), ("monotonic", 500));
        assert!(clocks(&[STAMP], None).iter().all(|c| c.name != "counter"));
    }

    #[test]
    fn the_line_in_the_kernel_log_has_no_counter_of_unknown_speed() {
        assert_eq!(
            STAMP.kmsg_line(Some(7)),
            "clocks counter=3050 hz=7 monotonic_ns=500 boottime_ns=510"
        );
        assert_eq!(
            STAMP.kmsg_line(None),
            "clocks monotonic_ns=500 boottime_ns=510"
        );
    }

    #[test]
    fn a_reading_states_its_error_and_what_was_seen() {
        assert_eq!(
            STAMP.reading_line(Some(2_000_000_000), &["kexec", "hypervisor"]),
            "clocks counter=3050 hz=2000000000 monotonic_ns=500 boottime_ns=510 error_ns=26 \
             seen=kexec,hypervisor"
        );
        assert_eq!(
            STAMP.reading_line(None, &[]),
            "clocks counter=3050 monotonic_ns=500 boottime_ns=510"
        );
    }

    #[test]
    fn the_speed_of_the_counter_is_measured_or_read() {
        let later = Stamp {
            counter: Some((203_000, 203_100)),
            raw_ns: 100_505,
            ..STAMP
        };
        assert_eq!(hz_between(&STAMP, &later), Some(2_000_000_000));
        assert_eq!(hz_between(&later, &STAMP), None);
        assert_eq!(hz_between(&STAMP, &STAMP), None);
        let log = b"6,1,0,-;tsc: Detected 2194.843 MHz processor\n\
            6,9,1,-;tsc: Refined TSC clocksource calibration: 2194.917 MHz\n";
        assert_eq!(hz_in_log(log), Some(2_194_917_000));
        assert_eq!(hz_in_log(&log[..50]), Some(2_194_843_000));
        for none in [
            &b"tsc: Detected 2194 MHz processor"[..],
            b"tsc: Detected 0.000 MHz processor",
            b"tsc: Detected ",
            b"tsc: Detected 99999999999999.000 MHz TSC",
        ] {
            assert_eq!(hz_in_log(none), None);
        }
    }

    #[test]
    fn clocks_run_forward() {
        let (a, b) = (Stamp::now(), Stamp::now());
        assert!(a.monotonic_ns <= a.monotonic_end_ns);
        assert!(a.monotonic_end_ns <= b.monotonic_ns);
        assert!(a.counter <= b.counter);
    }
}
