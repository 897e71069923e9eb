//! A hardware counter that ran before the kernel's clock, and what relates the two.
//!
//! The clock that stamps the kernel log starts when the kernel has already run for a while. A
//! counter that runs from reset (the TSC of x86, the generic timer of ARM, `time` of RISC-V)
//! tells how long the machine had run by then, from one reading of both. Readings, the rate
//! and the reasons not to trust the counter may come from several sources in any order, so
//! they are kept until the end.

use super::Recorder;
use crate::clock::{ClockId, ClockKind, Mapping, SyncPoint};
use crate::counter::{
    COUNTER, CounterDoubt, CounterRate, CounterReading, CourseNotes, KernelClockStart, KernelCourse,
};
use crate::event::{Mark, Phase};
use crate::mark;
use crate::matching::{NEARLY_EQUAL_NS, PRINTK};
use crate::note::{NoteKind, Severity};
use crate::source::Origin;

/// The raw scheduler clock, which stamps traces.
const RAW: &str = "sched-clock";

/// Stamps of the log are cut to whole microseconds.
const STAMP_NS: u64 = 1_000;

/// The kernel's time, which programs read.
const MONOTONIC: &str = "monotonic";

const NS_PER_S: i128 = 1_000_000_000;
const BILLION: i128 = 1_000_000_000;

/// A line is stamped within this time after the reading that it holds, where no second line
/// tells.
const STAMPED_WITHIN_NS: u64 = 10_000;

/// Two readings that are further apart say nothing about a stamp between them.
const LONGEST_BRACKET_NS: i64 = 50_000_000;

/// Rates that are further apart are those of two counters.
const SAME_RATE_PPB: u64 = 2_000_000;

/// A rate is coarse from this error on.
const COARSE_PPB: u64 = 100_000;

/// A machine that slept for less did not sleep: `CLOCK_BOOTTIME` and `CLOCK_MONOTONIC` are
/// read one after the other.
const SLEPT_NS: u64 = 10_000_000;

/// No machine takes so long from reset to its kernel. A counter that says so was not started
/// by this boot.
const LONGEST_NS: i64 = 3_600 * 1_000_000_000;

const COUNTER_START_UNKNOWN: NoteKind = NoteKind {
    name: "counter_start_unknown",
    severity: Severity::Info,
    advice: "The counter may not have started at the reset that began this boot, so the time before \
     the kernel clock is not shown. Read the counter on bare hardware, after a reset, before the \
     machine is suspended.",
};

const COUNTER_RATE_UNKNOWN: NoteKind = NoteKind {
    name: "counter_rate_unknown",
    severity: Severity::Doubt,
    advice: "No input says how many ticks this counter makes in a second, so the reading is not \
     used. Add the kernel log from its first line.",
};

impl Recorder {
    /// Says how many ticks the counter makes in a second. Of several, the most exact counts.
    pub fn counter_rate(&mut self, rate: CounterRate) {
        let key = |r: CounterRate| (r.error_ppb, r.hz);
        let better = |known: CounterRate| key(rate) < key(known);
        if rate.hz > 0 && self.counter.rate.is_none_or(better) {
            self.counter.rate = Some(rate);
        }
    }

    /// Says that up to the stamp `until_ns` the kernel took the counter to run at a rate that
    /// is `ppb` parts of a billion off the one that it found then.
    pub fn counter_drift(&mut self, until_ns: i64, ppb: u64) {
        let drift = i128::from(until_ns.max(0)).saturating_mul(i128::from(ppb)) / BILLION;
        let drift = u64::try_from(drift).unwrap_or(u64::MAX);
        self.counter.drift_ns = self.counter.drift_ns.max(drift);
    }

    /// A reading of the counter beside the kernel's clocks.
    pub fn counter_reading(&mut self, reading: CounterReading) {
        self.counter.readings.push(reading);
    }

    /// How the clock of the kernel's log runs beside the raw clock. If a reading of the
    /// counter makes it possible, [`Self::finish`] sets the stamps right.
    pub fn kernel_course(&mut self, course: KernelCourse, notes: CourseNotes) {
        let known = self.counter.course.as_ref();
        if known.is_none_or(|(c, _)| course.origin < c.origin) {
            self.counter.course = Some((course, notes));
        }
    }

    /// A reason not to take the counter's zero as the reset that began this boot.
    pub fn counter_doubt(&mut self, doubt: CounterDoubt, origin: Origin) {
        let first = self.counter.doubts.entry(doubt).or_insert(origin);
        *first = (*first).min(origin);
    }

