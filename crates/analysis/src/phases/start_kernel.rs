//! What a kernel does before its first initcalls, by the lines that it prints on the way.

use super::stage::{Stage, whole};
use record::{Nanos, Record};
use std::collections::BTreeSet;

/// The last stage: initcalls, which have names of their own.
pub const INITCALL_STAGE: &str = "initcalls";

/// The first stage: it has begun before the first line.
const FIRST: &str = "architecture";

/// How the first line of a log that is whole begins.
const BANNERS: [&str; 2] = ["Linux version ", "Booting Linux on physical CPU"];

/// What follows the last initcall: the memory of the initcalls is freed, and the kernel's own
/// is protected and checked (`free_initmem` and `mark_readonly` in `init/main.c`).
pub const PROTECTION_STAGE: &str = "memory protection";

/// The lines that begin it.
const PROTECTION: [&str; 3] = [
    "Freeing unused decrypted memory",
    "Freeing unused kernel image (initmem) memory",
    "Freeing unused kernel memory",
];

/// The test of all memory that `memtest=` asks for, and how its further lines begin
/// (`mm/memtest.c`).
const MEMORY_TEST: (&str, &str) = ("memory test", "early_memtest: # of tests");
const MEMORY_TESTED: (&str, &str) = ("  0x", " pattern ");

/// A line that begins a stage: how it begins, and what else it contains.
type Cue = (&'static str, &'static str);

/// The stages, and the lines that begin them. The lines are those of the functions that
/// `start_kernel` and `kernel_init_freeable` in `init/main.c` call one after another:
/// `build_all_zonelists` and `mm_init`, `sched_init` and `rcu_init`, `init_IRQ` and
/// `time_init`, `console_init` and `late_time_init`, `calibrate_delay`, the check of the
/// processor, `pid_idr_init` and what follows, `smp_prepare_cpus` and `smp_init`,
/// `do_basic_setup`.
const STAGES: [(&str, &[Cue]); 9] = [
    (
        "memory",
        &[("Fallback order for Node ", ""), ("Built ", "zonelists")],
    ),
    (
        "scheduler",
        &[
            ("SLUB: ", "HWalign"),
            ("SLUB: Genslabs", ""),
            ("rcu: Preemptible hierarchical RCU", ""),
            ("rcu: Hierarchical RCU", ""),
            ("Preemptible hierarchical RCU", ""),
            ("Hierarchical RCU", ""),
        ],
    ),
    ("interrupts", &[("NR_IRQS", "")]),
    (
        "console",
        &[
            ("Console: ", ""),
            ("printk: console [", ""),
            ("printk: legacy console [", ""),
            ("ACPI: Core revision", ""),
        ],
    ),
    ("delay loop", &[("Calibrating delay loop", "")]),
    (
        "CPU checks",
        &[
            ("process: using ", ""),
            ("Last level iTLB", ""),
            ("Spectre V", ""),
            ("x86/fpu: ", ""),
            ("CPU: Testing write buffer", ""),
        ],
    ),
    ("security", &[("pid_max: ", "")]),
    (
        "processors",
        &[
            ("Mountpoint-cache hash table", ""),
            ("Freeing SMP alternatives", ""),
            ("smpboot: CPU0", ""),
            ("smp: Bringing up", ""),
        ],
    ),
    (
        INITCALL_STAGE,
        &[
            ("devtmpfs: initialized", ""),
            ("clocksource: jiffies: ", ""),
            ("NET: Registered ", ""),
        ],
    ),
];

/// So many stages are known at least, or none is told: a log that lacks lines would give
/// their time to others.
const LEAST: usize = 4;

/// A stage that is shorter than this part of the kernel belongs to the one before it. Four of
/// them in a row are less than a hundredth of it.
const PARTS: i64 = 500;

/// The stages of the kernel from `start` to `end`, without a gap between them; none if the
/// record has no log of it from its first line on.
pub fn stages(record: &Record, start: Nanos, end: Nanos) -> Vec<Stage> {
    let lines = record.messages().iter();
    let lines = lines.filter_map(|m| Some((m.at?, record.text(m))));
    let lines = lines.skip_while(|(_, text)| !BANNERS.iter().any(|b| text.starts_with(b)));
    let mut begun: Vec<(&str, Nanos)> = Vec::new();
    for (at, text) in lines.take_while(|(at, _)| *at < end) {
        if begun.is_empty() {
            begun.push((FIRST, start));
        }
        let last = begun.last().map_or(FIRST, |(last, _)| *last);
        let Some(name) = begins(text, last) else {
            continue;
        };
        if name != last {
            begun.push((name, at.max(start)));
        }
        if name == PROTECTION_STAGE {
            break;
        }
    }
    let kinds: BTreeSet<&str> = begun.iter().map(|(name, _)| *name).collect();
    if kinds.len() < LEAST || !kinds.contains(INITCALL_STAGE) {
        return Vec::new();
    }
    whole(&begun, end, Nanos((end - start).0 / PARTS))
}

