//! What the page's script gets to draw.

use super::lanes::Lanes;
use super::{Page, Side};
use crate::json::{self, Calls, Deferrals, Diff, Functions, Io, Lab, Path, Show};
use crate::words;
use analysis::{Blame, BlameKind, BlameRow};
use record::{Doubt, Nanos};
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything on the page.
#[derive(Serialize)]
pub(super) struct Data<'p> {
    schema: &'static str,
    /// Which program made it.
    made_by: &'static str,
    title: &'p str,
    baseline: Boot<'p>,
    best: Option<Boot<'p>>,
    comparison: Option<Diff>,
    lab: Option<Lab>,
    /// What each doubt means.
    doubts: BTreeMap<&'static str, &'static str>,
}

/// One boot.
#[derive(Serialize)]
struct Boot<'p> {
    title: &'p str,
    /// Wherever a number names a source, it is of `show.sources`.
    show: Show,
    /// What the reader must know of the clock.
    clock_says: Option<&'static str>,
    /// Of very many items the longest.
    path: Path,
    /// How many items it has in all.
    path_items: usize,
    lanes: Lanes<'p>,
    /// What took longest, by kind.
    blame: Vec<Kind>,
    deferrals: Deferrals,
    io: Option<Io>,
    /// How many files there are in all: those of `io` are the first.
    files: usize,
    functions: Option<Functions>,
    calls: Option<Calls>,
    /// Lines of the sources: `[source, offset, line]`.
    lines: Vec<(usize, u64, &'p str)>,
}

/// What took longest, of one kind.
#[derive(Serialize)]
struct Kind {
    kind: &'static str,
    /// How many rows there are in all.
    total: usize,
    /// `[name, start, end, wall, reported, doubt, outcome, pid, cpu, source,
    /// offset]`.
    rows: Vec<Row>,
}

type Row = (
    String,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<&'static str>,
    Option<i32>,
    Option<u32>,
    Option<i64>,
    Option<usize>,
    u64,
);

impl<'p> Data<'p> {
    pub(super) fn of(page: &'p Page<'p>) -> Self {
        let sides = [Some(&page.baseline), page.best.as_ref()];
        let rows = sides.into_iter().flatten();
        let rows = rows.flat_map(|s| s.picture.boot.longest.iter().flat_map(|(_, b)| &b.rows));
        let doubts = rows.filter_map(|r| r.doubt);
        Self {
            schema: "firstlight.page/2",
            made_by: concat!("firstlight ", env!("CARGO_PKG_VERSION")),
            title: &page.title,
            doubts: doubts.map(|d| (d.as_str(), d.explain())).collect(),
            baseline: Boot::of(&page.baseline),
            best: page.best.as_ref().map(Boot::of),
            comparison: page.comparison.as_ref().map(json::diff),
            lab: page.experiment.as_ref().map(json::lab),
        }
    }
}

impl<'p> Boot<'p> {
    fn of(side: &'p Side<'p>) -> Self {
        let picture = &side.picture;
        let sources = &picture.boot.ledger.sources;
        let source = |name: &str| sources.iter().position(|s| s.name == name);
        let functions = Some(&picture.functions).filter(|f| !f.rows.is_empty());
        let calls = Some(&picture.calls).filter(|c| !c.rows.is_empty());
        let lines = side.lines.iter();
        let longest = picture.boot.longest.iter();
        Self {
            title: &side.title,
            show: json::show(&picture.boot),
            clock_says: picture.boot.phases.clock.map(words::clock),
            path: json::path(&picture.path),
            path_items: picture.path_items,
            lanes: Lanes::of(&picture.chart),
            blame: longest.map(|(k, b)| kind(*k, b, source)).collect(),
            deferrals: json::deferrals(&picture.deferrals, 0),
            io: picture.io.as_ref().map(json::io),
            files: picture.files,
            functions: functions.map(json::functions),
            calls: calls.map(json::calls),
            lines: lines
                .filter_map(|l| Some((source(&l.place.source)?, l.place.offset, l.text.as_str())))
                .collect(),
        }
    }
}

fn kind(kind: BlameKind, blame: &Blame, source: impl Fn(&str) -> Option<usize>) -> Kind {
    let row = |r: &BlameRow| {
        (
            r.name.clone(),
            r.start.map(Nanos::get),
            r.end.map(Nanos::get),
            r.wall.map(Nanos::get),
            r.reported.map(Nanos::get),
            r.doubt.map(Doubt::as_str),
            r.outcome,
            r.pid,
            r.cpu.map(Nanos::get),
            source(&r.origin.source),
            r.origin.offset,
        )
    };
    Kind {
        kind: kind.as_str(),
        total: blame.total_rows,
        rows: blame.rows.iter().map(row).collect(),
    }
}
