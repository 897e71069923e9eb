//! Blame, facts, comparison, tracks, effect and experiment.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::record;
use firstlight_analysis::{
    BlameKind, CompareError, Presence, TrackKind, Trial, Verdict, blame, compare, effect,
    experiment, gaps, median, phases, summary, tracks,
};
use proptest::prelude::*;
use record::{ClockKind, Nanos};

fn ms(ms: i64) -> Nanos {
    Nanos::from_millis(ms)
}

const BOOT: &str = "mark 0s kernel-start kernel
    mark 2s userspace-start userspace
    span initcall 10ms 20ms b_init
    span initcall 10ms 20ms a_init
    span initcall 15ms 60ms c_init reported=1ms doubt=overlap
    span initcall - 70ms d_init reported=30ms doubt=lost_start
    span initcall 70ms - e_init doubt=lost_end
    span probe 20ms 21ms 1-0050 outcome=-517
    span probe 30ms 32ms 1-0050 outcome=517
    span probe 30ms 32ms 2-0051 outcome=0
    mark 3s startup-finished -";

/// Stamps of whole 10 ms put six of these in one tick, and the one of 212 us before that of 9 ms.
#[test]
fn initcalls_are_ranked_by_what_the_kernel_reports_where_stamps_are_ticks() {
    let r = record(
        "source boot.log kernel-log\nclock printk printk\n\
         span initcall 10ms 10ms a reported=544us doubt=tick_clock\n\
         span initcall 10ms 30ms b reported=212us doubt=tick_clock\n\
         span initcall 30ms 40ms c reported=9731us doubt=tick_clock\n\
         span initcall 40ms 40ms d reported=1204us doubt=tick_clock\n\
         span initcall 40ms 40ms e reported=3us doubt=tick_clock\n\
         span initcall 40ms 40ms f reported=90us doubt=tick_clock\n\
         span initcall 40ms 40ms g reported=77us doubt=tick_clock\n\
         span initcall 40ms 40ms h reported=650us doubt=tick_clock\n",
    );
    let all = blame(&r, Some(BlameKind::Initcall), 0).rows;
    let names: Vec<&str> = all.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["c", "d", "h", "a", "b", "f", "g", "e"]);
    assert_eq!(all[0].duration(), Some(Nanos(9_731_000)));
    assert_eq!(all[4].wall, Some(Nanos(20_000_000)));
}

#[test]
fn silences_are_between_lines_of_all_kinds() {
    let record = record(
        "mark 0s kernel-start kernel
        say 100ms 6 first
        span initcall 200ms 900ms slow_init
        say 300ms 6 in it
        span probe 1000ms 1400ms 1-0050 outcome=0
        say 1450ms 6 last",
    );
    let said = |top| -> Vec<(i64, String, String)> {
        let all = gaps(&record, top).into_iter();
        all.map(|g| ((g.end - g.start).get() / 1_000_000, g.before, g.after))
            .collect()
    };
    let row = |ms, before: &str, after: &str| (ms, before.to_owned(), after.to_owned());
    assert_eq!(
        said(0),
        [
            row(600, "in it", "slow_init returned"),
            row(500, "slow_init returned", "probe of 1-0050"),
            row(100, "first", "calling slow_init"),
            row(100, "calling slow_init", "in it"),
            row(50, "probe of 1-0050", "last"),
        ]
    );
    assert_eq!(said(1), said(0)[..1]);
}

#[test]
fn blame_is_longest_first_and_ties_go_by_start_then_name() {
    let b = blame(&record(BOOT), Some(BlameKind::Initcall), 0);
    let names: Vec<&str> = b.rows.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["c_init", "d_init", "a_init", "b_init", "e_init"]);
    assert_eq!(
        (b.rows[0].wall, b.rows[0].reported),
        (Some(ms(45)), Some(ms(1)))
    );
    assert_eq!(b.rows[1].duration(), Some(ms(30)));
    let top = blame(&record(BOOT), None, 2);
    assert_eq!((top.rows.len(), top.total_rows), (2, 8));
}

