//! Two small boots and an experiment that the tests of every view share.
#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "tests")]

pub mod board;
#[path = "../../../analysis/tests/common/mod.rs"]
mod common;

use analysis::{
    Boot, ChartLimits, Comparison, Experiment, Options, RecordingCost, Trial, TrialFailure,
};
use firstlight_views::{
    Check, Classic, ClassicCount, ClassicResult, ClassicValue, LabPlan, LabPlanBoot,
    LabPlanVariant, html,
};
use record::{
    ClockKind, FunctionSum, Nanos, Origin, Process, Record, Recorder, Slice, TaskState, Unit,
};

pub const BASE: &str = include_str!("base.record");
pub const VARIANT: &str = include_str!("variant.record");

pub fn record(text: &str) -> Record {
    common::record(text)
}

pub fn base() -> Record {
    record(BASE)
}

pub fn variant() -> Record {
    record(VARIANT)
}

pub fn boot(record: &Record) -> Boot {
    analysis::boot(record, &Options::default(), 3)
}

/// The first boot in real time five times, each slower than the one before, and one odd;
/// against the second one.
pub fn several(compared: bool) -> analysis::Boots {
    let set = |text: &str| -> Vec<analysis::BootTimes> {
        let boot = |n: i64| {
            let end = if n == 3 { 900 } else { 310 + n * 7 };
            let more = format!("{text}\nspan initcall 0s {end}ms varies_init\n");
            let of = record(&more.replace("virtual", "monotonic"));
            analysis::BootTimes::of(&of, &Options::default())
        };
        (0..5).map(boot).collect()
    };
    let others = compared.then(|| set(VARIANT));
    analysis::boots(&set(BASE), others.as_deref()).unwrap()
}

/// The second boot's kernel against the first one's, the other way round: slower.
pub fn gate() -> analysis::Gate {
    let set = |text: &str| -> Vec<analysis::BootTimes> {
        let of = record(&text.replace("virtual", "monotonic"));
        vec![analysis::BootTimes::of(&of, &Options::default()); 5]
    };
    let both = analysis::boots(&set(VARIANT), Some(&set(BASE))).unwrap();
    let question = analysis::GateQuestion {
        of: Some("kernel"),
        allow: Some(analysis::Allowance::Percent(1.0)),
        budgets: &[analysis::Budget {
            name: "kernel".into(),
            limit: Nanos::from_millis(200),
        }],
        ..Default::default()
    };
    analysis::gate(&both, &question).unwrap()
}

pub fn comparison() -> Comparison {
    analysis::compare(&base(), &variant()).unwrap()
}

/// Two tasks' calls: one calls itself, one is not seen to return; and a row of
/// a table that was read.
/// A second of a machine as a bootchart has it: `init`, and so many children of it, each
/// of which sleeps, runs and is blocked; one says that it is its own parent.
pub fn charted(children: u32) -> Record {
    let mut rec = Recorder::new();
    let source = rec.source("chart", "test");
    let clock = rec.clock("printk", ClockKind::Printk, 1);
    let origin = Origin { source, offset: 0 };
    let names = [
        "cpu.user",
        "cpu.system",
        "cpu.iowait",
        "disk.read",
        "disk.write",
    ];
    for (n, name) in (0_i64..).zip(names) {
        let name = rec.name(name);
        let unit = if n < 3 {
            Unit::Permille
        } else {
            Unit::BytesPerSecond
        };
        let series = rec.series(clock, (name, None), unit, origin);
        for at in 0..10 {
            rec.sample(series, at * 100_000_000, (at * 37 + n * 100) % 400);
        }
    }
    for n in 0..=children {
        let name = rec.name(&if n == 0 {
            "init".to_owned()
        } else {
            format!("<child {n}>")
        });
        let start = i64::from(n % 9) * 100_000_000;
        let end = if n == 0 {
            1_000_000_000
        } else {
            start + 90_000_000
        };
        rec.process(Process {
            pid: n + 1,
            parent: (n > 0).then_some(if n == 2 { 3 } else { 1 }),
            name,
            command: None,
            start: Some(Nanos(start)),
            end: None,
            first_seen: Nanos(start),
            last_seen: Nanos(end),
            user: None,
            system: None,
            kernel_thread: false,
            exit: None,
            origin,
            clock,
        });
        for (part, state) in [(1, TaskState::Running), (2, TaskState::Blocked)] {
            rec.slice(Slice {
                pid: n + 1,
                state,
                start: Nanos(start + part * 20_000_000),
                end: Nanos(start + (part + 1) * 20_000_000),
                busy: None,
                cpu: None,
                origin,
                clock,
            });
        }
    }
    rec.finish()
}

