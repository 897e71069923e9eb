//! `firstlight.history/1`, and what else `history` prints.

use super::boots::KINDS;
use super::document::Document;
use super::values::CLOCKS;
use analysis::{Differing, HistoryVerdict};
use record::{ClockKind, Nanos};
use schemars::JsonSchema;
use serde::Serialize;

/// Verdicts of a history.
const VERDICTS: [&str; 3] = ["regressed", "fine", "cannot_tell"];

/// Changes of times over the entries of a history.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct History {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Verdict: whether the last change of a judged time is an unaccepted regression.
    #[schemars(extend("enum" = VERDICTS))]
    pub verdict: &'static str,
    /// Reason why nothing can be said; null otherwise.
    pub reason: Option<String>,
    /// Kind of clock; null if the input does not say.
    #[schemars(extend("enum" = CLOCKS))]
    pub clock: Option<&'static str>,
    /// Number of entries.
    pub entries: usize,
    /// Names of the judged times.
    pub judged: Vec<String>,
    /// Change points, oldest first. Judged times come first at the same entry.
    pub change_points: Vec<HistoryChange>,
    /// Resolution of each judged time.
    pub resolution: Vec<HistoryResolution>,
    /// Slow drifts of judged times that no single entry explains.
    pub drifts: Vec<HistoryDrift>,
    /// Judged times whose boots fall into two groups since the last change point.
    pub groups: Vec<HistoryGroups>,
    /// Number of items in the history.
    pub items: usize,
    /// Number of items searched for change points.
    pub items_searched: usize,
    /// Entries with which a release begins, and remarks on entries, oldest first.
    pub marks: Vec<HistoryMark>,
    /// Problems of the input, one sentence each.
    pub notes: Vec<String>,
}

/// A release that begins, or a remark.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct HistoryMark {
    /// Index of the entry, from 0.
    pub index: usize,
    /// Commit, release, date or row of that entry.
    pub commit: String,
    /// `release NAME`, or the remark.
    pub text: String,
}

impl Document for History {
    const SCHEMA: &'static str = "firstlight.history/1";
    const TITLE: &'static str = "Output of `firstlight history check --json`";
}

/// A change point.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct HistoryChange {
    /// Index of the first entry with the new level, from 0.
    pub index: usize,
    /// First and last index of its 95 % confidence interval.
    pub range: [usize; 2],
    /// Commit, release, date or row of that entry.
    pub commit: String,
    /// Commit, release, date or row of the entry before it.
    pub previous: String,
    /// Name of the time.
    pub item: String,
    /// Kind of time.
    #[schemars(extend("enum" = KINDS))]
    pub kind: &'static str,
    /// Whether the verdict depends on this time.
    pub judged: bool,
    /// Median before the change.
    pub before_ns: i64,
    /// Median after the change.
    pub after_ns: i64,
    /// Difference of the medians; positive is slower.
    pub change_ns: i64,
    /// 95 % confidence interval of the difference.
    pub interval_ns: [i64; 2],
    /// Probability of such a change arising by chance anywhere in the series.
    #[schemars(range(min = 0, max = 1))]
    pub p: f64,
    /// Reason for accepting the change; null if it is not accepted.
    pub accepted: Option<String>,
    /// Changes of the environment at this entry.
    pub environment: Vec<String>,
    /// Items that changed with a judged time, largest change first.
    pub items: Vec<HistoryItem>,
}

/// An item that differs between two sets of boots.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct HistoryItem {
    /// Kind of item.
    #[schemars(extend("enum" = KINDS))]
    pub kind: &'static str,
    /// Name of the item.
    pub name: String,
    /// Median in the first set; null if the item is new.
    pub before_ns: Option<i64>,
    /// Median in the second set; null if the item is gone.
    pub after_ns: Option<i64>,
    /// Probability of such a difference arising by chance in this item.
    #[schemars(range(min = 0, max = 1))]
    pub p: f64,
}

/// Resolution of a judged time.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct HistoryResolution {
    /// Name of the time.
    pub item: String,
    /// Number of entries since its last change point.
    pub entries: usize,
    /// Their median.
    pub median_ns: i64,
    /// Their standard deviation, estimated from the median absolute deviation.
    pub scatter_ns: i64,
    /// Smallest step that is found within ten entries in 90 % of cases; null with fewer in all.
    pub visible_ns: Option<i64>,
}

/// A slow drift.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct HistoryDrift {
    /// Name of the time.
    pub item: String,
    /// First and last index.
    pub range: [usize; 2],
    /// Median of the last quarter minus median of the first quarter.
    pub change_ns: i64,
}

/// Two groups of boots.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct HistoryGroups {
    /// Name of the time.
    pub item: String,
    /// Number of boots in the faster group and in the slower group.
    pub boots: [usize; 2],
    /// Median of the faster group and of the slower group.
    pub medians_ns: [i64; 2],
    /// Shortest time of the slower group.
    pub from_ns: i64,
    /// Fields of the environment that differ between the groups.
    pub environment: Vec<String>,
    /// Items that differ between the groups, largest difference first.
    pub items: Vec<HistoryItem>,
}

