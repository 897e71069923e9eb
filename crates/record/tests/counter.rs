//! The time before the kernel's clock, by readings of a counter.

use firstlight_record::{
    ClockId, ClockKind, CounterDoubt, CounterRate, CounterReading, Origin, Phase, Record, Recorder,
    mark,
};
use proptest::prelude::*;

const MS: i64 = 1_000_000;

fn reading(ticks: u64, stamp: (ClockId, i64), origin: Origin) -> CounterReading {
    CounterReading {
        ticks,
        hz: None,
        stamp: Some(stamp),
        monotonic_ns: stamp.1,
        slept_ns: 0,
        error_ns: 50,
        origin,
    }
}

/// A log whose clock starts `before_ns` after a counter of `hz`, read once at `at_ns`.
fn boot(
    hz: u64,
    before_ns: i64,
    at_ns: i64,
    doubt: Option<CounterDoubt>,
    rate_first: bool,
) -> Record {
    let mut recorder = Recorder::new();
    let source = recorder.source("dmesg", "kernel-log");
    let origin = Origin { source, offset: 0 };
    let printk = recorder.clock("printk", ClockKind::Printk, 1_000);
    let rate = CounterRate { hz, error_ppb: 0 };
    if rate_first {
        recorder.counter_rate(rate);
    }
    recorder.mark(
        printk,
        mark::KERNEL_CLOCK_START,
        0,
        Some(Phase::Kernel),
        origin,
    );
    recorder.mark(printk, mark::FIRST_LIGHT, at_ns, None, origin);
    let ticks = i128::from(before_ns + at_ns) * i128::from(hz) / 1_000_000_000;
    let ticks = u64::try_from(ticks).unwrap_or(0);
    recorder.counter_reading(reading(ticks, (printk, at_ns), origin));
    if let Some(doubt) = doubt {
        recorder.counter_doubt(doubt, origin);
    }
    if !rate_first {
        recorder.counter_rate(rate);
    }
    recorder.finish()
}

proptest! {
    #[test]
    fn the_bound_holds_the_truth_whatever_the_rate(
        hz in 1_000_000_u64..4_000_000_000,
        before in 0_i64..3_000_000_000_000,
        at in 0_i64..600_000_000_000,
        first in any::<bool>(),
    ) {
        let record = boot(hz, before, at, None, first);
        let start = record.kernel_clock().unwrap();
        prop_assert!(start.after_ns.abs_diff(before) <= start.error_ns);
        prop_assert_eq!(record.zero(), mark::COUNTER_START);
        // All other times keep their distances.
        let of = |name: &str| record.mark(name).unwrap().at.get();
        prop_assert_eq!(of(mark::FIRST_LIGHT) - of(mark::KERNEL_CLOCK_START), at);
        prop_assert_eq!(of(mark::KERNEL_CLOCK_START), start.after_ns);
    }
}

#[test]
fn a_counter_that_may_have_been_set_says_nothing() {
    for doubt in [
        CounterDoubt::Suspended,
        CounterDoubt::Kexec,
        CounterDoubt::Hypervisor,
        CounterDoubt::Unstable,
    ] {
        let record = boot(19_200_000, 1_000 * MS, 5_000 * MS, Some(doubt), true);
        assert_eq!(record.kernel_clock(), None);
        assert!(record.mark(mark::COUNTER_START).is_none());
        assert_eq!(record.zero(), mark::KERNEL_CLOCK_START);
        let noted = |n: &firstlight_record::Note| n.kind.name == "counter_start_unknown";
        assert!(record.notes().iter().any(noted));
    }
    // Set back after the kernel had begun, and far too long.
    for before in [-1_000 * MS, 4_000_000 * MS] {
        let record = boot(19_200_000, before, 5_000 * MS, None, true);
        assert_eq!(record.kernel_clock(), None, "{before}");
    }
}

#[test]
fn two_lines_bound_the_stamp_from_both_sides() {
    let mut recorder = Recorder::new();
    let source = recorder.source("dmesg", "kernel-log");
    let origin = |offset| Origin { source, offset };
    let printk = recorder.clock("printk", ClockKind::Printk, 1_000);
    recorder.counter_rate(CounterRate {
        hz: 1_000_000_000,
        error_ppb: 0,
    });
    recorder.mark(
        printk,
        mark::KERNEL_CLOCK_START,
        0,
        Some(Phase::Kernel),
        origin(0),
    );
    // The first line waited for 3 ms between its reading and its stamp.
    recorder.counter_reading(reading(7_000_000_000, (printk, 2_003 * MS), origin(1)));
    recorder.counter_reading(reading(7_004_000_000, (printk, 2_004 * MS), origin(2)));
    let start = recorder.finish().kernel_clock().unwrap();
    assert_eq!(start.after_ns, 7_002 * MS - 2_003 * MS);
    assert!(
        (2_000_000..2_010_000).contains(&start.error_ns),
        "{}",
        start.error_ns
    );
    assert!(start.after_ns.abs_diff(5_000 * MS) <= start.error_ns);
}

#[test]
fn a_reading_of_unknown_rate_is_noted() {
    let mut recorder = Recorder::new();
    let source = recorder.source("dmesg", "kernel-log");
    let origin = Origin { source, offset: 0 };
    let printk = recorder.clock("printk", ClockKind::Printk, 1_000);
    recorder.counter_reading(reading(5, (printk, 5), origin));
    let record = recorder.finish();
    assert_eq!(record.kernel_clock(), None);
    assert_eq!(record.notes()[0].kind.name, "counter_rate_unknown");
}

#[test]
fn a_reading_without_a_stamp_has_the_bound_of_the_two_kernel_clocks() {
    let mut recorder = Recorder::new();
    let source = recorder.source("dmesg", "kernel-log");
    let origin = Origin { source, offset: 0 };
    let printk = recorder.clock("printk", ClockKind::Printk, 1_000);
    recorder.mark(
        printk,
        mark::KERNEL_CLOCK_START,
        0,
        Some(Phase::Kernel),
        origin,
    );
    recorder.counter_rate(CounterRate {
        hz: 1_000_000_000,
        error_ppb: 0,
    });
    let mut unstamped = reading(7_000_000_000, (printk, 2_000 * MS), origin);
    unstamped.stamp = None;
    recorder.counter_reading(unstamped);
    let start = recorder.finish().kernel_clock().unwrap();
    assert_eq!(start.after_ns, 5_000 * MS);
    assert!((110_000_000..111_000_000).contains(&start.error_ns));
}
