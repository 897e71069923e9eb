//! Several boots against several others.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::record;
use firstlight_analysis::{
    Allowance, BootTimes, Boots, BootsError, BootsTime, Budget, BudgetVerdict, Gate, GateError,
    GateQuestion, GateVerdict, Judged, Options, TimeKind, Verdict, boots, gate,
};
use record::Nanos;

/// A boot whose kernel takes `kernel` ms and whose userspace `userspace`; a unit with a
/// name that changes takes `unit`.
fn boot(clock: &str, kernel: i64, userspace: i64, unit: i64, pid: u32) -> BootTimes {
    let end = kernel + userspace;
    let half = kernel + userspace / 2;
    let unit_end = kernel + unit;
    let text = format!(
        "source boot.log kernel-log\nclock {clock} {clock}\nmark 0s kernel-start kernel\n\
         mark {kernel}ms userspace-start userspace\nmark {half}ms half-way -\n\
         mark {end}ms first-light -\nfact systemd.startup_total_ns {}\n\
         span unit {kernel}ms {unit_end}ms session-{pid}.scope\n",
        end * 1_000_000 + 7
    );
    BootTimes::of(&record(&text), &Options::default())
}

fn time<'a>(boots: &'a Boots, kind: &str, name: &str) -> &'a BootsTime {
    let mut all = boots.times.iter().chain(&boots.items);
    all.find(|t| t.kind.as_str() == kind && t.name == name)
        .unwrap_or_else(|| panic!("no {kind} {name} in {boots:#?}"))
}

#[test]
fn a_time_is_told_by_what_it_is() {
    let set = [
        boot("printk", 1000, 800, 90, 1),
        boot("printk", 1100, 800, 95, 22),
    ];
    let b = boots(&set, None).unwrap();
    assert_eq!((b.boots, b.against), (2, None));
    let order: Vec<&str> = b.times.iter().map(|t| t.kind.as_str()).collect();
    assert_eq!(
        order,
        ["first_light", "total", "phase", "phase", "milestone"]
    );
    let median = |kind, name| time(&b, kind, name).base.as_ref().unwrap().median;
    assert_eq!(
        median("first_light", "first-light"),
        Nanos::from_millis(1850)
    );
    assert_eq!(median("total", "systemd's total").get() % 1000, 7);
    assert_eq!(median("phase", "kernel"), Nanos::from_millis(1050));
    // From the start of its phase: the kernel's length does not move it.
    assert_eq!(median("milestone", "half-way"), Nanos::from_millis(400));
    // One item, though its name changed.
    let unit = time(&b, "unit", "session-1.scope");
    assert_eq!(unit.base.as_ref().unwrap().boots, 2);
    assert_eq!(unit.change, None);
}

#[test]
fn what_moved_is_told_and_what_did_not_is_not() {
    let set = |kernel: i64| -> Vec<BootTimes> {
        let boot = |n: i64| boot("monotonic", kernel + n, 800 + n * 5 % 7, 90 + n, 1);
        (0..8).map(boot).collect()
    };
    let b = boots(&set(1000), Some(&set(900))).unwrap();
    let change = |kind, name| time(&b, kind, name).change.unwrap();
    let kernel = change("phase", "kernel");
    assert_eq!(kernel.verdict, Verdict::Faster);
    assert_eq!(kernel.delta, Nanos::from_millis(-100));
    assert_eq!(kernel.mean_delta, Nanos::from_millis(-100));
    let Judged::Sample(sample) = kernel.judged else {
        panic!("{kernel:?}")
    };
    assert_eq!(sample.longer, 64.0);
    assert!((sample.p_value - 2.0 / 12_870.0).abs() < 1e-12);
    assert!(time(&b, "phase", "kernel").is_apart());
    let userspace = change("phase", "userspace");
    assert_eq!(userspace.verdict, Verdict::NoDifference);
    assert!(!time(&b, "phase", "userspace").is_apart());
    // Items whose ranges overlap are not judged.
    assert_eq!(time(&b, "unit", "session-1.scope").change, None);
}

#[test]
fn items_that_moved_come_first() {
    let set = |unit: i64| -> Vec<BootTimes> {
        let text = |n: i64| {
            format!(
                "source l kernel-log\nclock printk printk\nspan initcall 0s {}ms slow\n\
                 span initcall 0s {}ms wild\nspan probe 0s 3ms {}\n",
                unit + n,
                n * 500,
                if unit == 10 { "old" } else { "new" },
            )
        };
        let boot = |n: i64| BootTimes::of(&record(&text(n)), &Options::default());
        (1..5).map(boot).collect()
    };
    let b = boots(&set(10), Some(&set(90))).unwrap();
    let names: Vec<&str> = b.items.iter().map(|i| &*i.name).collect();
    assert_eq!(names, ["slow", "new", "old", "wild"]);
    assert!(b.items[1].base.is_none() && b.items[2].against.is_none());
    let alone = boots(&set(10), None).unwrap();
    assert_eq!(alone.items[0].name, "wild");
}

