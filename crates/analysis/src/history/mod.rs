//! A history of boots: where the level of a time changed, by how much, by which items, and
//! whether the last change is a regression.
//!
//! The method is in `split` and `points`: a rank test at each place of a series, split
//! again and again. The rates of false alarms and of steps found are measured in
//! `tests/history.rs` and by `./x bench history`.

mod chance;
mod compared;
mod groups;
mod normal;
mod null;
mod points;
mod scatter;
mod series;
mod shape;
mod shift;
mod split;
mod strength;

pub use compared::Differing;
pub use groups::Groups;
pub use series::{EntryTimes, Level, Series};

use crate::boots::{ALLOW, Allowance, TimeKind, WORK_OF_UNITS, WORK_TRACED};
use crate::parallel::on_all_processors;
use record::{ClockKind, Nanos};
use std::collections::BTreeSet;

/// The chance of a false alarm in a history, over all times that are judged; and once more
/// over all phases, and over all items.
const CHANCE: f64 = 0.01;

/// The newest entries in which changes of phases and items are looked for.
pub const RECENT: usize = 1_000;

/// The most items that are looked at: the longest.
const MOST_ITEMS: usize = 1_000;

/// The longest items that are kept with the answer, beside those that changed.
const KEPT_ITEMS: usize = 20;

/// The fewest entries of which anything can be said: two levels of the least length.
pub const FEWEST: usize = 2 * strength::LEAST;

/// How many entries after a step the resolution is stated for.
const SOON: usize = 10;

/// An entry of a history: a boot of a commit, a release or a day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryEntry {
    /// The commit, release, date or row. Neighbors with the same one are the same thing
    /// booted again: no level begins between them.
    pub label: String,
    /// Fields of its environment, and their values.
    pub environment: Vec<(&'static str, String)>,
    /// Its release, if it is called by its commit, and remarks on it.
    pub marks: Vec<String>,
    /// Its times.
    pub times: EntryTimes,
}

/// What is asked of a history.
#[derive(Clone, Debug, Default)]
pub struct HistoryQuestion<'a> {
    /// The time to judge; without one, first light, or all columns of a table.
    pub of: Option<&'a str>,
    /// A regression up to this part of the level before it does not count.
    pub allow: Option<Allowance>,
    /// The step that has to be visible.
    pub see: Option<Allowance>,
    /// Changes that somebody accepted: label, name of the time or all, and why.
    pub accepted: Vec<Accepted>,
}

/// A change that somebody accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The entry at which it is, or next to which.
    pub label: String,
    /// The time; `None` for all.
    pub item: Option<String>,
    /// Why.
    pub why: String,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// What the clocks count; `None` if nothing says so.
    pub clock: Option<ClockKind>,
    /// The labels of the entries, in order.
    pub labels: Vec<String>,
    /// Entries with which a release begins, and remarks on entries.
    pub marks: Vec<(usize, String)>,
    /// The verdict.
    pub verdict: HistoryVerdict,
    /// Changes of all times, in order of entries; those of judged times first where
    /// several begin at the same entry.
    pub changes: Vec<HistoryChange>,
    /// Places of the changes that are regressions nobody accepted, at most one of each judged
    /// time or work of an item. The verdict names the first.
    pub regressions: Vec<usize>,
    /// What can be seen in each judged time, and in the work of items with a judged change.
    pub resolution: Vec<HistoryResolution>,
    /// Slow drifts of judged times, which no entry explains.
    pub drifts: Vec<Drift>,
    /// Judged times that fall into two groups of boots since their last change.
    pub groups: Vec<Groups>,
    /// Judged times, phases, items that changed, and the longest items.
    pub series: Vec<Series>,
    /// How many items there are in all, and how many were looked at.
    pub items: (usize, usize),
}

/// Whether a history ends with a regression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryVerdict {
    /// The last change of a judged time is a regression that nobody accepted; its place in
    /// the changes.
    Regressed(usize),
    /// It is not.
    Fine,
    /// Nothing can be said, and why, in a clause.
    CannotTell(String),
}

