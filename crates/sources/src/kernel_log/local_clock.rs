//! How the clock that stamps kernel messages runs against the raw one.
//!
//! printk stamps with `local_clock()`. Where the raw scheduler clock may turn
//! out unstable, which is on x86, that clock changes what it follows
//! (kernel/sched/clock.c, `start_kernel` in init/main.c):
//!
//! 1. Up to `sched_clock_init()`, right before the line `Calibrating delay
//!    loop`, it is the raw scheduler clock: the processor's counter.
//! 2. Then it follows the kernel's time, which counts timer ticks. A machine
//!    that delivers ticks twice, or loses some, makes it run fast or slow.
//! 3. At `Switched to clocksource` the kernel's time goes over to a counter.
//!    What has passed since the last tick is dropped.
//! 4. At `sched_clock: Marking stable (A, B)->(C, D)` it is the raw clock
//!    again, and D nanoseconds ahead of it for ever after.
//!
//! So the log itself says by how much the stamps are ahead, and between which
//! of its lines that came about. More is known of the ticks of stretch 2:
//!
//! - The stamps of ticks are whole ticks after the start of the stretch.
//! - Between two ticks the clock runs at the true rate, for one tick at most;
//!   then it waits. It is never set back: it waits for what was dropped, too.
//! - The first timer's ticks may come twice, or be lost. Then the processor's
//!   own timer takes over (`smpboot: CPU0:`), which is set by the counter. It
//!   begins anywhere between two ticks, and so part of one is lost.
//!
//! Elsewhere `local_clock()` is the raw clock itself. Such a kernel says
//! `sched_clock: 56 bits at 62MHz` (kernel/time/sched_clock.c) and never marks
//! its clock stable, which only one that may turn out unstable has to.

use super::at::At;
use super::call::Function;
use super::notes::{KERNEL_CLOCK_CORRECTED, KERNEL_CLOCK_UNEVEN};
use crate::text::number;
use memchr::{memmem, memrchr};
use record::{ClockKind, CourseNotes, KernelCourse, Recorder};

/// A smaller gain or loss is not worth a note.
const WORTH_A_NOTE_NS: u64 = 1_000_000;

/// The step of the stamps.
const STEP_NS: i64 = 1_000;

/// Stamps are cut to whole steps.
const STEP_ERROR_NS: u64 = STEP_NS.unsigned_abs();

/// The raw scheduler clock, which stamps traces.
const RAW: &str = "sched-clock";

/// What the log says of the clock that stamps it.
#[derive(Debug, Default)]
pub(super) struct LocalClock {
    /// From here the clock follows timer ticks.
    ticks: Option<At>,
    /// The length of a tick.
    tick_ns: Option<i64>,
    /// From here the ticks are those of the processor's own timer.
    own_timer: Option<At>,
    /// The call that switches the clock source.
    switching: Option<At>,
    /// The line that says so, when it is done.
    switch: Option<At>,
    /// Where the clock is called stable, and how far it is ahead there.
    stable: Option<(At, i64)>,
    /// Where the raw clock is given its counter by the generic code.
    generic: Option<At>,
}

impl LocalClock {
    /// Looks at a line that the kernel's clock stamped.
    #[inline]
    pub(super) fn line(&mut self, at: At, text: &[u8]) {
        match text.first() {
            Some(b'C') => self.calibration(at, text),
            Some(b'c') if text.starts_with(b"clocksource: Switched to ") => {
                self.switch.get_or_insert(at);
            }
            Some(b's') if text.starts_with(b"smpboot: CPU0: ") => {
                self.own_timer.get_or_insert(at);
            }
            Some(b's') => {
                if let Some(ahead_ns) = marking_stable(text) {
                    self.stable.get_or_insert((at, ahead_ns));
                } else if is_generic(text) {
                    self.generic.get_or_insert(at);
                }
            }
            _ => {}
        }
    }

    /// Looks at the line of an initcall's start.
    #[inline]
    pub(super) fn calling(&mut self, at: At, function: Function<'_>) {
        // The switch is the first thing it does. The line that tells of it
        // comes when all is done: milliseconds later on a slow processor.
        if self.switching.is_none() && function.symbol() == b"clocksource_done_booting" {
            self.switching = Some(at);
        }
    }

