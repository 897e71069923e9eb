//! Busy waits are told from sleeps in a function trace.
#![allow(clippy::unwrap_used, reason = "tests")]

use firstlight_analysis::{SystemFacts, advice, phases};
use record::{
    CallId, ClockKind, Nanos, Origin, Phase, Process, Record, Recorder, Slice, TaskState,
};

/// A trace of one task: each call with its callers before it, how often, how long.
fn trace(calls: &[(&[&str], u64, i64)]) -> Record {
    scheduled(calls, &[])
}

/// The same, and what tasks did: the number, the name, and from when to when in milliseconds.
fn scheduled(calls: &[(&[&str], u64, i64)], slices: &[(u32, &str, TaskState, i64, i64)]) -> Record {
    let mut recorder = Recorder::new();
    let source = recorder.source("trace.txt", "ftrace");
    let origin = Origin { source, offset: 0 };
    let clock = recorder.clock("printk", ClockKind::Printk, 1_000);
    recorder.mark(clock, "kernel-start", 0, Some(Phase::Kernel), origin);
    recorder.mark(clock, "startup-finished", 5_000_000_000, None, origin);
    for (stack, count, ms) in calls {
        let task = recorder.name("swapper");
        let names: Vec<_> = stack.iter().map(|n| recorder.name(n)).collect();
        let tree = recorder.functions();
        let mut at: CallId = tree.node(None, task);
        for name in names {
            at = tree.node(Some(at), name);
        }
        tree.add(at, *count, Nanos::from_millis(*ms));
    }
    for &(pid, name, state, start, end) in slices {
        let name = recorder.name(name);
        let at = Nanos::from_millis(start);
        recorder.process(Process {
            pid,
            parent: None,
            name,
            command: None,
            start: None,
            end: None,
            first_seen: at,
            last_seen: at,
            user: None,
            system: None,
            kernel_thread: false,
            exit: None,
            origin,
            clock,
        });
        recorder.slice(Slice {
            pid,
            state,
            start: at,
            end: Nanos::from_millis(end),
            busy: None,
            cpu: (state == TaskState::Running).then_some(0),
            origin,
            clock,
        });
    }
    recorder.finish()
}

#[test]
fn a_spin_saves_the_share_of_it_in_which_programs_waited() {
    let calls: &[(&[&str], u64, i64)] = &[(&["probe", "mdelay"], 1, 100)];
    let spins = (9, "swapper", TaskState::Running, 1_000, 1_200);
    let expected = |others: &[(u32, &str, TaskState, i64, i64)]| {
        let slices: Vec<_> = std::iter::once(spins)
            .chain(others.iter().copied())
            .collect();
        let record = scheduled(calls, &slices);
        let found = advice(&record, &phases(&record), &SystemFacts::default()).findings;
        let found = found.into_iter().find(|f| f.id == "busy-waits").unwrap();
        found.expected.0 / 1_000_000
    };
    // Nobody wanted the processor.
    assert_eq!(expected(&[]), 0);
    // Another program could run for 150 ms of the 200 that the task ran.
    assert_eq!(
        expected(&[(4, "app", TaskState::Runnable, 1_050, 1_300)]),
        75
    );
    assert_eq!(
        expected(&[(4, "app", TaskState::Sleeping, 1_050, 1_300)]),
        0
    );
}

#[test]
fn a_spin_is_found_with_its_caller_and_a_sleep_is_not() {
    let record = trace(&[
        (&["ide_probe"], 1, 900),
        (&["ide_probe", "ide_delay_50ms"], 5, 250),
        (&["ide_probe", "ide_delay_50ms", "__const_udelay"], 250, 249),
        (&["ide_probe", "msleep"], 2, 600),
        (&["uart_init", "mdelay"], 1, 10),
    ]);
    let found = advice(&record, &phases(&record), &SystemFacts::default()).findings;
    let found = found.iter().find(|f| f.id == "busy-waits").unwrap();
    // The inner spin is in the outer one.
    assert_eq!(
        found.title,
        "Drivers keep the CPU busy for 260.0 ms while they wait"
    );
    assert_eq!(found.expected, Nanos::from_millis(130));
    assert_eq!(
        found.evidence[0].text,
        "ide_probe -> ide_delay_50ms: 5 calls, 250.0 ms"
    );
    assert!(found.why.contains("another 600.0 ms"), "{}", found.why);
    assert_eq!(found.names, ["ide_probe", "uart_init"]);
}

#[test]
fn sleeps_alone_are_no_finding() {
    let record = trace(&[(&["probe", "msleep"], 2, 600), (&["probe", "udelay"], 9, 1)]);
    let found = advice(&record, &phases(&record), &SystemFacts::default()).findings;
    assert!(found.iter().all(|f| f.id != "busy-waits"), "{found:?}");
}