    /// Relates the clocks by the readings of the counter.
    pub(super) fn relate_counter(&mut self) {
        let mut readings = std::mem::take(&mut self.counter.readings);
        let rate = self.counter.rate;
        readings.sort_by_key(|r| (r.ticks, r.origin));
        let mut unknown = None;
        let mut known: Vec<(CounterReading, i64, u64)> = Vec::new();
        for reading in readings {
            let own = reading.hz.map(|hz| self.rate_of_reading(hz));
            let Some(rate) = own.or(rate).filter(|r| r.hz > 0) else {
                unknown.get_or_insert(reading.origin);
                continue;
            };
            let ns = i128::from(reading.ticks).saturating_mul(NS_PER_S) / i128::from(rate.hz);
            let Ok(at) = i64::try_from(ns) else {
                unknown.get_or_insert(reading.origin);
                continue;
            };
            let of_rate = ns.saturating_mul(i128::from(rate.error_ppb)) / BILLION;
            let error = reading
                .error_ns
                .saturating_add(u64::try_from(of_rate).unwrap_or(u64::MAX));
            let step = (NS_PER_S / i128::from(rate.hz)).max(1);
            let step = u64::try_from(step).unwrap_or(1);
            self.clock(COUNTER, ClockKind::Counter, step);
            known.push((reading, at, error));
        }
        if let Some(origin) = unknown {
            self.note(origin, &COUNTER_RATE_UNKNOWN, String::new);
        }
        let corrected = self.relate_by_course(&known);
        self.counter.corrected = corrected;
        for (i, (reading, at, error)) in known.iter().enumerate() {
            let counter = (self.clock(COUNTER, ClockKind::Counter, 0), *at);
            let origin = Some(reading.origin);
            let monotonic = self.clock(MONOTONIC, ClockKind::Monotonic, 1);
            if reading.stamp.is_none() {
                // It stands for the clock of the log, which it nearly is.
                self.uses(monotonic, None);
            }
            let monotonic = (monotonic, reading.monotonic_ns);
            self.relate(counter, monotonic, *error, origin);
            if reading.slept_ns >= SLEPT_NS {
                self.counter_doubt(CounterDoubt::Suspended, reading.origin);
            }
            if let Some(stamp) = reading.stamp.filter(|_| !corrected) {
                let next = known.get(i + 1).map(|(r, at, _)| (r.origin, *at));
                let (at, error) = bracket(reading, (*at, *error), next);
                let drift = self.counter.drift_ns;
                self.relate((counter.0, at), stamp, error.saturating_add(drift), origin);
            }
        }
    }

    /// The rate that a reading states. How exact it is, the log may tell: a kernel that
    /// measured its counter says what it found, and an agent takes the rate from there.
    fn rate_of_reading(&self, hz: u64) -> CounterRate {
        let clock = self.clock_called(COUNTER);
        let clock = clock.and_then(|c| self.clocks.get(c.index()));
        // In the lab an instruction is a tick.
        let is_exact = clock.is_some_and(|c| c.kind == ClockKind::Virtual);
        let logged = self.counter.rate.filter(|_| !is_exact);
        let error_ppb = logged.map_or(0, |logged| {
            let apart = i128::from(hz.abs_diff(logged.hz)).saturating_mul(BILLION);
            let apart = u64::try_from(apart / i128::from(hz.max(1))).unwrap_or(u64::MAX);
            match (apart, logged.error_ppb) {
                (SAME_RATE_PPB.., _) => 0,
                // The reading has a better rate than a coarse one of the log.
                (1.., COARSE_PPB..) => 0,
                (apart, error) => apart.saturating_add(error),
            }
        });
        CounterRate { hz, error_ppb }
    }