    fn calibration(&mut self, at: At, text: &[u8]) {
        if self.ticks.is_none() && text.starts_with(b"Calibrating delay loop") {
            self.ticks = Some(at);
            self.tick_ns = tick_ns(text);
        }
    }

    /// Says how the stamps run beside the raw clock. Readings of a counter, wherever they
    /// come from, decide whether they can be set right.
    pub(super) fn finish(self, recorder: &mut Recorder) {
        if let (Some(at), None) = (self.generic, self.stable) {
            let raw = recorder.clock(RAW, ClockKind::Printk, 1);
            recorder.relate(
                (at.clock, at.ns),
                (raw, at.ns),
                STEP_ERROR_NS,
                Some(at.origin),
            );
        }
        let uneven = self.stable.filter(|s| s.1.unsigned_abs() > WORTH_A_NOTE_NS);
        let said = uneven.map(|(stable, ahead_ns)| (stable, self.said(ahead_ns, stable)));
        match (self.course(), said) {
            (Some(course), said) => {
                let notes: CourseNotes =
                    said.map(|(_, said)| (&KERNEL_CLOCK_CORRECTED, &KERNEL_CLOCK_UNEVEN, said));
                recorder.kernel_course(course, notes);
            }
            (None, Some((stable, said))) => {
                recorder.note(stable.origin, &KERNEL_CLOCK_UNEVEN, || said);
            }
            (None, None) => {}
        }
    }

    /// `gained 138 ms between 0.181 s and 0.620 s`
    fn said(&self, ahead_ns: i64, stable: At) -> String {
        let done = if ahead_ns > 0 { "gained" } else { "lost" };
        let ms = (ahead_ns.unsigned_abs() + 500_000) / 1_000_000;
        let end = seconds(self.switch.unwrap_or(stable).ns);
        match self.ticks {
            Some(start) => format!("{done} {ms} ms between {} and {end}", seconds(start.ns)),
            None => format!("{done} {ms} ms before {end}"),
        }
    }

    /// Stamps and the raw clock side by side; `None` if lines are missing, or
    /// what they say cannot be.
    fn course(&self) -> Option<KernelCourse> {
        let (start, tick) = (self.ticks?, self.tick_ns?);
        let (switch, (stable, ahead)) = (self.switching.or(self.switch)?, self.stable?);
        if [switch, stable].iter().any(|at| at.clock != start.clock) {
            return None;
        }
        // Stamp and how far it is ahead of the raw clock.
        let mut gains = vec![(start.ns, 0)];
        let counted = switch.ns.checked_sub(start.ns).filter(|c| *c > 0)?;
        let dropped = counted.checked_rem(tick)?;
        let gained = ahead.checked_add(dropped)?;
        let mut error_ns = tick.unsigned_abs();
        match self.own_timer.filter(|at| at.clock == start.clock) {
            Some(own_timer) => {
                // Whole ticks, of which the change of timers takes back a part.
                let by_first = round_up(gained, tick)?;
                let lasted = own_timer.ns.checked_sub(start.ns)?;
                // Ticks that come twice double the rate. Where they did not,
                // it is not known when they did.
                let slack = (lasted / 2).checked_sub(by_first)?.unsigned_abs();
                error_ns = error_ns.saturating_add(slack.min(by_first.unsigned_abs()));
                gains.push((own_timer.ns, by_first));
                let waits = start.ns.checked_add(round_up(lasted, tick)?)?;
                gains.push((waits, by_first));
                gains.push((waits.checked_add(STEP_NS)?, gained));
            }
            None => error_ns = error_ns.saturating_add(gained.unsigned_abs()),
        }
        let waits = switch.ns.checked_sub(dropped)?.checked_add(tick)?;
        gains.push((waits, gained));
        gains.push((waits.checked_add(STEP_NS)?, ahead));
        gains.dedup();
        let points = gains
            .iter()
            .map(|(stamp, gain)| Some((*stamp, stamp.checked_sub(*gain)?)));
        let points: Vec<_> = points.collect::<Option<_>>()?;
        let later = points.iter().skip(1);
        let rises = |(a, b): (&(i64, i64), &(i64, i64))| a.0 < b.0 && a.1 < b.1;
        if !points.iter().zip(later).all(rises) {
            return None;
        }
        Some(KernelCourse {
            clock: start.clock,
            points,
            ahead,
            error_ns,
            origin: stable.origin,
        })
    }
}