pub fn functions() -> Record {
    let mut rec = Recorder::new();
    let source = rec.source("trace", "test");
    let names = [
        "init",
        "outer",
        "inner",
        "recurse",
        "a_function_with_a_long_name",
        "kworker/0:1",
    ];
    let [init, outer, inner, recurse, long, worker] = names.map(|n| rec.name(n));
    let stated = rec.name("stated");
    let tree = rec.functions();
    let root = tree.node(None, init);
    let out = tree.node(Some(root), outer);
    tree.add(out, 2, Nanos(10_000_000));
    let inn = tree.node(Some(out), inner);
    tree.add(inn, 1_200, Nanos(6_000_000));
    tree.add_open(inn);
    let once = tree.node(Some(out), recurse);
    tree.add(once, 1, Nanos(3_000_000));
    let twice = tree.node(Some(once), recurse);
    tree.add(twice, 1, Nanos(2_000_000));
    let root = tree.node(None, worker);
    let other = tree.node(Some(root), long);
    tree.add_open(other);
    let below = tree.node(Some(other), inner);
    tree.add(below, 1, Nanos(1_500_000));
    tree.add_sum(FunctionSum {
        function: stated,
        count: 3,
        time: Some(Nanos(5_000_000)),
        average: Some(Nanos(1_666_000)),
        local: Some(Nanos(1_000_000)),
        max_sub: Some((inner, 7)),
        origin: Origin { source, offset: 9 },
    });
    rec.finish()
}

/// A faster, a slower, an equal and a failed variant.
pub fn experiment() -> Experiment {
    let variants: [(&str, [Option<i64>; 3]); 5] = [
        ("baseline", [Some(6_000), Some(6_004), Some(5_996)]),
        ("cryptomgr.notests", [Some(5_200), Some(5_204), Some(5_200)]),
        ("slow", [Some(6_100), Some(6_104), Some(6_096)]),
        ("quiet", [Some(6_000), Some(5_996), Some(6_000)]),
        ("broken", [Some(900), None, None]),
    ];
    experiment_of(ClockKind::Virtual, &variants)
}

/// Boots in real time, one of them disturbed.
pub fn sampled_experiment() -> Experiment {
    let around = |ms: i64, last: i64| {
        let wobble = [0, 40, -25, 13, -31, 22, 7, -9, 18];
        let mut times = [Some(last); 10];
        for (time, by) in times.iter_mut().zip(wobble) {
            *time = Some(ms + by);
        }
        times
    };
    let variants = [
        ("baseline", around(7_700, 7_691)),
        ("uncompressed", around(5_120, 9_870)),
        ("same", around(7_704, 7_650)),
    ];
    let mut experiment = experiment_of(ClockKind::Counter, &variants);
    experiment.recording.clear();
    experiment
}

/// One boot each.
pub fn bare_experiment() -> Experiment {
    experiment_of(
        ClockKind::Virtual,
        &[("baseline", [Some(6_000)]), ("quiet", [Some(5_900)])],
    )
}

fn experiment_of<const K: usize>(
    clock: ClockKind,
    variants: &[(&str, [Option<i64>; K])],
) -> Experiment {
    let mut trials = Vec::new();
    for (variant, times) in variants {
        for (i, ms) in times.iter().enumerate() {
            trials.push(Trial {
                variant: (*variant).to_owned(),
                perturbation: u32::try_from(i).unwrap(),
                digest: format!("{:064x}", i + 1),
                first_light: ms.map(Nanos::from_millis),
                capture: format!("trials/{variant}-{i}/capture.tar"),
                failure: ms.is_none().then(|| TrialFailure {
                    detail: "Kernel panic - not syncing: no | root".to_owned(),
                    last_lines: vec![
                        "[    1.000000] VFS: cannot open root".to_owned(),
                        "[    1.000100] Kernel panic - not syncing: no | root".to_owned(),
                    ],
                }),
            });
        }
    }
    let mut experiment = analysis::experiment(clock, "baseline", trials).unwrap();
    experiment.recording = vec![
        RecordingCost {
            variant: "baseline".to_owned(),
            asked: vec!["initcalls".to_owned(), "sched".to_owned()],
            cost: Some(Nanos::from_millis(237)),
        },
        RecordingCost {
            variant: "broken".to_owned(),
            asked: vec!["initcalls".to_owned(), "sched".to_owned()],
            cost: None,
        },
    ];
    experiment
}