/// The stage that a line begins, in the stage `last`.
fn begins(text: &str, last: &str) -> Option<&'static str> {
    if last == INITCALL_STAGE {
        let is_last = PROTECTION.iter().any(|head| text.starts_with(head));
        return is_last.then_some(PROTECTION_STAGE);
    }
    let (test, head) = MEMORY_TEST;
    if text.starts_with(head) {
        return Some(test);
    }
    let cue = |(head, part): &Cue| text.starts_with(head) && text.contains(part);
    let stage = STAGES.iter().find(|(_, cues)| cues.iter().any(cue));
    match stage {
        Some((name, _)) => Some(name),
        // The test is over when something else is said.
        None if last == test && !cue(&MEMORY_TESTED) => Some(FIRST),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::stages;
    use record::{ClockKind, Nanos, Origin, Record, Recorder};

    fn log(lines: &[(i64, &str)]) -> Record {
        let mut recorder = Recorder::new();
        let source = recorder.source("x.log", "kernel-log");
        let clock = recorder.clock("printk", ClockKind::Printk, 1_000);
        for (offset, (ms, text)) in (0..).zip(lines) {
            let origin = Origin { source, offset };
            recorder.message(clock, Some(ms * 1_000_000), None, text, origin);
        }
        recorder.finish()
    }

    fn told(lines: &[(i64, &str)]) -> Vec<(String, i64, i64)> {
        let record = log(lines);
        let ms = |t: Nanos| t.get() / 1_000_000;
        let stages = stages(&record, Nanos::ZERO, Nanos::from_millis(1_000));
        stages
            .into_iter()
            .map(|s| (s.name, ms(s.start), ms(s.end)))
            .collect()
    }

    const PC: [(i64, &str); 9] = [
        (0, "Linux version 6.1.0"),
        (30, "Fallback order for Node 0: 0"),
        (
            31,
            "Built 1 zonelists, mobility grouping on.  Total pages: 128735",
        ),
        (
            120,
            "SLUB: HWalign=64, Order=0-3, MinObjects=0, CPUs=1, Nodes=1",
        ),
        (160, "NR_IRQS: 524544, nr_irqs: 256, preallocated irqs: 16"),
        (161, "Console: colour *CGA 80x25"),
        (190, "Last level iTLB entries: 4KB 512, 2MB 255, 4MB 127"),
        (230, "Mountpoint-cache hash table entries: 1024"),
        (340, "devtmpfs: initialized"),
    ];

    #[test]
    fn the_stages_of_a_pc_have_no_gap_between_them() {
        // Each is longer than a part of five hundred.
        let wanted = [
            ("architecture", 0, 30),
            ("memory", 30, 120),
            ("scheduler", 120, 161),
            ("console", 161, 190),
            ("CPU checks", 190, 230),
            ("processors", 230, 340),
            ("initcalls", 340, 1_000),
        ];
        let wanted = wanted.map(|(name, from, to)| (name.to_owned(), from, to));
        assert_eq!(told(&PC), wanted);
    }

    #[test]
    fn a_test_of_memory_and_what_follows_the_initcalls_have_stages() {
        let mut lines = PC.to_vec();
        let test = [
            (1, "early_memtest: # of tests: 1"),
            (
                1,
                "  0x0000000000001000 - 0x0000000000098000 pattern 0000000000000000",
            ),
            (
                2,
                "  0x0000000000100000 - 0x000000001ffdf000 pattern 0000000000000000",
            ),
            (22, "RAMDISK: [mem 0x1fe46000-0x1ffcffff]"),
        ];
        lines.splice(1..1, test);
        lines.extend([
            (800, "Freeing initrd memory: 1576K"),
            (860, "Freeing unused kernel image (initmem) memory: 2824K"),
            (861, "Write protecting the kernel read-only data: 26624k"),
            (
                990,
                "x86/mm: Checked W+X mappings: passed, no W+X pages found.",
            ),
        ]);
        let found = told(&lines);
        let of = |name: &str| -> Vec<(i64, i64)> {
            let rows = found.iter().filter(|s| s.0 == name);
            rows.map(|s| (s.1, s.2)).collect()
        };
        // The first, of 1 ms, stands since nothing is before it.
        assert_eq!(of("architecture"), [(0, 1), (22, 30)]);
        assert_eq!(of("memory test"), [(1, 22)]);
        assert_eq!(of("initcalls"), [(340, 860)]);
        assert_eq!(of("memory protection"), [(860, 1_000)]);
    }

    #[test]
    fn a_log_without_its_start_or_most_of_its_lines_has_no_stages() {
        assert!(told(&PC[1..]).is_empty());
        let few = [PC[0], PC[3], PC[8]];
        assert!(told(&few).is_empty());
    }
}