/// The least multiple of `tick` that is not below `ns`.
fn round_up(ns: i64, tick: i64) -> Option<i64> {
    let over = ns.checked_rem_euclid(tick)?;
    if over == 0 {
        return Some(ns);
    }
    ns.checked_sub(over)?.checked_add(tick)
}

fn seconds(ns: i64) -> String {
    let ms = ns / 1_000_000 + i64::from(ns % 1_000_000 >= 500_000);
    format!("{}.{:03} s", ms / 1_000, ms % 1_000)
}

/// `... 1999.98 BogoMIPS (lpj=3999972)`: a BogoMIPS is half a million loops a
/// second, and lpj is loops per tick.
fn tick_ns(text: &[u8]) -> Option<i64> {
    let end = memmem::find(text, b" BogoMIPS (lpj=")?;
    let before = text.get(..end)?;
    let start = memrchr(b' ', before)?.checked_add(1)?;
    let (whole, rest) = number(before.get(start..)?)?;
    let Some((hundredths @ ..=99, [])) = number(rest.strip_prefix(b".")?) else {
        return None;
    };
    let bogomips_100 = whole.checked_mul(100)?.checked_add(hundredths)?;
    let (lpj, _) = number(text.get(end..)?.strip_prefix(b" BogoMIPS (lpj=")?)?;
    let loops = bogomips_100.checked_mul(5_000)?;
    let hz = loops.checked_add(lpj / 2)?.checked_div(lpj)?;
    let hz = i64::try_from(hz)
        .ok()
        .filter(|hz| (100..=1_000).contains(hz))?;
    Some(1_000_000_000 / hz)
}

/// The last number of `sched_clock: Marking stable (A, B)->(C, D)`. Printed in
/// this form since Linux 4.11.
fn marking_stable(text: &[u8]) -> Option<i64> {
    let numbers = text.strip_prefix(b"sched_clock: Marking stable (")?;
    let comma = memrchr(b',', numbers)?;
    let last = numbers.get(comma..)?.strip_prefix(b", ")?;
    let (negative, digits) = match last.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, last),
    };
    let (value, rest) = number(digits)?;
    let value = i64::try_from(value).ok().filter(|_| rest == b")")?;
    Some(if negative { -value } else { value })
}

/// `sched_clock: 56 bits at 62MHz, resolution 16ns, wraps every 4398046511096ns`.
/// Printed in this form since Linux 3.4.
fn is_generic(text: &[u8]) -> bool {
    let bits = text.strip_prefix(b"sched_clock: ").and_then(number);
    bits.is_some_and(|(_, rest)| rest.starts_with(b" bits at "))
}

#[cfg(test)]
mod tests {
    use super::super::KernelLog;
    use super::{is_generic, marking_stable, tick_ns};
    use crate::source::{Input, Source};
    use crate::text::lines;
    use record::{ClockKind, Origin, Record, Recorder};

    /// A machine with ticks of 4 ms from 100 ms on, each of them twice up to
    /// 200 ms, which gains 48 ms. The first tick of the processor's own timer
    /// comes 1 ms late, and at the switch the last one is 2 ms old.
    const GAINED: &str = "\
[    0.000000] Linux version 6.1.0
[    0.050000] early
[    0.100000] Calibrating delay loop (skipped), value calculated using timer frequency.. 1999.98 BogoMIPS (lpj=3999972)
[    0.149000] twice
[    0.198000] smpboot: CPU0: x
[    0.200000] waiting for a tick
[    0.200001] after the tick
[    0.250000] once
[    0.302000] clocksource: Switched to clocksource tsc-early
[    0.304000] waiting
[    0.304001] after the wait
[    0.400000] sched_clock: Marking stable (405000000, -5000000)->(355000000, 45000000)
[    0.500000] late
";
    const READING: &str =
        "[    1.045000] firstlight: clocks counter=6000 hz=1000 monotonic_ns=1 boottime_ns=1\n";