#[test]
fn phases_can_be_blamed() {
    let b = blame(&record(BOOT), Some(BlameKind::Phase), 0);
    let rows: Vec<_> = b.rows.iter().map(|r| (r.name.as_str(), r.wall)).collect();
    assert_eq!(
        rows,
        [("kernel", Some(ms(2_000))), ("userspace", Some(ms(1_000)))]
    );
    assert_eq!(b.rows[0].origin.source, "test.log");
}

#[test]
fn a_unit_of_several_sources_is_one_row() {
    let r = record(
        "source blame.txt systemd-blame
         clock monotonic monotonic
         span unit - - ssh.service reported=95ms
         span unit - - only.service reported=7ms
         source show.txt systemd-show
         span unit 1s 1.1s ssh.service
         span unit 4s 4.2s ssh.service",
    );
    let b = blame(&r, Some(BlameKind::Unit), 0);
    let rows: Vec<_> = b
        .rows
        .iter()
        .map(|r| (r.name.as_str(), r.wall, r.reported))
        .collect();
    assert_eq!(
        rows,
        [
            ("ssh.service", Some(ms(200)), None),
            ("ssh.service", Some(ms(100)), Some(ms(95))),
            ("only.service", None, Some(ms(7))),
        ]
    );
}

#[test]
fn facts_count_overlapping_time_once() {
    let s = summary(&record(BOOT));
    let initcalls = s
        .kinds
        .iter()
        .find(|k| k.kind == BlameKind::Initcall)
        .unwrap();
    assert_eq!(initcalls.count, 5);
    assert_eq!(initcalls.sum, ms(10 + 10 + 45 + 30));
    assert_eq!(initcalls.busy, ms(50));
    assert_eq!((s.deferrals, s.deferred_devices), (2, 1));
    assert_eq!(s.deferral_time, ms(3));
}

#[test]
fn lanes_hold_no_overlapping_slices() {
    let record = record(BOOT);
    let t = tracks(&record, &phases(&record));
    let mut lanes = Vec::new();
    for group in t.groups.iter().filter(|g| g.kind != TrackKind::Phase) {
        for (lane, track) in group.tracks.iter().enumerate() {
            lanes.extend(track.slices.iter().map(|s| (&*s.name, lane)));
        }
    }
    assert_eq!(
        lanes,
        [
            ("b_init", 0),
            ("a_init", 1),
            ("c_init", 2),
            ("1-0050", 0),
            ("1-0050", 0),
            ("2-0051", 1)
        ]
    );
}

#[test]
fn two_boots_are_compared_item_by_item() {
    let a = record(BOOT);
    let b = record(
        "mark 0s kernel-start kernel
         mark 1.5s userspace-start userspace
         span initcall 10ms 20ms a_init
         span initcall 15ms 35ms c_init
         span initcall 40ms 45ms new_init
         mark 2.5s startup-finished -",
    );
    let c = compare(&a, &b).unwrap();
    assert_eq!(c.first_light.delta, Some(ms(-500)));
    assert!(c.first_light.same_marks);
    let phases: Vec<_> = c
        .phases
        .iter()
        .map(|p| (p.name.as_str(), p.delta))
        .collect();
    assert_eq!(phases, [("kernel", ms(-500)), ("userspace", Nanos::ZERO)]);
    let items: Vec<_> = c
        .items
        .iter()
        .map(|i| (i.name.as_str(), i.nth, i.delta, i.presence))
        .collect();
    assert_eq!(
        items,
        [
            ("d_init", 1, ms(-30), Presence::OnlyA),
            ("c_init", 1, ms(-25), Presence::Both),
            ("b_init", 1, ms(-10), Presence::OnlyA),
            ("new_init", 1, ms(5), Presence::OnlyB),
            ("1-0050", 2, ms(-2), Presence::OnlyA),
            ("2-0051", 1, ms(-2), Presence::OnlyA),
            ("1-0050", 1, ms(-1), Presence::OnlyA),
            ("a_init", 1, Nanos::ZERO, Presence::Both),
        ]
    );
}