/// A change of level.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryChange {
    /// The first entry of the new level.
    pub index: usize,
    /// The entries among which it is, in 95 of 100 cases.
    pub range: (usize, usize),
    /// The label of that entry.
    pub label: String,
    /// The label of the entry before it.
    pub label_before: String,
    /// The time.
    pub kind: TimeKind,
    /// Its name.
    pub item: String,
    /// Whether it counts for the verdict: the time is judged, or is the work of an item and
    /// changes by more than is allowed.
    pub is_judged: bool,
    /// The medians before and after.
    pub medians: (Nanos, Nanos),
    /// The difference of the medians: positive is slower.
    pub change: Nanos,
    /// The 95 % confidence interval of the difference.
    pub interval: (Nanos, Nanos),
    /// How probable so uneven ranks are by chance, over all places of the series.
    pub p: f64,
    /// Why it is accepted, if it is.
    pub accepted: Option<String>,
    /// Fields of the environment that changed there: `kernel: 6.1 -> 6.12`.
    pub environment: Vec<String>,
    /// The items that differ between the level before and the level after; of judged
    /// times only.
    pub items: Vec<Differing>,
}

impl HistoryChange {
    /// The change as a part of the level before; `None` if that is zero.
    #[must_use]
    pub fn part(&self) -> Option<f64> {
        let before = self.medians.0.get();
        (before != 0).then(|| self.change.get() as f64 / before as f64)
    }
}

/// The least step of a judged time that is seen soon.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryResolution {
    /// The time.
    pub item: String,
    /// How many entries there are since its last change.
    pub entries: usize,
    /// Their median.
    pub level: Nanos,
    /// Their standard deviation, by the median of distances.
    pub scatter: Nanos,
    /// The least step that is found within ten entries in 90 of 100 cases; `None` of entries
    /// that are too few for any.
    pub visible: Option<Nanos>,
}

/// A slow change that no entry explains.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// The time.
    pub item: String,
    /// First and last entry of the stretch.
    pub entries: (usize, usize),
    /// From the median of its first quarter to that of its last.
    pub change: Nanos,
}

/// Answers `question` about `entries`, which are in order.
#[must_use]
pub fn history(
    entries: &[HistoryEntry],
    clock: Option<ClockKind>,
    question: &HistoryQuestion<'_>,
) -> History {
    let mut all = series::series(entries.iter().map(|e| &e.times));
    let is_judged = judged(&all, question.of);
    let (mut judged, others): (Vec<Series>, Vec<Series>) =
        all.drain(..).partition(|s| is_judged(s));
    let (mut phases, items): (Vec<Series>, Vec<Series>) =
        others.into_iter().partition(|s| !is_item(s));
    let recent = entries.len().saturating_sub(RECENT);
    let total = items.len();
    let items = longest(items, recent, entries.len());

    let beside = beside(&items, &judged, &phases);
    let mut changes = Vec::new();
    // The work of items is judged beside that of all, and has the chance of one judged time.
    let has_work = question.of.is_none() && judged.iter().any(|s| s.kind == TimeKind::Work);
    let is_judged_item = |s: &Series| has_work && matches!(s.kind, TimeKind::WorkOf(_));
    let judged_items = items.iter().filter(|s| is_judged_item(s)).count();
    let share = CHANCE / (judged.len() + usize::from(judged_items > 0)).max(1) as f64;
    let share_of_work = share / judged_items.max(1) as f64;
    for series in &mut judged {
        changes.extend(changes_of(series, entries, share, Some(&beside), question));
    }
    let share = CHANCE / phases.len().max(1) as f64;
    for series in &mut phases {
        let mut newest = series.within(recent, entries.len());
        changes.extend(changes_of(&mut newest, entries, share, None, question));
        series.levels = newest.levels;
    }
    let share = CHANCE / items.len().max(1) as f64;
    let looked_at = items.len();
    let allowed = allowed_work(&judged, question);
    let mut kept = Vec::new();
    let searched = on_all_processors(&items, |series| {
        let mut series = series.clone();
        let share = match is_judged_item(&series) {
            true => share_of_work,
            false => share,
        };
        let found = changes_of(&mut series, entries, share, None, question);
        (series, found)
    });
    for (place, (series, mut found)) in searched.into_iter().enumerate() {
        let is_work = is_judged_item(&series);
        for change in &mut found {
            change.is_judged = is_work && change.change.abs() > allowed;
        }
        let is_named = |c: &HistoryChange| c.items.iter().any(|i| i.name == series.name);
        if place < KEPT_ITEMS || !found.is_empty() || changes.iter().any(is_named) {
            kept.push(series);
        }
        changes.extend(found);
    }
    changes.sort_by(|a, b| {
        let key = |c: &HistoryChange| (c.index, !c.is_judged, c.kind);
        key(a).cmp(&key(b)).then_with(|| a.item.cmp(&b.item))
    });
    let mut seen: Vec<HistoryResolution> = judged.iter().filter_map(resolution).collect();
    let regressions = regressions((&judged, &kept), &changes, question);
    let verdict = match regressions.first() {
        Some(place) => HistoryVerdict::Regressed(*place),
        None => verdict(entries.len(), &judged, &seen, question),
    };
    let has_judged_change =
        |s: &&Series| is_judged_item(s) && last_judged(&changes, s.label()).is_some();
    let work = kept.iter().filter(has_judged_change);
    seen.extend(work.filter_map(resolution));
    let environment = |at: usize| {
        entries
            .get(at)
            .map_or(Vec::new(), |e| e.environment.clone())
    };
    let last_level = |s: &Series| {
        let from = s.levels.last().map_or(0, |l| l.from);
        s.within(from, entries.len())
    };
    let groups = judged.iter();
    let groups = groups.filter_map(|s| groups::groups(&last_level(s), &beside, &environment));
    History {
        clock,
        labels: entries.iter().map(|e| e.label.clone()).collect(),
        marks: marks(entries),
        verdict,
        regressions,
        drifts: judged.iter().flat_map(drifts).collect(),
        groups: groups.collect(),
        resolution: seen,
        changes,
        series: judged.into_iter().chain(phases).chain(kept).collect(),
        items: (total, looked_at),
    }
}

