//! The clocks that traces are stamped by (`Documentation/trace/ftrace.rst`,
//! `kernel/trace/trace.c`), as clocks of a record.

use super::notes::{CLOCK_NOT_TIME, RELATIVE_STAMPS, UNKNOWN_CLOCK};
use record::{ClockId, ClockKind, NoteKind, Recorder};

/// How a trace's stamps become nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// They are.
    Nanoseconds,
    /// Each counts so many.
    Times(u64),
    /// Ticks: `ticks * mult >> shift`.
    Ticks {
        /// The factor.
        mult: u64,
        /// The shift.
        shift: u32,
    },
}

impl Scale {
    /// A stamp as nanoseconds.
    #[inline]
    pub(super) fn apply(self, stamp: u64) -> i64 {
        let ns = match self {
            Self::Nanoseconds => return i64::try_from(stamp).unwrap_or(i64::MAX),
            Self::Times(factor) => u128::from(stamp) * u128::from(factor),
            Self::Ticks { mult, shift } => (u128::from(stamp) * u128::from(mult)) >> shift,
        };
        i64::try_from(ns).unwrap_or(i64::MAX)
    }
}

/// A trace's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct TraceClock {
    /// The record's clock.
    pub id: ClockId,
    /// How stamps become nanoseconds on it.
    pub scale: Scale,
    /// What must be said of it.
    pub note: Option<&'static NoteKind>,
}

/// The clock that the kernel stamps by unless it is told otherwise.
pub(super) const USUAL: &[u8] = b"local";

/// What stands for the clock of stamps in ticks that say nothing of it.
pub(super) const TICKS: &[u8] = b"(ticks)";

/// What stands for the clock of stamps that count from the trace's own start.
pub(super) const RELATIVE: &[u8] = b"(relative)";

/// The clock of this name; `tsc` is how its ticks become nanoseconds, where
/// the trace says it.
///
/// `global` and `perf` are the clock of kernel messages itself: both read
/// `local_clock()`. `mono` and `boot` are `CLOCK_MONOTONIC` and
/// `CLOCK_BOOTTIME`, `x86-tsc` is the processor's counter. `local` is
/// `sched_clock()`, which the clock of messages is made of; on x86 the two are
/// apart by a few milliseconds, which the kernel's log says when it marks its
/// clock stable. `uptime` counts hundredths of a second; `counter` counts
/// events.
pub(super) fn clock(name: &[u8], tsc: Option<Scale>, recorder: &mut Recorder) -> TraceClock {
    let (name, kind, step, scale, note) = match name {
        b"local" => (
            "sched-clock",
            ClockKind::Printk,
            1,
            Scale::Nanoseconds,
            None,
        ),
        b"global" | b"perf" => ("printk", ClockKind::Printk, 1, Scale::Nanoseconds, None),
        b"mono" => (
            "monotonic",
            ClockKind::Monotonic,
            1,
            Scale::Nanoseconds,
            None,
        ),
        b"boot" => (
            "boottime",
            ClockKind::Monotonic,
            1,
            Scale::Nanoseconds,
            None,
        ),
        b"mono_raw" => (
            "monotonic-raw",
            ClockKind::Monotonic,
            1,
            Scale::Nanoseconds,
            None,
        ),
        b"tai" => ("tai", ClockKind::Monotonic, 1, Scale::Nanoseconds, None),
        b"uptime" => {
            let tick = 10_000_000;
            (
                "uptime",
                ClockKind::Monotonic,
                tick,
                Scale::Times(tick),
                None,
            )
        }
        b"counter" => {
            let note = Some(&CLOCK_NOT_TIME);
            (
                "trace-events",
                ClockKind::Monotonic,
                1,
                Scale::Nanoseconds,
                note,
            )
        }
        b"x86-tsc" | b"tsc2nsec" => match tsc.or_else(|| counter_scale(recorder)) {
            Some(scale) => ("counter", ClockKind::Counter, 1, scale, None),
            None => {
                let note = Some(&CLOCK_NOT_TIME);
                (
                    "trace-ticks",
                    ClockKind::Monotonic,
                    1,
                    Scale::Nanoseconds,
                    note,
                )
            }
        },
        TICKS => {
            let note = Some(&CLOCK_NOT_TIME);
            (
                "trace-ticks",
                ClockKind::Monotonic,
                1,
                Scale::Nanoseconds,
                note,
            )
        }
        RELATIVE => {
            let note = Some(&RELATIVE_STAMPS);
            (
                "trace-start",
                ClockKind::Monotonic,
                1_000,
                Scale::Nanoseconds,
                note,
            )
        }
        _ => {
            let note = Some(&UNKNOWN_CLOCK);
            ("trace", ClockKind::Monotonic, 1, Scale::Nanoseconds, note)
        }
    };
    TraceClock {
        id: recorder.clock(name, kind, step),
        scale,
        note,
    }
}

/// How the counter's ticks become nanoseconds, if another source said its speed.
fn counter_scale(recorder: &Recorder) -> Option<Scale> {
    let hz = recorder.rate("counter")?;
    let shift = 32;
    let mult = (1_000_000_000_u64 << shift).checked_div(hz)?;
    Some(Scale::Ticks { mult, shift })
}

#[cfg(test)]
mod tests {
    use super::{Scale, clock};
    use record::Recorder;

    #[test]
    fn ticks_become_nanoseconds() {
        assert_eq!(Scale::Nanoseconds.apply(u64::MAX), i64::MAX);
        assert_eq!(Scale::Times(10_000_000).apply(25_188), 251_880_000_000);
        let half = Scale::Ticks {
            mult: 1 << 31,
            shift: 32,
        };
        assert_eq!(half.apply(3_000_000_000), 1_500_000_000);
    }

    #[test]
    fn a_counter_of_known_speed_is_the_records_counter() {
        let mut rec = Recorder::new();
        assert!(clock(b"x86-tsc", None, &mut rec).note.is_some());
        rec.set_rate("counter", 2_000_000_000);
        let found = clock(b"x86-tsc", None, &mut rec);
        assert!(found.note.is_none());
        assert_eq!(found.scale.apply(2_000_000_000), 1_000_000_000);
    }
}