    /// Puts the raw clock between the stamps and the counter; false if no reading can. The
    /// two must not be related in any shorter way, for that one would be taken.
    fn relate_by_course(&mut self, readings: &[(CounterReading, i64, u64)]) -> bool {
        let Some((course, notes)) = self.counter.course.take() else {
            return false;
        };
        let even = course.points.last().map_or(i64::MAX, |p| p.0);
        let usable = |r: &CounterReading| {
            r.stamp
                .is_some_and(|(clock, at)| clock == course.clock && at >= even)
        };
        let corrected = readings.iter().any(|(r, ..)| usable(r));
        if let Some((right, wrong, detail)) = notes {
            let kind = if corrected { right } else { wrong };
            self.note(course.origin, kind, || detail);
        }
        if !corrected {
            return false;
        }
        let raw = self.clock(RAW, ClockKind::Printk, 1);
        for (stamp, at) in &course.points {
            let (stamp, at) = ((course.clock, *stamp), (raw, *at));
            self.relate(stamp, at, course.error_ns, Some(course.origin));
        }
        let counter = self.clock(COUNTER, ClockKind::Counter, 0);
        for (i, (reading, at, error)) in readings.iter().enumerate() {
            let Some((_, stamp)) = reading.stamp.filter(|_| usable(reading)) else {
                continue;
            };
            let next = readings.get(i + 1).map(|(r, at, _)| (r.origin, *at));
            let (at, error) = bracket(reading, (*at, *error), next);
            let error = error.saturating_add(self.counter.drift_ns);
            let stamp = stamp.saturating_sub(course.ahead);
            self.relate((counter, at), (raw, stamp), error, Some(reading.origin));
        }
        true
    }

    /// Where the counter's zero may be taken as the start of the machine: marks it, and says
    /// when the kernel's clock began.
    pub(super) fn mark_counter_start(&mut self) -> Option<KernelClockStart> {
        let counter = self.clock_called(COUNTER)?;
        let kind = self.clocks.get(counter.index()).map(|c| c.kind);
        let of_counter = |p: &&SyncPoint| p.a == counter || p.b == counter;
        let origin = self.sync.iter().find(of_counter)?.origin?;
        let to_counter = Mapping::new(counter, self.clocks.len(), &self.sync);
        // Without a log, the kernel's time stands for it, and began nearly at once.
        let (kernel, apart) = match self.clock_called(PRINTK) {
            Some(printk) => (printk, 0),
            None => (self.clock_called(MONOTONIC)?, NEARLY_EQUAL_NS),
        };
        // The first stamps are those of the raw clock, which has no bound of the course.
        let raw = self
            .clock_called(RAW)
            .filter(|_| self.counter.corrected)
            .and_then(|raw| to_counter.error_ns(raw));
        let error_ns = match raw {
            Some(raw) => raw.saturating_add(STAMP_NS),
            None => to_counter.error_ns(kernel)?.saturating_add(apart),
        };
        let start = KernelClockStart {
            after_ns: to_counter.apply(kernel, 0).0,
            error_ns,
            origin,
        };
        // The lab counts instructions from reset, and says so itself.
        if kind != Some(ClockKind::Counter) {
            return None;
        }
        if start.after_ns.saturating_add_unsigned(error_ns) < 0 {
            self.counter_doubt(CounterDoubt::SetBack, origin);
        }
        if start.after_ns > LONGEST_NS {
            self.counter_doubt(CounterDoubt::TooLong, origin);
        }
        if let Some(first) = self.counter.doubts.values().min().copied() {
            let reasons = self.counter.doubts.keys().map(|d| d.reason());
            let reasons = reasons.collect::<Vec<_>>().join("; ");
            self.note(first, &COUNTER_START_UNKNOWN, || reasons);
            return None;
        }
        let is_power_on = |m: &(ClockId, Mark)| self.names.get(m.1.name) == mark::POWER_ON;
        if !self.marks.iter().any(is_power_on) {
            let begins = Some(Phase::BeforeKernelClock);
            self.mark(counter, mark::COUNTER_START, 0, begins, origin);
        }
        Some(start)
    }

    /// The clock of this name.
    fn clock_called(&self, name: &str) -> Option<ClockId> {
        let at = self.clocks.iter().position(|c| c.name == name)?;
        u16::try_from(at).ok().map(ClockId)
    }
}

/// When the line of a reading was stamped, on the counter, and how exactly that is known. The
/// stamp was taken after the reading of its own line, and before that of the next: so a second
/// line right behind the first bounds it from both sides.
fn bracket(
    reading: &CounterReading,
    (at, error): (i64, u64),
    next: Option<(Origin, i64)>,
) -> (i64, u64) {
    let same = |(origin, _): &(Origin, i64)| origin.source == reading.origin.source;
    match next.filter(same).map(|(_, next)| next.saturating_sub(at)) {
        Some(apart @ 0..=LONGEST_BRACKET_NS) => {
            let half = apart / 2;
            let rounding = error.saturating_sub(reading.error_ns);
            let half_up = apart.saturating_sub(half).unsigned_abs();
            (
                at.saturating_add(half),
                half_up.saturating_add(rounding).saturating_add(STAMP_NS),
            )
        }
        _ => (at, error.max(STAMPED_WITHIN_NS)),
    }
}