/// What a run would do.
pub fn lab_plan() -> LabPlan {
    let boot = |variant: &str, kind, wall_s, basis| LabPlanBoot {
        variant: variant.to_owned(),
        perturbation: 0,
        kind,
        wall_s,
        basis,
    };
    let variant = |name: &str, changes: &[&str]| LabPlanVariant {
        variant: name.to_owned(),
        changes: changes.iter().map(|c| (*c).to_owned()).collect(),
        cmdline: "console=ttyAMA0 quiet".to_owned(),
    };
    LabPlan {
        experiment: "u-boot".to_owned(),
        machine: "arm-virt armhf, U-Boot".to_owned(),
        jobs: 2,
        wall_s: 75.0,
        variants: vec![
            variant("baseline", &[]),
            variant(
                "no-checksums",
                &[
                    "the boot loader's `verify` becomes `no`, which is a long sentence that has to \
                   go on to a second line of the screen",
                ],
            ),
        ],
        boots: vec![
            boot("baseline", "boot", 12.5, "there"),
            boot("no-checksums", "boot", 9.0, "machine"),
            boot("baseline", "again", 12.5, "variant"),
            boot("no-checksums", "unrecorded", 6.0, "guess"),
        ],
        before: vec!["fetches the Debian kernel for armv7 first, 40 to 70 MB".to_owned()],
    }
}

/// A published result, and what this host lacks to run it.
pub fn classic(missing: &[&str]) -> Classic {
    Classic {
        id: "quiet".to_owned(),
        title: "quiet: from the kernel's start to init".to_owned(),
        source: "A conference, 2014".to_owned(),
        here: "A board with a slow serial line: what its bytes take is added, which is a sentence \
               that has to go on to a second line"
            .to_owned(),
        why: "It says more.".to_owned(),
        published: vec![("loud".to_owned(), 2352.0), ("quiet".to_owned(), 1285.0)],
        missing: missing.iter().map(|m| (*m).to_owned()).collect(),
    }
}

/// That result, run here.
pub fn classic_result() -> ClassicResult {
    let value = |name: &str, published_ms, measured_ns, ratios: (f64, Option<f64>)| ClassicValue {
        name: name.to_owned(),
        published_ms: Some(published_ms),
        measured_ns,
        count: None,
        published_ratio: Some(ratios.0),
        measured_ratio: ratios.1,
        basis: Some("modeled".to_owned()),
        partial: (name == "quiet").then(|| "another kernel".to_owned()),
    };
    ClassicResult {
        classic: classic(&[]),
        machine: "arm-virt, 500 MIPS".to_owned(),
        values: vec![
            value("loud", 2352.0, Some(1_388_800_000), (1.0, Some(1.0))),
            value("quiet", 1285.0, None, (0.546, None)),
            ClassicValue {
                published_ms: None,
                count: Some(ClassicCount {
                    unit: "lines".to_owned(),
                    published: Some(40.0),
                    measured: Some(37.25),
                }),
                ..value("printed", 0.0, None, (1.0, Some(1.0)))
            },
        ],
        failures: vec!["quiet: its clock passed 9 s".to_owned()],
        made_by: [
            ("artifacts", "a1"),
            ("emulator", "e2"),
            ("experiment", "e3"),
        ]
        .map(|(of, digits)| (of.to_owned(), digits.repeat(32)))
        .into(),
    }
}

pub fn checks() -> Vec<Check> {
    vec![
        Check {
            name: "qemu-system-x86_64".to_owned(),
            ok: true,
            found: Some("7.2.22".to_owned()),
            advice: None,
        },
        Check {
            name: "mmdebstrap".to_owned(),
            ok: false,
            found: None,
            advice: Some("run `apt install mmdebstrap`".to_owned()),
        },
    ]
}

pub fn page<'r>(base: &'r Record, variant: &'r Record) -> html::Page<'r> {
    let side = |title: &str, record: &'r Record| html::Side {
        title: title.to_owned(),
        picture: analysis::picture(record, None, &Options::default(), ChartLimits::default()),
        lines: Vec::new(),
    };
    html::Page {
        title: "a <small> boot & its variant".to_owned(),
        baseline: side("baseline", base),
        best: Some(side("cryptomgr.notests", variant)),
        comparison: Some(comparison()),
        experiment: Some(experiment()),
        board: None,
        truth: None,
    }
}