#[test]
fn virtual_time_is_not_compared_with_real_time() {
    let lab = record("clock counter virtual\nmark 0s power-on firmware");
    let board = record("mark 0s kernel-start kernel");
    let refused = compare(&lab, &board).unwrap_err();
    let expected = CompareError::VirtualWithWall {
        a: ClockKind::Virtual,
        b: ClockKind::Printk,
    };
    assert_eq!(refused, expected);
    assert!(refused.to_string().contains("virtual clock"));
    assert!(compare(&lab, &lab).is_ok());
}

#[test]
fn an_effect_is_real_only_outside_the_neutral_range() {
    let base = [ms(100), ms(104), ms(96)];
    let of = |variant: &[Nanos]| {
        let e = effect(&base, variant).unwrap();
        (e.delta, e.spread, e.verdict)
    };
    assert_eq!(
        of(&[ms(80), ms(81), ms(79)]),
        (ms(-20), ms(8), Verdict::Faster)
    );
    assert_eq!(
        of(&[ms(120), ms(121), ms(119)]),
        (ms(20), ms(8), Verdict::Slower)
    );
    // The ranges touch.
    assert_eq!(of(&[ms(96), ms(70), ms(70)]).2, Verdict::NoDifference);
    // They do not, but the medians are as close as a range is wide.
    assert_eq!(of(&[ms(92), ms(92), ms(95)]).2, Verdict::NoDifference);
    assert_eq!(effect(&base, &[]), None);
}

#[test]
fn one_boot_each_gives_a_bare_sign() {
    let e = effect(&[ms(100)], &[ms(99)]).unwrap();
    assert_eq!(
        (e.delta, e.spread, e.verdict),
        (ms(-1), Nanos::ZERO, Verdict::Faster)
    );
    assert!(e.unperturbed);
    assert_eq!(
        effect(&[ms(1)], &[ms(1)]).unwrap().verdict,
        Verdict::NoDifference
    );
}

fn trial(variant: &str, perturbation: u32, first_light: Option<i64>) -> Trial {
    Trial {
        variant: variant.to_owned(),
        perturbation,
        digest: "d".to_owned(),
        first_light: first_light.map(ms),
        capture: String::new(),
        failure: None,
    }
}

#[test]
fn a_variant_that_fails_to_boot_is_never_called_faster() {
    let trials = vec![
        trial("quiet", 0, Some(80)),
        trial("quiet", 1, Some(82)),
        trial("base", 0, Some(100)),
        trial("base", 1, Some(101)),
        trial("broken", 0, Some(10)),
        trial("broken", 1, None),
    ];
    let e = experiment(ClockKind::Virtual, "base", trials.clone()).unwrap();
    let names: Vec<&str> = e.variants.iter().map(|v| v.variant.as_str()).collect();
    assert_eq!(names, ["base", "quiet", "broken"]);
    assert_eq!(e.variants[1].effect.unwrap().verdict, Verdict::Faster);
    assert_eq!((e.variants[2].failed, e.variants[2].effect), (1, None));
    assert_eq!(e.best().unwrap().variant, "quiet");
    let wrong = experiment(ClockKind::Virtual, "nope", trials).unwrap_err();
    assert!(wrong.to_string().contains("quiet, base, broken"), "{wrong}");
}

