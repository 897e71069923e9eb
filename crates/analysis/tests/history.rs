//! Histories: what is found, what is not, and what is said of few boots.
//! `./x bench history` measures the same rates over 1,000 histories each.
#![allow(clippy::unwrap_used, reason = "tests")]

mod histories;

use firstlight_analysis::{
    Accepted, Allowance, BlameKind, HistoryEntry, HistoryQuestion, HistoryVerdict, TimeKind,
    history,
};
use histories::{Scatter, answer, false_alarms, found, steps_found};
use record::Nanos;

/// At most one history of 200 points in a hundred gives a false alarm.
#[test]
fn false_alarms_are_rare() {
    for scatter in Scatter::ALL {
        let alarms = false_alarms(scatter, 0..60, 200);
        // One in a hundred: more than three of sixty have a chance of 1 in 300 then.
        assert!(alarms <= 3, "{}: {alarms}", scatter.name());
    }
}

/// A step of two deviations is found within ten points; one of one deviation is located
/// to ten points once 40 follow.
#[test]
fn steps_are_found_soon_and_located() {
    // Three standard errors below the measured rates.
    for (scatter, least_soon, least_located) in [
        (Scatter::Normal, 35, 23),
        (Scatter::Upwards, 37, 37),
        (Scatter::Outliers, 38, 39),
        (Scatter::TwoGroups, 34, 34),
        (Scatter::SlowDrift, 34, 22),
        (Scatter::Together, 37, 36),
    ] {
        let soon = steps_found(scatter, 0..40, 100, 2.0, 10);
        assert!(soon >= least_soon, "{}: {soon} of 40", scatter.name());
        let located = steps_found(scatter, 0..40, 160, 1.0, 40);
        assert!(
            located >= least_located,
            "{}: {located} of 40",
            scatter.name()
        );
    }
}

/// Whole ticks of a coarse clock fit a step of a tick better than any line, and tell no step.
#[test]
fn a_coarse_clock_gives_no_false_alarms() {
    let coarse = |seed: u64, tick: i64| -> bool {
        let mut values = Scatter::Normal.series(200, 200, 0.0, seed);
        for value in &mut values {
            *value = Nanos((value.get() + tick / 2) / tick * tick);
        }
        !found(&values).is_empty()
    };
    for tick in [2_500_000, 10_000_000] {
        let alarms = (0..60).filter(|seed| coarse(*seed, tick)).count();
        assert!(alarms <= 3, "{tick}: {alarms}");
    }
}

#[test]
fn a_spike_is_no_change_and_a_level_that_does_not_last_is_two() {
    let mut values = Scatter::Normal.series(200, 200, 0.0, 3);
    for at in [40, 41, 150] {
        values[at] = Nanos(3_000_000_000);
    }
    assert!(found(&values).is_empty());
    let mut values = Scatter::Normal.series(200, 200, 0.0, 3);
    for value in &mut values[90..120] {
        *value = *value + Nanos(40_000_000);
    }
    let places = found(&values);
    assert_eq!(places.len(), 2, "{places:?}");
    assert!(
        places[0].abs_diff(90) <= 2 && places[1].abs_diff(120) <= 2,
        "{places:?}"
    );
}

#[test]
fn several_steps_are_found_each_with_its_size() {
    let mut values = Scatter::Normal.series(300, 300, 0.0, 8);
    for (i, value) in values.iter_mut().enumerate() {
        let level = [0, 60, 20, 90][i / 75];
        *value = *value + Nanos::from_millis(level);
    }
    let history = answer(&values);
    let changes: Vec<(usize, i64)> = history
        .changes
        .iter()
        .map(|c| (c.index, c.change.get() / 1_000_000))
        .collect();
    assert_eq!(changes.len(), 3, "{changes:?}");
    for ((index, change), (at, size)) in changes.iter().zip([(75, 60), (150, -40), (225, 70)]) {
        assert!(index.abs_diff(at) <= 1, "{changes:?}");
        assert!(change.abs_diff(size) <= 6, "{changes:?}");
    }
    for c in &history.changes {
        assert!(c.interval.0 < c.change && c.change < c.interval.1);
        assert!(c.range.0 <= c.index && c.index <= c.range.1);
        assert!(c.p < 0.01);
    }
    assert_eq!(history.verdict, HistoryVerdict::Regressed(2));
}

/// Exact boots repeat to the nanosecond: five that differ are a level.
#[test]
fn exact_boots_have_levels_too() {
    let mut values = vec![Nanos(5_000_000_000); 30];
    values.extend([Nanos(5_003_000_000); 5]);
    let history = answer(&values);
    assert_eq!(history.changes.len(), 1);
    assert_eq!(history.changes[0].index, 30);
    assert_eq!(history.changes[0].change, Nanos(3_000_000));
    assert!(found(&[Nanos(5_000_000_000); 60]).is_empty());
}