#[test]
fn exact_boots_are_judged_by_their_spread() {
    let set = |kernel: i64| -> Vec<BootTimes> {
        let boot = |n: i64| boot("virtual", kernel + n, 500, 5, 1);
        (0..4).map(boot).collect()
    };
    let b = boots(&set(1000), Some(&set(990))).unwrap();
    let kernel = time(&b, "phase", "kernel").change.unwrap();
    assert_eq!(kernel.verdict, Verdict::Faster);
    assert!(matches!(kernel.judged, Judged::Exact(e) if e.spread == Nanos::from_millis(3)));
    let mixed = boots(&set(1000), Some(&[boot("printk", 1, 2, 1, 1)])).unwrap_err();
    assert_eq!(mixed, BootsError::VirtualBesideReal { first: 1, other: 5 });
    let row = BootTimes::of_columns([("a_s", Some(Nanos(1)))]);
    let mixed = boots(&set(1000), Some(&[row])).unwrap_err();
    assert_eq!(mixed, BootsError::TableBesideBoot { first: 5, other: 1 });
}

#[test]
fn a_table_has_its_columns_in_order() {
    let row = |a: i64, b: Option<i64>| {
        let columns = [("total_s", Some(a)), ("app_ms", b)];
        BootTimes::of_columns(columns.map(|(n, t)| (n, t.map(Nanos::from_millis))))
    };
    let b = boots(&[row(5, Some(1)), row(7, None)], None).unwrap();
    let columns: Vec<_> = b.times.iter().map(|t| (t.kind, &*t.name)).collect();
    let wanted = [
        (TimeKind::Column(0), "total_s"),
        (TimeKind::Column(1), "app_ms"),
    ];
    assert_eq!(columns, wanted);
    let boots_of = |at: usize| b.times[at].base.as_ref().unwrap().boots;
    assert_eq!((boots_of(0), boots_of(1)), (2, 1));
}

fn judged(base: &[BootTimes], new: &[BootTimes], percent: i64) -> Result<Gate, GateError> {
    let both = boots(base, Some(new)).unwrap();
    let question = GateQuestion {
        allow: Some(Allowance::Percent(percent as f64)),
        ..GateQuestion::default()
    };
    gate(&both, &question)
}

/// The same, of a time of another name; as little as there is matters.
fn judged_of(both: &Boots, name: &str) -> Result<Gate, GateError> {
    let question = GateQuestion {
        of: Some(name),
        allow: Some(Allowance::Time(Nanos::ZERO)),
        ..GateQuestion::default()
    };
    gate(both, &question)
}

fn passed(gate: &Gate) -> bool {
    gate.verdict == GateVerdict::Passed
}

fn set(clock: &str, count: i64, kernel: i64) -> Vec<BootTimes> {
    let boot = |n: i64| boot(clock, kernel + n, 800, 10 + kernel / 5 + n, 1);
    (0..count).map(boot).collect()
}

#[test]
fn a_gate_closes_for_what_is_slower_than_is_allowed() {
    for clock in ["virtual", "monotonic"] {
        let (base, slower) = (set(clock, 5, 1000), set(clock, 5, 1040));
        let closed = judged(&base, &slower, 1).unwrap();
        assert_eq!(closed.verdict, GateVerdict::Slower, "{clock}");
        let compared = closed.compared.unwrap();
        assert_eq!(compared.time.delta(), Nanos::from_millis(40));
        let names: Vec<&str> = closed.slower.iter().map(|i| &*i.name).collect();
        assert_eq!(names, ["session-1.scope"], "{clock}");
        // Less than 3 % of 1.8 s; faster; the same.
        assert!(passed(&judged(&base, &slower, 3).unwrap()), "{clock}");
        assert!(passed(&judged(&slower, &base, 0).unwrap()), "{clock}");
        assert!(passed(&judged(&base, &base, 0).unwrap()), "{clock}");
    }
    // Slower by less than such boots vary.
    let near = judged(&set("virtual", 5, 1000), &set("virtual", 5, 1002), 0);
    assert!(passed(&near.unwrap()));
}