#[test]
fn boots_in_real_time_are_a_sample() {
    let mut trials = Vec::new();
    for n in 0..8 {
        let wobble = i64::from(n) % 3;
        trials.push(trial("base", n, Some(1000 + wobble)));
        trials.push(trial("quiet", n, Some(900 + wobble)));
        trials.push(trial("same", n, Some(1001 - wobble)));
    }
    // One boot in which the host did something else.
    trials.push(trial("quiet", 8, Some(1900)));
    let e = experiment(ClockKind::Counter, "base", trials.clone()).unwrap();
    let [base, quiet, same] = &e.variants[..] else {
        panic!("{:?}", e.variants)
    };
    assert_eq!(base.sample.as_ref().unwrap().difference, None);
    let sample = quiet.sample.as_ref().unwrap();
    assert_eq!(sample.outliers, [(8, ms(1900))]);
    let difference = sample.difference.unwrap();
    assert!(difference.p_value < 0.01, "{difference:?}");
    assert!(difference.interval.0 <= ms(-99) && difference.interval.1 >= ms(-100));
    // The ranges overlap because of that one boot: only a sample can tell.
    assert_eq!(quiet.effect.unwrap().verdict, Verdict::Faster);
    assert_eq!(same.effect.unwrap().verdict, Verdict::NoDifference);
    let exact = experiment(ClockKind::Virtual, "base", trials).unwrap();
    assert!(exact.variants.iter().all(|v| v.sample.is_none()));
    assert_eq!(
        exact.variants[1].effect.unwrap().verdict,
        Verdict::NoDifference
    );
}

proptest! {
    #[test]
    fn effects_are_symmetrical(
        a in prop::collection::vec(-1_000_i64..1_000, 1..8),
        b in prop::collection::vec(-1_000_i64..1_000, 1..8),
    ) {
        let a: Vec<Nanos> = a.into_iter().map(Nanos).collect();
        let b: Vec<Nanos> = b.into_iter().map(Nanos).collect();
        let (there, back) = (effect(&a, &b).unwrap(), effect(&b, &a).unwrap());
        prop_assert_eq!(there.delta.0, -back.delta.0);
        prop_assert_eq!(there.spread, back.spread);
        prop_assert_eq!(there.unperturbed, back.unperturbed);
        let mirrored = match back.verdict {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            Verdict::NoDifference => Verdict::NoDifference,
        };
        prop_assert_eq!(there.verdict, mirrored);
        if there.verdict != Verdict::NoDifference {
            prop_assert!(there.delta.abs() > there.spread);
        }
    }

    #[test]
    fn a_median_lies_within(values in prop::collection::vec(any::<i64>(), 1..9)) {
        let values: Vec<Nanos> = values.into_iter().map(Nanos).collect();
        let m = median(&values).unwrap();
        prop_assert!(values.iter().any(|v| *v <= m) && values.iter().any(|v| *v >= m));
    }
}

#[test]
fn older_boots_say_what_an_item_takes_as_a_rule() {
    let boot = |took: i64| {
        common::record(&format!(
            "source boot.log kernel-log\nclock printk printk\nspan probe 0ms {took}ms wlan0\n\
             span unit 0ms 5ms session-{took}.scope\n"
        ))
    };
    let (a, b, old) = (boot(10), boot(14), boot(15));
    let change = |history: &[&record::Record]| {
        let c = firstlight_analysis::compare_with_history(
            &a,
            &b,
            history,
            &firstlight_analysis::Options::default(),
        )
        .unwrap();
        let changes = c
            .items
            .iter()
            .map(|i| (i.name.clone(), i.change().as_str()));
        changes.collect::<Vec<_>>()
    };
    // A session's number changes from boot to boot; it is the same thing.
    let session = ("session-10.scope".to_owned(), "same");
    assert_eq!(
        change(&[]),
        [("wlan0".to_owned(), "slower"), session.clone()]
    );
    assert_eq!(change(&[&old]), [("wlan0".to_owned(), "same"), session]);
}

/// The silences of this record in milliseconds, the longest first, with the log that
/// may have lost lines in them.
fn silences(text: &str) -> Vec<(i64, Option<String>)> {
    let all = gaps(&record(text), 0).into_iter();
    all.map(|g| ((g.end - g.start).get() / 1_000_000, g.may_be_loss_of))
        .collect()
}