#[test]
fn what_is_said_of_no_one_and_five_entries() {
    for (count, has) in [
        (0, "the history has no entries yet"),
        (1, "1 of the 10"),
        (5, "5 of the 10"),
    ] {
        let values = Scatter::Normal.series(count, count, 0.0, 1);
        let history = answer(&values);
        let HistoryVerdict::CannotTell(why) = &history.verdict else {
            unreachable!("{:?}", history.verdict);
        };
        assert!(why.contains(has), "{why}");
    }
    let values = Scatter::Normal.series(40, 40, 0.0, 1);
    assert_eq!(answer(&values).verdict, HistoryVerdict::Fine);
}

fn entries(values: &[Nanos], item: impl Fn(usize) -> Option<i64>) -> Vec<HistoryEntry> {
    let entry = |(i, value): (usize, &Nanos)| {
        let mut times = vec![(TimeKind::FirstLight, String::new(), *value)];
        let unit = TimeKind::Item(BlameKind::Unit);
        times.push((
            unit,
            "steady.service".into(),
            Nanos(50_000_000 + i as i64 % 7),
        ));
        times.extend(item(i).map(|ns| (unit, "slow.service".to_owned(), Nanos(ns))));
        HistoryEntry {
            label: format!("c{i}"),
            environment: vec![("kernel", if i < 60 { "6.1" } else { "6.12" }.into())],
            marks: vec![if i < 60 { "release 1" } else { "release 2" }.into()],
            times,
        }
    };
    values.iter().enumerate().map(entry).collect()
}

#[test]
fn a_change_names_its_items_and_what_else_changed_and_can_be_accepted() {
    let values = Scatter::Normal.series(100, 60, 4.0, 5);
    let jitter = |i: usize| (i * 7919 % 13) as i64 * 1_000_000;
    let slow = |i: usize| Some(if i < 60 { 100_000_000 } else { 140_000_000 } + jitter(i));
    let entries = entries(&values, slow);
    let mut question = HistoryQuestion::default();
    let asked = history(&entries, None, &question);
    let HistoryVerdict::Regressed(at) = asked.verdict else {
        unreachable!("{:?}", asked.verdict);
    };
    let change = &asked.changes[at];
    assert_eq!((change.index, change.label.as_str()), (60, "c60"));
    assert_eq!(change.items[0].name, "slow.service");
    assert_eq!(change.items.len(), 1);
    assert_eq!(change.environment, ["kernel: 6.1 -> 6.12"]);
    let releases = [(0, "release 1".to_owned()), (60, "release 2".to_owned())];
    assert_eq!(asked.marks, releases);
    // The item has a change point of its own.
    assert!(
        asked
            .changes
            .iter()
            .any(|c| c.item == "slow.service" && c.index == 60)
    );
    // More than is allowed, and than is accepted for another time.
    question.allow = Some(Allowance::Percent(1.0));
    question.accepted = vec![Accepted {
        label: "c60".into(),
        item: Some("kernel".into()),
        why: "wanted".into(),
    }];
    let asked = history(&entries, None, &question);
    assert!(matches!(asked.verdict, HistoryVerdict::Regressed(_)));
    question.accepted[0].item = None;
    let asked = history(&entries, None, &question);
    assert_eq!(asked.verdict, HistoryVerdict::Fine);
    assert!(
        asked
            .changes
            .iter()
            .any(|c| c.accepted.as_deref() == Some("wanted"))
    );
    question.accepted.clear();
    question.allow = Some(Allowance::Percent(10.0));
    assert_eq!(
        history(&entries, None, &question).verdict,
        HistoryVerdict::Fine
    );
    question.see = Some(Allowance::Time(Nanos(1_000_000)));
    let blind = history(&entries, None, &question).verdict;
    assert!(matches!(blind, HistoryVerdict::CannotTell(why) if why.contains("cannot be seen")));
    question.of = Some("nothing");
    let none = history(&entries, None, &question).verdict;
    assert!(matches!(none, HistoryVerdict::CannotTell(why) if why.contains("nothing")));
}

#[test]
fn two_groups_are_named_with_the_items_that_differ() {
    let slow = |i: usize| i * 7 % 10 < 3;
    let mut values = Scatter::Normal.series(100, 100, 0.0, 5);
    for (i, value) in values.iter_mut().enumerate() {
        *value = *value + Nanos(if slow(i) { 180_000_000 } else { 0 });
    }
    let item = |i: usize| Some(30_000_000 + i as i64 % 5 + if slow(i) { 170_000_000 } else { 0 });
    let history = history(&entries(&values, item), None, &HistoryQuestion::default());
    let groups = &history.groups[0];
    assert_eq!(groups.counts, (70, 30));
    assert_eq!(groups.items.len(), 1);
    assert_eq!(groups.items[0].name, "slow.service");
    assert!(
        answer(&Scatter::Normal.series(100, 100, 0.0, 5))
            .groups
            .is_empty()
    );
}