/// A history, in the shape of `schemas/history.json`; `notes` are problems of the input.
#[must_use]
pub fn history(h: &analysis::History, notes: &[String]) -> History {
    let (verdict, reason) = match &h.verdict {
        HistoryVerdict::Regressed(_) => ("regressed", None),
        HistoryVerdict::Fine => ("fine", None),
        HistoryVerdict::CannotTell(why) => ("cannot_tell", Some(why.clone())),
    };
    let drift = |d: &analysis::Drift| HistoryDrift {
        item: d.item.clone(),
        range: [d.entries.0, d.entries.1],
        change_ns: d.change.get(),
    };
    let resolution = |r: &analysis::HistoryResolution| HistoryResolution {
        item: r.item.clone(),
        entries: r.entries,
        median_ns: r.level.get(),
        scatter_ns: r.scatter.get(),
        visible_ns: r.visible.map(Nanos::get),
    };
    let mark = |(index, text): &(usize, String)| HistoryMark {
        index: *index,
        commit: h.labels.get(*index).cloned().unwrap_or_default(),
        text: text.clone(),
    };
    History {
        schema: History::SCHEMA,
        verdict,
        reason,
        clock: h.clock.map(ClockKind::as_str),
        entries: h.labels.len(),
        judged: h.resolution.iter().map(|r| r.item.clone()).collect(),
        change_points: h.changes.iter().map(change).collect(),
        resolution: h.resolution.iter().map(resolution).collect(),
        drifts: h.drifts.iter().map(drift).collect(),
        groups: h.groups.iter().map(groups).collect(),
        items: h.items.0,
        items_searched: h.items.1,
        marks: h.marks.iter().map(mark).collect(),
        notes: notes.to_vec(),
    }
}

fn change(c: &analysis::HistoryChange) -> HistoryChange {
    HistoryChange {
        index: c.index,
        range: [c.range.0, c.range.1],
        commit: c.label.clone(),
        previous: c.label_before.clone(),
        item: c.item.clone(),
        kind: c.kind.as_str(),
        judged: c.is_judged,
        before_ns: c.medians.0.get(),
        after_ns: c.medians.1.get(),
        change_ns: c.change.get(),
        interval_ns: [c.interval.0.get(), c.interval.1.get()],
        p: c.p,
        accepted: c.accepted.clone(),
        environment: c.environment.clone(),
        items: c.items.iter().map(item).collect(),
    }
}

fn item(d: &Differing) -> HistoryItem {
    HistoryItem {
        kind: d.kind.as_str(),
        name: d.name.clone(),
        before_ns: d.before.map(Nanos::get),
        after_ns: d.after.map(Nanos::get),
        p: d.p,
    }
}

fn groups(g: &analysis::Groups) -> HistoryGroups {
    HistoryGroups {
        item: g.item.clone(),
        boots: [g.counts.0, g.counts.1],
        medians_ns: [g.medians.0.get(), g.medians.1.get()],
        from_ns: g.from.get(),
        environment: g.environment.clone(),
        items: g.items.iter().map(item).collect(),
    }
}

/// Entries added to a history.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct HistoryAdd {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Files written, relative to the store.
    pub added: Vec<String>,
    /// Number of boots that were already in the store.
    pub known: usize,
}

impl Document for HistoryAdd {
    const SCHEMA: &'static str = "firstlight.history.add/1";
    const TITLE: &'static str = "Output of `firstlight history add --json`";
}

impl HistoryAdd {
    /// Of files written, and of how many boots were there.
    #[must_use]
    pub fn of(added: Vec<String>, known: usize) -> Self {
        Self {
            schema: Self::SCHEMA,
            added,
            known,
        }
    }
}

/// An annotation added to a history.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct HistoryAnnotate {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// File written, relative to the store.
    pub file: String,
}

impl Document for HistoryAnnotate {
    const SCHEMA: &'static str = "firstlight.history.annotate/1";
    const TITLE: &'static str = "Output of `firstlight history annotate --json`";
}

impl HistoryAnnotate {
    /// Of the file written.
    #[must_use]
    pub fn of(file: String) -> Self {
        Self {
            schema: Self::SCHEMA,
            file,
        }
    }
}

/// Entries of a history.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct HistoryShow {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// The check of the history.
    pub check: History,
    /// Times of the entries: judged times, phases, items that changed and the longest items.
    pub series: Vec<HistorySeries>,
    /// Commit, release, date or row of each entry.
    pub labels: Vec<String>,
}

/// One time over the entries of a history.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct HistorySeries {
    /// Name of the time.
    pub item: String,
    /// Kind of time.
    #[schemars(extend("enum" = KINDS))]
    pub kind: &'static str,
    /// Indexes of the entries that have it.
    pub entries: Vec<usize>,
    /// Its times in these entries.
    pub values_ns: Vec<i64>,
}

impl Document for HistoryShow {
    const SCHEMA: &'static str = "firstlight.history.show/1";
    const TITLE: &'static str = "Output of `firstlight history show --json`";
}

/// A history with its entries, in the shape of `schemas/history.show.json`.
#[must_use]
pub fn history_show(h: &analysis::History, notes: &[String]) -> HistoryShow {
    let series = |s: &analysis::Series| HistorySeries {
        item: s.label().to_owned(),
        kind: s.kind.as_str(),
        entries: s.points.iter().map(|p| p.0).collect(),
        values_ns: s.points.iter().map(|p| p.1.get()).collect(),
    };
    HistoryShow {
        schema: HistoryShow::SCHEMA,
        check: history(h, notes),
        series: h.series.iter().map(series).collect(),
        labels: h.labels.clone(),
    }
}