#[test]
fn a_loss_counts_in_its_own_log_and_time() {
    // A hole in the second of three logs, from 200 to 300 ms.
    let logs = "source a.log kernel-log\n say 100ms 6 a\n say 1000ms 6 a\n\
        source b.log kernel-log\n say 200ms 6 b\n LOSS\n say 300ms 6 b\n\
        source c.log kernel-log\n say 240ms 6 c\n say 400ms 6 c\n say 600ms 6 c\n";
    let none =
        |ms: &[i64]| -> Vec<(i64, Option<String>)> { ms.iter().map(|&m| (m, None)).collect() };
    let whole = logs.replace("LOSS\n", "\n");
    assert_eq!(silences(&whole), none(&[400, 200, 100, 100, 60, 40]));
    // Neither side of the line of c.log that fell into the hole is a silence; those
    // between lines of two logs stay.
    let one = logs.replace("LOSS", "note data_loss records_lost 1 x");
    assert_eq!(silences(&one), none(&[400, 200, 100, 100]));
    // A missing line of a call does not say where lines were lost.
    for kind in ["lost_initcall_end", "later_boot"] {
        let other = logs.replace("LOSS", &format!("note data_loss {kind} 2 x"));
        assert_eq!(silences(&other), silences(&whole));
    }
    // What is a doubt only is no loss.
    let doubt = logs.replace("LOSS", "note doubt torn_line 1 x");
    assert_eq!(silences(&doubt), silences(&whole));
    // Of more losses the log is in doubt up to its end.
    let logs = logs.replace("say 300ms 6 b\n", "say 300ms 6 b\n say 500ms 6 b\n");
    let two = logs.replace("LOSS", "note data_loss records_lost 2 x");
    let in_doubt = Some("b.log".to_owned());
    let wanted = [
        (400, None),
        (100, None),
        (100, in_doubt.clone()),
        (100, in_doubt),
        (100, None),
    ];
    assert_eq!(silences(&two), wanted);
}

#[test]
fn what_cannot_be_of_one_boot_is_said_first() {
    let of = |text: &str| -> Vec<String> {
        let ledger = firstlight_analysis::ledger(&record(text));
        let kinds = ledger.notes.into_iter().map(|n| n.kind);
        kinds.filter(|k| k != "clock_unrelated").collect()
    };
    let units = |other: &str| {
        format!(
            "source blame.txt systemd-analyze
            span unit - - a.service reported=5s
            span unit - - b.service reported=1s
            note data_loss lost 1 x
            source chain.txt systemd-analyze
            clock userspace monotonic
            span unit 1s 3s a.service
            span unit 3s {other} b.service"
        )
    };
    assert_eq!(of(&units("5s")), ["unit_times_differ", "lost"]);
    // One of two may have run again; rounding is no difference.
    assert_eq!(of(&units("4.01s"))[0], "unit_times_differ");
    let same = units("4.01s").replace("span unit 1s 3s", "span unit 1s 6.01s");
    assert_eq!(of(&same), ["lost"]);
    let kernels = "source a.txt kernel-log
        fact kernel.version 6.1.0 (x) #1
        source b.txt capture
        fact kernel.version 6.2.0";
    assert_eq!(of(kernels), ["different_kernels"]);
    assert_eq!(of(&kernels.replace("6.2.0", "6.1.0")), [""; 0]);
}

#[test]
fn phases_stand_for_all_where_nothing_else_is_known() {
    let record = record(
        "mark 0s power-on firmware
        mark 1s SPL loader
        mark 2s U-Boot loader
        mark 4.6s kernel-start kernel
        mark 7s startup-finished -",
    );
    let all = blame(&record, None, 0);
    let rows: Vec<_> = all.rows.iter().map(|r| (r.name.as_str(), r.wall)).collect();
    let ms = |ms| Some(Nanos::from_millis(ms));
    assert_eq!(
        rows,
        [
            ("loader", ms(3_600)),
            ("loader: U-Boot", ms(2_600)),
            ("kernel", ms(2_400)),
            ("firmware", ms(1_000)),
            ("loader: SPL", ms(1_000)),
        ]
    );
}