/// The marks of entries that the entry before does not have.
fn marks(entries: &[HistoryEntry]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|b| entries.get(b));
        let is_new = |mark: &&String| before.is_none_or(|b| !b.marks.contains(*mark));
        let new = entry.marks.iter().filter(is_new);
        found.extend(new.map(|mark| (at, mark.clone())));
    }
    found
}

/// Which series are judged.
fn judged(all: &[Series], of: Option<&str>) -> impl Fn(&Series) -> bool + use<> {
    let of = of.map(str::to_owned);
    let has_light = all.iter().any(|s| s.kind == TimeKind::FirstLight);
    let work = work(all);
    move |s: &Series| match &of {
        Some(name) => s.name == *name || s.label() == *name,
        None if has_light => match s.kind {
            TimeKind::Work => work == Some(s.name.as_str()),
            kind => kind == TimeKind::FirstLight,
        },
        None => matches!(s.kind, TimeKind::Column(_) | TimeKind::Total),
    }
}

/// Up to how much the work of an item may change: a part of first light, because a unit of a
/// millisecond may well grow by a tenth.
fn allowed_work(judged: &[Series], question: &HistoryQuestion<'_>) -> Nanos {
    let light = judged.iter().find(|s| s.kind == TimeKind::FirstLight);
    let level = light
        .and_then(|s| s.levels.last())
        .map_or(Nanos::ZERO, |l| l.median);
    question
        .allow
        .unwrap_or(Allowance::Percent(ALLOW))
        .of(level)
}

/// The last change of a judged time of this name, and its place in the changes.
fn last_judged<'a>(changes: &'a [HistoryChange], item: &str) -> Option<(usize, &'a HistoryChange)> {
    let mut of = changes.iter().enumerate();
    of.rfind(|(_, c)| c.is_judged && c.item == item)
}

/// Which work is judged beside first light, if enough entries have any: that of a trace, which
/// has all of it, if as many entries as of the other have it.
fn work(all: &[Series]) -> Option<&'static str> {
    let entries = |name: &str| {
        let found = all
            .iter()
            .find(|s| s.kind == TimeKind::Work && s.name == name);
        found.map_or(0, |s| s.points.len())
    };
    let (traced, units) = (entries(WORK_TRACED), entries(WORK_OF_UNITS));
    let name = match traced >= units {
        true => WORK_TRACED,
        false => WORK_OF_UNITS,
    };
    (traced.max(units) >= FEWEST).then_some(name)
}

