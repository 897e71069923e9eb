//! What the page's script gets to draw.

use super::{Page, Side};
use crate::json::{self, Diff, Lab, Show};
use crate::words;
use analysis::{Bar, BlameRow};
use record::{Doubt, Nanos};
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything on the page.
#[derive(Serialize)]
pub(super) struct Data {
    schema: &'static str,
    title: String,
    baseline: Boot,
    best: Option<Boot>,
    comparison: Option<Diff>,
    lab: Option<Lab>,
    /// What each doubt means.
    doubts: BTreeMap<&'static str, &'static str>,
}

/// One boot.
#[derive(Serialize)]
struct Boot {
    title: String,
    show: Show,
    /// What the reader must know of the clock.
    clock_says: Option<&'static str>,
    /// The names of sources; rows and bars hold indexes into it.
    sources: Vec<String>,
    /// Everything that took time: `[kind, name, start, end, wall, reported,
    /// doubt, outcome, source, offset]`.
    rows: Vec<Row>,
    /// How many rows there are in all.
    total_rows: usize,
    /// The time line: `[kind, name, lane, start, end, reported, doubt, outcome,
    /// source, offset]`.
    bars: Vec<BarRow>,
    /// How many bars were left out.
    left_out: usize,
}

type Row = (
    &'static str,
    String,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<&'static str>,
    Option<i32>,
    usize,
    u64,
);

type BarRow = (
    &'static str,
    String,
    usize,
    i64,
    i64,
    Option<i64>,
    Option<&'static str>,
    Option<i32>,
    usize,
    u64,
);

impl Data {
    pub(super) fn of(page: &Page) -> Self {
        let sides = [Some(&page.baseline), page.best.as_ref()];
        let rows = sides.into_iter().flatten().flat_map(|s| &s.blame.rows);
        let doubts = rows.filter_map(|r| r.doubt);
        Self {
            schema: "firstlight.page/1",
            title: page.title.clone(),
            doubts: doubts.map(|d| (d.as_str(), d.explain())).collect(),
            baseline: Boot::of(&page.baseline),
            best: page.best.as_ref().map(Boot::of),
            comparison: page.comparison.as_ref().map(json::diff),
            lab: page.experiment.as_ref().map(json::lab),
        }
    }
}

impl Boot {
    fn of(side: &Side) -> Self {
        let mut sources = Vec::new();
        let mut index = |name: &str| {
            let known = sources.iter().position(|s| s == name);
            known.unwrap_or_else(|| {
                sources.push(name.to_owned());
                sources.len() - 1
            })
        };
        let rows = side.blame.rows.iter();
        let rows = rows.map(|r| row(r, index(&r.origin.source))).collect();
        let bars = side.timeline.bars.iter();
        let bars = bars.map(|b| bar(b, index(&b.origin.source))).collect();
        Self {
            title: side.title.clone(),
            show: json::show(&side.boot),
            clock_says: side.boot.phases.clock.map(words::clock),
            rows,
            total_rows: side.blame.total_rows,
            bars,
            sources,
            left_out: side.timeline.left_out,
        }
    }
}

fn row(r: &BlameRow, source: usize) -> Row {
    (
        r.kind.as_str(),
        r.name.clone(),
        r.start.map(Nanos::get),
        r.end.map(Nanos::get),
        r.wall.map(Nanos::get),
        r.reported.map(Nanos::get),
        r.doubt.map(Doubt::as_str),
        r.outcome,
        source,
        r.origin.offset,
    )
}

fn bar(b: &Bar, source: usize) -> BarRow {
    (
        b.kind.as_str(),
        b.name.clone(),
        b.lane,
        b.start.get(),
        b.end.get(),
        b.reported.map(Nanos::get),
        b.doubt.map(Doubt::as_str),
        b.outcome,
        source,
        b.origin.offset,
    )
}