#[test]
fn a_gate_says_when_it_cannot_say() {
    let few = judged(&set("printk", 4, 1000), &set("printk", 4, 1200), 1).unwrap();
    assert_eq!(few.verdict, GateVerdict::CannotTell);
    assert!(
        few.reason
            .unwrap()
            .starts_with("4 against 4 boots are too few")
    );
    // Four of many can be told apart.
    let told = judged(&set("printk", 4, 1000), &set("printk", 9, 1200), 1);
    assert!(!passed(&told.unwrap()));
    // Exact boots may be one against one.
    let one = |kernel| set("virtual", 1, kernel);
    assert!(!passed(&judged(&one(1000), &one(1040), 1).unwrap()));
    let dark = |count: usize| {
        vec![BootTimes::of(&record("clock printk printk\n"), &Options::default()); count]
    };
    let base = judged(&dark(1), &one(1), 1).unwrap_err();
    assert_eq!(base, GateError::NoTime);
    let nothing = judged(&dark(2), &dark(2), 1).unwrap_err();
    assert_eq!(nothing, GateError::NoTime);
}

#[test]
fn a_boot_that_never_comes_to_first_light_does_not_pass() {
    let text = "source l kernel-log\nclock virtual virtual\nmark 0s kernel-start kernel\n\
                mark 3ms half-way -\n";
    let dark = BootTimes::of(&record(text), &Options::default());
    let mut new = set("virtual", 4, 1000);
    new.push(dark.clone());
    let closed = judged(&set("virtual", 4, 1000), &new, 1).unwrap();
    assert_eq!(closed.verdict, GateVerdict::Missing);
    assert_eq!(
        closed.reason.unwrap(),
        "1 of 5 boots after the change do not have it"
    );
    let none = judged(&set("virtual", 4, 1000), &[dark], 1).unwrap();
    assert!(!passed(&none) && none.reason.unwrap().starts_with("no boot"));
}

#[test]
fn an_item_whose_ranges_overlap_is_judged_too() {
    let set = |times: &[i64]| -> Vec<BootTimes> {
        let boot = |ms: &i64| {
            let text =
                format!("source l log\nclock printk printk\nspan unit 0s {ms}ms a.service\n");
            BootTimes::of(&record(&text), &Options::default())
        };
        times.iter().map(boot).collect()
    };
    let mut base = vec![1000; 19];
    base.push(3000);
    let judge = |base: &[i64], new: &[i64]| {
        let both = boots(&set(base), Some(&set(new))).unwrap();
        judged_of(&both, "a.service")
    };
    assert!(!passed(&judge(&base, &[2000; 20]).unwrap()));
    let few = judge(&[1000, 3000], &[2000, 2000]).unwrap();
    assert_eq!(few.verdict, GateVerdict::CannotTell);
    // As little as is allowed is found.
    let near: Vec<i64> = (0..10).map(|n| 10_000 + n).collect();
    let slower: Vec<i64> = near.iter().map(|n| n + 40).collect();
    assert!(!passed(&judge(&near, &slower).unwrap()));
}

#[test]
fn a_name_means_one_time_and_first_light_one_stretch() {
    let row = BootTimes::of_columns([("a_s", Some(Nanos(1))), ("a_s", Some(Nanos(2)))]);
    let set = vec![row; 5];
    let both = boots(&set, Some(&set)).unwrap();
    let twice = judged_of(&both, "a_s").unwrap_err();
    assert!(
        matches!(twice, GateError::Ambiguous { count: 2, .. }),
        "{twice}"
    );
    let boot = |zero: &str| {
        let text = format!(
            "source l log\nclock printk printk\nmark 0s {zero} kernel\nmark 9ms first-light -\n"
        );
        vec![BootTimes::of(&record(&text), &Options::default()); 5]
    };
    let both = boots(&boot("power-on"), Some(&boot("kernel-start"))).unwrap();
    let other = judged_of(&both, "first light").unwrap_err();
    assert!(matches!(other, GateError::OtherZero { .. }), "{other}");
}