/// What may explain a change of a judged time: items, and the columns of a table.
fn beside(items: &[Series], judged: &[Series], phases: &[Series]) -> Vec<Series> {
    let is_column = |s: &&Series| matches!(s.kind, TimeKind::Column(_));
    let columns = judged.iter().chain(phases).filter(is_column);
    let columns = columns.filter(|s| s.points.len() >= strength::LEAST);
    items
        .iter()
        .chain(columns.take(MOST_ITEMS))
        .cloned()
        .collect()
}

fn is_item(series: &Series) -> bool {
    series.kind.is_of_item() || series.kind == TimeKind::Milestone
}

/// Those of `items` with enough points in the newest entries, the longest first, with
/// these entries only.
fn longest(items: Vec<Series>, from: usize, to: usize) -> Vec<Series> {
    let recent = items.iter().map(|s| s.within(from, to));
    let mut recent: Vec<Series> = recent
        .filter(|s| s.points.len() >= strength::LEAST)
        .collect();
    recent.sort_by_cached_key(|s| {
        let longest = s.points.iter().map(|p| p.1).max();
        (std::cmp::Reverse(longest), s.kind, s.name.clone())
    });
    recent.truncate(MOST_ITEMS);
    recent
}

/// The changes of `series`, whose levels are filled in.
fn changes_of(
    series: &mut Series,
    entries: &[HistoryEntry],
    chance: f64,
    items: Option<&[Series]>,
    question: &HistoryQuestion<'_>,
) -> Vec<HistoryChange> {
    let values = series.values();
    let entry = |point: usize| series.points.get(point).map_or(0, |p| p.0);
    let label = |at: usize| entries.get(at).map_or("", |e| e.label.as_str());
    let may_begin: Vec<bool> = (0..values.len())
        .map(|p| p > 0 && label(entry(p)) != label(entry(p - 1)))
        .collect();
    let found = points::change_points(&values, &may_begin, chance);
    let mut bounds: Vec<usize> = found.iter().map(|f| f.at).collect();
    bounds.insert(0, 0);
    bounds.push(values.len());
    let levels = bounds.windows(2).filter_map(|w| {
        let median = crate::effect::median(values.get(w[0]..w[1])?)?;
        let (from, to) = (entry(w[0]), entry(w[1] - 1));
        Some(Level { from, to, median })
    });
    let levels: Vec<Level> = levels.collect();
    let changes = found.iter().zip(bounds.windows(3)).filter_map(|(f, w)| {
        // What may begin the next level says nothing of this one.
        let end = match w[2] == values.len() {
            true => w[2] - points::left_out(values.get(w[1]..)?),
            false => w[2],
        };
        let (before, after) = (values.get(w[0]..w[1])?, values.get(w[1]..end)?);
        let shift = shift::shift(before, after)?;
        let index = entry(f.at);
        let range = (entry(f.range.0), entry(f.range.1));
        let boots = |from: usize, to: usize| -> BTreeSet<usize> { (from..to).map(entry).collect() };
        let items = items
            .map(|all| compared::differing(all, series, &boots(w[0], w[1]), &boots(w[1], end)));
        let last = entry(f.at.saturating_sub(1));
        Some(HistoryChange {
            index,
            range,
            label: label(index).to_owned(),
            label_before: label(last).to_owned(),
            kind: series.kind,
            item: series.label().to_owned(),
            is_judged: items.is_some(),
            medians: (shift.before, shift.after),
            change: shift.after - shift.before,
            interval: shift.interval,
            p: f.p,
            accepted: accepted(
                series,
                (last.min(range.0), index.max(range.1)),
                entries,
                question,
            ),
            environment: changed_environment(entries, last, index),
            items: items.unwrap_or_default(),
        })
    });
    let changes = changes.collect();
    series.levels = levels;
    changes
}

/// Why a change of `series` among the entries of `range` is accepted.
fn accepted(
    series: &Series,
    (from, to): (usize, usize),
    entries: &[HistoryEntry],
    question: &HistoryQuestion<'_>,
) -> Option<String> {
    let labels = entries.get(from..=to)?;
    let all = question.accepted.iter();
    let mut meant = all.filter(|a| {
        let is_item = |name: &String| name == series.label() || *name == series.name;
        a.item.as_ref().is_none_or(is_item) && labels.iter().any(|e| e.label == a.label)
    });
    meant.next_back().map(|a| a.why.clone())
}