    fn read(log: &str) -> Record {
        let mut recorder = Recorder::new();
        let input = Input {
            name: "kmsg",
            bytes: log.as_bytes(),
        };
        KernelLog.read(input, &mut recorder);
        recorder.finish()
    }

    /// What a line's time moved to, in microseconds after the first line's.
    fn moved(record: &Record, stamp_us: i64) -> i64 {
        let at = |i: usize| record.messages().get(i).and_then(|m| m.at).unwrap().get();
        let stamp = |line: &[u8]| {
            let text = std::str::from_utf8(line.get(5..13).unwrap()).unwrap();
            text.replace('.', "").trim().parse::<i64>().unwrap()
        };
        let mut stamps = lines(GAINED.as_bytes()).map(|l| stamp(l.bytes));
        let line = stamps.position(|s| s == stamp_us).unwrap();
        (at(line) - at(0)) / 1_000
    }

    #[test]
    fn with_a_counter_the_stamps_are_set_right() {
        let record = read(&(GAINED.to_owned() + READING));
        assert_eq!(record.clock().map(|c| c.kind), Some(ClockKind::Counter));
        for (stamp, raw) in [
            (50_000, 50_000),
            (100_000, 100_000),
            (149_000, 125_000),
            (198_000, 150_000),
            (200_000, 152_000),
            (200_001, 153_001),
            (250_000, 203_000),
            (302_000, 255_000),
            (304_000, 257_000),
            (304_001, 259_001),
            (400_000, 355_000),
            (500_000, 455_000),
        ] {
            assert_eq!(moved(&record, stamp), raw, "{stamp}");
        }
        let printk = record.clocks().iter().find(|c| c.name == "printk");
        assert_eq!(printk.and_then(|c| c.error_ns), Some(5_010_000));
        let notes: Vec<_> = record.notes().iter().map(|n| n.kind.name).collect();
        assert!(notes.contains(&"kernel_clock_corrected"), "{notes:?}");
    }

    #[test]
    fn without_a_counter_the_stamps_stay_and_a_note_doubts_them() {
        let record = read(GAINED);
        assert_eq!(moved(&record, 500_000), 500_000);
        let mut notes = record.notes().iter();
        let note = notes
            .find(|n| n.kind.name == "kernel_clock_uneven")
            .unwrap();
        assert_eq!(note.detail, "gained 45 ms between 0.100 s and 0.302 s");
    }

    #[test]
    fn a_loss_is_laid_to_the_change_of_timers() {
        // 3 ms, 2 of them at the switch.
        let lost = GAINED.replace("45000000)", "-3000000)");
        let record = read(&(lost.clone() + READING));
        for (stamp, raw) in [
            (100_000, 100_000),
            (200_000, 200_000),
            (200_001, 201_001),
            (304_000, 305_000),
            (304_001, 307_001),
            (500_000, 503_000),
        ] {
            assert_eq!(moved(&record, stamp), raw, "{stamp}");
        }
        let record = read(&lost);
        let said = |n: &&record::Note| n.detail == "lost 3 ms between 0.100 s and 0.302 s";
        assert!(record.notes().iter().any(|n| said(&n)));
    }

    #[test]
    fn the_call_of_the_switch_is_nearer_to_it_than_its_line() {
        let call = "[    0.301000] calling  clocksource_done_booting+0x0/0x46 @ 1\n";
        let with_call = GAINED.replace("[    0.302000]", &format!("{call}[    0.303500]"));
        let record = read(&(with_call + READING));
        // 1 ms was dropped, not 3.5.
        assert_eq!(moved(&record, 250_000), 204_000);
    }