/// Boots of one commit are one commit: no level begins between them.
#[test]
fn a_level_begins_with_a_commit() {
    let mut entries = entries(&Scatter::Normal.series(100, 52, 5.0, 2), |_| None);
    for (i, entry) in entries.iter_mut().enumerate() {
        entry.label = format!("c{}", i / 10);
    }
    let asked = history(&entries, None, &HistoryQuestion::default());
    let first = asked.changes.iter().find(|c| c.is_judged).unwrap();
    assert_eq!(first.index % 10, 0);
}

/// A regression that was reverted and came back is the newest level, also where each level
/// has few boots.
#[test]
fn a_regression_that_comes_back_is_found() {
    for levels in [
        &[(12, 0), (16, 120), (10, 0), (8, 120)][..],
        &[(30, 0), (10, 120), (30, 0), (10, 120)],
        &[(12, 0), (8, 120), (12, 0), (8, 120)],
    ] {
        let count = levels.iter().map(|l| l.0).sum();
        let mut values = Scatter::Normal.series(count, count, 0.0, 5);
        let mut at = 0;
        for (boots, ms) in levels {
            for value in &mut values[at..at + boots] {
                *value = *value + Nanos::from_millis(*ms);
            }
            at += boots;
        }
        let history = answer(&values);
        assert!(
            matches!(history.verdict, HistoryVerdict::Regressed(_)),
            "{levels:?}: {:?}",
            history.changes
        );
    }
    // Reverted for good, it is no regression.
    let mut values = Scatter::Normal.series(60, 60, 0.0, 5);
    for value in &mut values[15..27] {
        *value = *value + Nanos::from_millis(120);
    }
    assert_eq!(answer(&values).verdict, HistoryVerdict::Fine);
}

/// Up to four boots that are much faster than all others are no level yet. They do not hide the
/// change before them, also where six boots follow five.
#[test]
fn a_change_stays_while_the_next_level_begins() {
    for (before, after) in [(6, 6), (5, 6)] {
        for (extra, count) in [
            (-900, 0),
            (-900, 1),
            (-900, 2),
            (-900, 3),
            (-900, 4),
            (800, 1),
            (800, 3),
        ] {
            let old = before + after;
            let mut values = Scatter::Normal.series(old + count, before, 15.0, 4);
            for value in &mut values[old..] {
                *value = *value + Nanos::from_millis(extra);
            }
            let places = found(&values);
            assert_eq!(places, [before], "{old} and {count} boots of {extra} ms");
            // Nor do they change how large it was.
            let (with, without) = (answer(&values), answer(&values[..old]));
            assert_eq!(with.changes[0].change, without.changes[0].change);
            assert_eq!(with.changes[0].interval, without.changes[0].interval);
        }
    }
}

/// The thirty versions of `experiments/gate/versions`, as they were booted, each judged when it was
/// the newest: steps at 1.07 and 1.25, a gain at 1.13, and six steps of a drift from 1.19.
#[test]
fn thirty_booted_versions_are_judged_as_they_come() {
    let series = include_str!("../../../experiments/gate/versions/series.csv");
    let values: Vec<Nanos> = series
        .lines()
        .skip(1)
        .map(|l| Nanos(l.split_once(',').unwrap().1.parse().unwrap()))
        .collect();
    assert_eq!(values.len(), 30);
    for newest in 1..=30 {
        let places = found(&values[..newest]);
        let has = |version: usize| places.contains(&(version - 1));
        // A step is told with the sixth boot after six, and stays; a gain with the fifth.
        assert_eq!(has(7), newest >= 12, "1.07 by 1.{newest}: {places:?}");
        assert_eq!(has(13), newest >= 17, "1.13 by 1.{newest}: {places:?}");
        // The last step is told from its fifth boot on, and by then at its own version.
        assert_eq!(has(25), newest >= 29, "1.25 by 1.{newest}: {places:?}");
        // Of the drift no more is told than a step at its first version.
        let planted = places.iter().all(|p| [6, 12, 18, 24].contains(p));
        assert!(planted, "by 1.{newest}: {places:?}");
    }
}

/// Without first light all columns are judged, and each that is slower is a regression.
#[test]
fn all_times_that_are_slower_are_named() {
    let slower = Scatter::Normal.series(60, 40, 6.0, 3);
    let other = Scatter::Normal.series(60, 40, 6.0, 4);
    let same = Scatter::Normal.series(60, 60, 0.0, 5);
    let entry = |i: usize| HistoryEntry {
        label: format!("c{i}"),
        times: [&slower, &same, &other]
            .iter()
            .enumerate()
            .map(|(column, values)| (TimeKind::Column(column), format!("t{column}"), values[i]))
            .collect(),
        ..HistoryEntry::default()
    };
    let entries: Vec<HistoryEntry> = (0..60).map(entry).collect();
    let asked = history(&entries, None, &HistoryQuestion::default());
    let named = asked.regressions.iter().map(|at| &asked.changes[*at].item);
    assert_eq!(named.collect::<Vec<_>>(), ["t0", "t2"]);
    assert_eq!(
        asked.verdict,
        HistoryVerdict::Regressed(asked.regressions[0])
    );
}