fn changed_environment(entries: &[HistoryEntry], before: usize, after: usize) -> Vec<String> {
    let (Some(before), Some(after)) = (entries.get(before), entries.get(after)) else {
        return Vec::new();
    };
    let changed = after.environment.iter().filter_map(|(name, new)| {
        let (_, old) = before.environment.iter().find(|(n, _)| n == name)?;
        (old != new).then(|| format!("{name}: {old} -> {new}"))
    });
    changed.collect()
}

fn resolution(series: &Series) -> Option<HistoryResolution> {
    let level = series.levels.last()?;
    let points = series.points.iter().filter(|p| p.0 >= level.from);
    let values: Vec<Nanos> = points.map(|p| p.1).collect();
    let deviation = crate::statistics::median_deviation(&values)?;
    let scatter = deviation.get() as f64 * 1.4826;
    let (n, soon) = (values.len() as f64, SOON as f64);
    // What the test needs, and 1.28 deviations of it more for 90 of 100.
    let needed = normal::quantile(1.0 - CHANCE / 100.0) + normal::quantile(0.9);
    let visible = needed * scatter * (1.0 / n + 1.0 / soon).sqrt();
    Some(HistoryResolution {
        item: series.label().to_owned(),
        entries: values.len(),
        level: level.median,
        scatter: Nanos(scatter.round() as i64),
        visible: (series.points.len() >= FEWEST).then_some(Nanos(visible.ceil() as i64)),
    })
}

/// From this squared strength on, a straight line is no chance: four deviations.
const DRIFTING: f64 = 16.0;

/// Drifts within the levels of `series`.
fn drifts(series: &Series) -> Vec<Drift> {
    let of_level = |level: &Level| {
        let points = series.within(level.from, level.to + 1).values();
        let quarter = points.len() / 4;
        if quarter < strength::LEAST || strength::drift(&points) < DRIFTING {
            return None;
        }
        let first = crate::effect::median(points.get(..quarter)?)?;
        let last = crate::effect::median(points.get(points.len() - quarter..)?)?;
        Some(Drift {
            item: series.label().to_owned(),
            entries: (level.from, level.to),
            change: last - first,
        })
    };
    series.levels.iter().filter_map(of_level).collect()
}

/// The last changes of the `judged` times, and of the `items` with a judged change, that are
/// regressions.
fn regressions(
    (judged, items): (&[Series], &[Series]),
    changes: &[HistoryChange],
    question: &HistoryQuestion<'_>,
) -> Vec<usize> {
    let allowed = |c: &HistoryChange| {
        let allow = question.allow;
        allow.map_or(Nanos::ZERO, |a| a.of(c.medians.0))
    };
    let last = |s: &Series| last_judged(changes, s.label());
    let of_judged = judged.iter().filter_map(last);
    let of_judged = of_judged.filter(|(_, c)| c.change > allowed(c));
    // What is allowed of an item decides whether its change is judged.
    let of_items = items.iter().filter_map(last);
    let of_items = of_items.filter(|(_, c)| c.change > Nanos::ZERO);
    let all = of_judged.chain(of_items);
    all.filter(|(_, c)| c.accepted.is_none())
        .map(|(place, _)| place)
        .collect()
}

/// What is said of a history without a regression.
fn verdict(
    labels: usize,
    judged: &[Series],
    resolution: &[HistoryResolution],
    question: &HistoryQuestion<'_>,
) -> HistoryVerdict {
    if labels == 0 {
        return HistoryVerdict::CannotTell("the history has no entries yet".to_owned());
    }
    let Some(longest) = judged.iter().map(|s| s.points.len()).max() else {
        let why = match question.of {
            Some(name) => format!("no entry has a time that is called {name}"),
            None => {
                "no entry has a first-light time; choose another time with --of NAME".to_owned()
            }
        };
        return HistoryVerdict::CannotTell(why);
    };
    if longest < FEWEST {
        return HistoryVerdict::CannotTell(format!(
            "the history has {longest} of the {FEWEST} entries that a change point needs"
        ));
    }
    let blind = resolution.iter().find_map(|r| {
        let asked = question.see?.of(r.level);
        let visible = r.visible?;
        (visible > asked).then(|| {
            format!(
                "a step of {asked} in {} cannot be seen; the least that is seen within {SOON} \
                 entries is {visible}",
                r.item
            )
        })
    });
    blind.map_or(HistoryVerdict::Fine, HistoryVerdict::CannotTell)
}
