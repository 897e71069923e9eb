//! The books on the stamps of a log: the first, steps, zeros, ticks.

use super::at::At;
use super::notes::{self, Tally};
use record::{ClockId, Origin, Phase, Recorder, mark};

/// Ticks of kernels that have no better clock for their stamps, in nanoseconds.
const TICKS_NS: [i64; 2] = [10_000_000, 4_000_000];

/// Fewer stamps on whole ticks may be chance.
const FEWEST_TICKS: u64 = 20;

/// The first stamp that is not zero is less than this where the kernel's clock starts with the
/// kernel: ticks and counters begin near zero.
const RAN_BEFORE_NS: i64 = 500_000_000;

/// A whole log has many lines before its clock runs; where there are fewer, lines are missing.
const FEWEST_ZEROS: u64 = 5;

/// A stamp of the line, and the clock it is on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    /// The clock.
    pub clock: ClockId,
    /// The stamp.
    pub ns: i64,
    /// The step of the clock's stamps.
    pub resolution_ns: u64,
    /// Whether it is the kernel's own stamp.
    pub printk: bool,
}

impl Time {
    /// It, at a line.
    pub const fn at(self, origin: Origin) -> At {
        At {
            clock: self.clock,
            ns: self.ns,
            origin,
        }
    }
}

/// What is known of all stamps so far.
#[derive(Debug)]
pub(super) struct Stamps {
    /// How many lines had one.
    pub count: u64,
    /// The first: the line, the stamp, and whether it is the kernel's own.
    pub first: Option<(Origin, i64, bool)>,
    /// The last stamp, to see steps.
    pub last: Option<(ClockId, i64)>,
    /// Whether zero of the kernel's clock is marked.
    pub clock_start: bool,
    /// Records that the log itself, or a gap in the numbers of its records, says were lost.
    pub records_lost: Tally,
    zero_stretch: bool,
    /// Which of [`TICKS_NS`] all stamps are multiples of.
    on_ticks: [bool; 2],
    /// How many stamps above zero there were.
    above_zero: u64,
    last_sequence: Option<u64>,
    backward: Tally,
    zero: Tally,
}

impl Default for Stamps {
    fn default() -> Self {
        Self {
            count: 0,
            first: None,
            last: None,
            clock_start: false,
            records_lost: Tally::default(),
            zero_stretch: true,
            on_ticks: [true; 2],
            above_zero: 0,
            last_sequence: None,
            backward: Tally::default(),
            zero: Tally::default(),
        }
    }
}

impl Stamps {
    /// Keeps the books on the stamp of a line.
    #[inline]
    pub fn stamp(&mut self, recorder: &mut Recorder, time: Time, origin: Origin) {
        self.count = self.count.saturating_add(1);
        if time.printk && time.ns > 0 {
            self.above_zero = self.above_zero.saturating_add(1);
            for (on, tick) in self.on_ticks.iter_mut().zip(TICKS_NS) {
                *on = *on && time.ns % tick == 0;
            }
        }
        // After a stamp above zero there is no more to see than steps.
        if self.zero_stretch {
            self.early(recorder, time, origin);
        }
        if let Some((clock, ns)) = self.last
            && clock == time.clock
            && time.ns < ns
        {
            let back = ns.saturating_sub(time.ns);
            self.backward
                .add(origin, || format!("first: {} us", back / 1_000));
        }
        self.last = Some((time.clock, time.ns));
    }

    /// The first stamp, and those of zero that may follow it.
    fn early(&mut self, recorder: &mut Recorder, time: Time, origin: Origin) {
        if self.first.is_none() {
            self.first = Some((origin, time.ns, time.printk));
        }
        if !time.printk {
            return;
        }
        if !self.clock_start {
            self.clock_start = true;
            let name = mark::KERNEL_CLOCK_START;
            recorder.mark(time.clock, name, 0, Some(Phase::Kernel), origin);
        }
        if time.ns == 0 {
            self.zero.add(origin, String::new);
        } else {
            self.zero_stretch = false;
            // A clock that starts with the kernel is small when it is first read.
            if self.zero.count() >= FEWEST_ZEROS && time.ns >= RAN_BEFORE_NS {
                recorder.note(origin, &notes::COUNTER_RAN, || {
                    format!("{} ms", time.ns / 1_000_000)
                });
            }
        }
    }

    /// Records of `/dev/kmsg` are numbered one by one.
    pub fn sequence(&mut self, sequence: u64, origin: Origin) {
        if let Some(last) = self.last_sequence {
            let lost = sequence.saturating_sub(last).saturating_sub(1);
            if lost > 0 {
                self.records_lost.add_many(origin, lost, || {
                    format!("first gap: between records {last} and {sequence}")
                });
            }
        }
        self.last_sequence = Some(sequence);
    }

    /// Notes the ticks of the clock, if all stamps are on them, and says so.
    pub fn note_ticks(&self, recorder: &mut Recorder) -> bool {
        let ticks = self.on_ticks.iter().zip(TICKS_NS);
        let tick = ticks.filter(|(on, _)| **on).map(|(_, tick)| tick).next();
        if let (Some(tick), Some((origin, ..))) = (tick, self.first)
            && self.above_zero >= FEWEST_TICKS
        {
            recorder.note(origin, &notes::TICK_CLOCK, || {
                format!("{} ms", tick / 1_000_000)
            });
            return true;
        }
        false
    }

    /// Notes what was counted.
    pub fn finish(self, recorder: &mut Recorder) {
        self.records_lost.note(recorder, &notes::RECORDS_LOST);
        self.backward.note(recorder, &notes::BACKWARD_STEP);
        // One line at zero is where the clock begins, not a stretch.
        if self.zero.count() > 1 {
            self.zero.note(recorder, &notes::ZERO_STAMP);
        }
    }
}