/// A gate that cannot see the slowdown that was asked for does not pass.
#[test]
fn a_gate_that_cannot_see_does_not_pass() {
    // Boots that vary by a tenth of a second, of 1.8 s.
    let wide = |shift: i64| -> Vec<BootTimes> {
        let boot = |n: i64| boot("monotonic", 1000 + shift + n * 37 % 200, 800, 10, 1);
        (0..8).map(boot).collect()
    };
    let both = boots(&wide(0), Some(&wide(3))).unwrap();
    let ask = |see: Option<Allowance>, allow: Option<Allowance>| {
        let question = GateQuestion {
            see,
            allow,
            ..GateQuestion::default()
        };
        gate(&both, &question).unwrap()
    };
    let blind = ask(Some(Allowance::Percent(1.0)), None);
    assert_eq!(blind.verdict, GateVerdict::CannotTell);
    assert!(blind.reason.unwrap().contains("was asked for"));
    let allowed = ask(None, Some(Allowance::Time(Nanos::from_millis(5))));
    assert_eq!(allowed.verdict, GateVerdict::CannotTell);
    let roomy = ask(Some(Allowance::Percent(30.0)), None);
    assert!(passed(&roomy));
    let resolution = roomy.compared.unwrap().resolution.unwrap();
    assert!(resolution > Nanos::from_millis(18) && resolution < Nanos::from_millis(400));
}

#[test]
fn what_only_some_boots_of_a_side_have_is_neither_new_nor_gone() {
    // No unit has the same name here as there.
    let with = |unit: &str, name: &str| {
        let text = format!(
            "source boot.log kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             mark 900ms first-light -\nspan unit 1ms 90ms a.service\n{unit}"
        );
        BootTimes::of(&record(&text.replace("NAME", name)), &Options::default())
    };
    let unit = "span unit 1ms 80ms NAME\n";
    let base = [with(unit, "gone.service"), with(unit, "gone.service")];
    let new = [with(unit, "new.service"), with(unit, "new.service")];
    let names = |base: &[BootTimes], new: &[BootTimes]| {
        let gate = judged(base, new, 3).unwrap();
        let of =
            |items: &[BootsTime]| -> Vec<String> { items.iter().map(|i| i.name.clone()).collect() };
        (of(&gate.slower), of(&gate.faster))
    };
    let (slower, faster) = names(&base, &new);
    assert_eq!(
        (slower, faster),
        (
            vec!["new.service".to_owned()],
            vec!["gone.service".to_owned()]
        )
    );
    let (base, new) = (
        [base[0].clone(), with("", "")],
        [new[0].clone(), with("", "")],
    );
    assert_eq!(names(&base, &new), (Vec::new(), Vec::new()));
}

#[test]
fn gains_are_told_beside_losses() {
    let gained = judged(&set("monotonic", 6, 1200), &set("monotonic", 6, 1000), 1).unwrap();
    assert!(passed(&gained) && gained.compared.unwrap().gained);
    assert_eq!(gained.faster.len(), 1);
    assert!(gained.slower.is_empty());
}

#[test]
fn budgets_are_kept_or_not_with_and_without_base_boots() {
    let new = set("monotonic", 6, 1000);
    let budget = |name: &str, ms: i64| Budget {
        name: name.into(),
        limit: Nanos::from_millis(ms),
    };
    let verdict = |boots: &Boots, budgets: &[Budget]| {
        let question = GateQuestion {
            budgets,
            ..GateQuestion::default()
        };
        gate(boots, &question).map(|g| {
            let all: Vec<BudgetVerdict> = g.budgets.iter().map(|b| b.verdict).collect();
            (g.verdict, all)
        })
    };
    let alone = boots(&new, None).unwrap();
    let both = boots(&new, Some(&new)).unwrap();
    for boots in [&alone, &both] {
        let kept = verdict(
            boots,
            &[budget("first-light", 2000), budget("kernel", 1500)],
        );
        assert_eq!(
            kept.unwrap(),
            (GateVerdict::Passed, vec![BudgetVerdict::Within; 2])
        );
        let over = verdict(
            boots,
            &[budget("first_light", 1000), budget("kernel", 1500)],
        );
        assert_eq!(
            over.unwrap(),
            (
                GateVerdict::OverBudget,
                vec![BudgetVerdict::Over, BudgetVerdict::Within]
            )
        );
        // Kernels of 1000 to 1005 ms.
        let unsure = verdict(boots, &[budget("kernel", 1002)]);
        assert_eq!(unsure.unwrap().0, GateVerdict::CannotTell);
        let unknown = verdict(boots, &[budget("kernle", 1002)]).unwrap_err();
        assert!(unknown.to_string().contains("--budget kernle"), "{unknown}");
    }
    let one = boots(&new[..1], None).unwrap();
    let kept = verdict(&one, &[budget("first light", 2000)]).unwrap();
    assert_eq!(kept.0, GateVerdict::Passed);
    // Too few to compare: the budget does not make up for it.
    let few = boots(&new[..1], Some(&new[..1])).unwrap();
    let few = verdict(&few, &[budget("first light", 2000)]).unwrap();
    assert_eq!(few.0, GateVerdict::CannotTell);
}