    #[test]
    fn without_a_timer_of_its_own_the_gain_is_spread_evenly() {
        let one = GAINED.replace("smpboot: CPU0:", "CPU0:");
        let record = read(&(one + READING));
        // 47 ms over the 204 ms up to the tick after the switch.
        assert_eq!(moved(&record, 149_000), 137_710);
        assert_eq!(moved(&record, 304_000), 257_000);
        let printk = record.clocks().iter().find(|c| c.name == "printk");
        assert_eq!(printk.and_then(|c| c.error_ns), Some(51_010_000));
    }

    #[test]
    fn what_cannot_be_is_not_believed() {
        // Each leaves the stamps as they are, at rate one.
        let more_than_there_was = GAINED.replace("45000000)", "450000000)");
        let no_switch = GAINED.replace("Switched to", "Switching to");
        let no_offset = GAINED.replace("45000000)", "48000000");
        let no_start = GAINED.replace("Calibrating", "calibrating");
        for log in [more_than_there_was, no_switch, no_offset, no_start] {
            let record = read(&(log + READING));
            assert_eq!(record.clock().map(|c| c.kind), Some(ClockKind::Counter));
            assert_eq!(moved(&record, 500_000), 500_000);
        }
        // A reading in the middle of the stretch says nothing of its ends.
        let early = GAINED.replace("early", READING.trim_end().get(15..).unwrap());
        assert_eq!(moved(&read(&early), 500_000), 500_000);
    }

    #[test]
    fn a_clock_that_cannot_turn_unstable_is_the_raw_one() {
        let says = "[    0.000000] sched_clock: 57 bits at 63MHz, resolution 16ns\n";
        let bound = |log: &str| {
            let mut recorder = Recorder::new();
            let bytes = log.as_bytes();
            KernelLog.read(
                Input {
                    name: "kmsg",
                    bytes,
                },
                &mut recorder,
            );
            let trace = recorder.clock("sched-clock", ClockKind::Printk, 1);
            let source = recorder.source("trace", "test");
            let origin = Origin { source, offset: 0 };
            recorder.mark(trace, "traced", 900, None, origin);
            let record = recorder.finish();
            let clock = record.clocks().iter().find(|c| c.name == "sched-clock");
            clock.and_then(|c| c.error_ns)
        };
        assert_eq!(bound(says), Some(1_000));
        // Taken as equal, where nothing says so.
        let stable = "[    0.400000] sched_clock: Marking stable (5, 0)->(5, 0)\n";
        for log in ["[    0.000000] x\n", &format!("{says}{stable}")] {
            assert_eq!(bound(log), Some(110_000_000));
        }
        assert!(!is_generic(b"sched_clock: Marking unstable"));
        assert!(!is_generic(b"sched_clock: 57 bits"));
    }

    #[test]
    fn the_tick_is_in_the_calibration_line() {
        for (line, tick) in [
            ("x.. 1999.98 BogoMIPS (lpj=3999972)", Some(4_000_000)),
            ("x... 4799.99 BogoMIPS (lpj=2399998)", Some(1_000_000)),
            ("x 5000.00 BogoMIPS (lpj=8330000)", Some(3_333_333)),
            ("x 38.40 BogoMIPS (lpj=192000)", Some(10_000_000)),
            ("x 38.40 BogoMIPS (lpj=0)", None),
            ("x 38.40 BogoMIPS (lpj=1)", None),
            ("x 38.405 BogoMIPS (lpj=192000)", None),
            ("x 99999999999999999999.99 BogoMIPS (lpj=1)", None),
            ("Calibrating delay loop...", None),
        ] {
            assert_eq!(tick_ns(line.as_bytes()), tick, "{line}");
        }
    }

    #[test]
    fn the_offset_is_the_last_number() {
        for (numbers, ahead) in [
            (
                "(781070980, -11510660)->(631729716, 137830604)",
                Some(137_830_604),
            ),
            ("(1, 2)->(3, -4)", Some(-4)),
            ("(1, 2)->(3, 4", None),
            ("(1, 2)->(3, 99999999999999999999)", None),
            ("(", None),
        ] {
            let line = format!("sched_clock: Marking stable {numbers}");
            assert_eq!(marking_stable(line.as_bytes()), ahead, "{line}");
        }
    }
}
