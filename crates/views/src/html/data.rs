//! What the page's script gets to draw.

use super::lanes::Lanes;
use super::side::{Page, Side};
use crate::calibration::ForecastTruth;
use crate::json::Document;
use crate::json::{self, Calls, Deferrals, Diff, Functions, Io, Lab, LabBoard, Path, Show};
use crate::{terminal, words};
use analysis::{Blame, BlameKind, BlameRow, BoardReport};
use record::{Doubt, Nanos};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Data of a page with one or two boots.
#[derive(JsonSchema, Serialize)]
pub(super) struct Data<'p> {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    schema: &'static str,
    /// Program that wrote the page, with its version.
    #[schemars(length(min = 1))]
    made_by: &'static str,
    /// Title of the page.
    title: &'p str,
    /// The boot, or the baseline of an experiment.
    baseline: Boot<'p>,
    /// Best variant of an experiment; null without an experiment.
    best: Option<Boot<'p>>,
    /// Comparison of the two boots; null for one boot.
    comparison: Option<Diff>,
    /// Experiment; null without one.
    lab: Option<Lab>,
    /// Run on a board; null without one.
    board: Option<Board>,
    /// Forecasts of the lab beside that run; null without them.
    truth: Option<Truth<'p>>,
    /// Meaning of each doubt that occurs.
    doubts: BTreeMap<&'static str, &'static str>,
}

impl Document for Data<'_> {
    const SCHEMA: &'static str = "firstlight.page/2";
    const TITLE: &'static str =
        "Element `#data` of a page of `firstlight report` or `firstlight serve`";
}

/// A run on a board.
#[derive(JsonSchema, Serialize)]
struct Board {
    /// Trials and their comparison.
    run: LabBoard,
    /// How to read the comparison: scatter, rule, drift, time without power, state.
    says: Vec<String>,
}

impl Board {
    fn of(report: &BoardReport) -> Self {
        Self {
            run: json::lab_board(report),
            says: terminal::board_explained(report),
        }
    }
}

/// Forecasts of the lab beside the results of a board.
#[derive(JsonSchema, Serialize)]
struct Truth<'p> {
    /// The variants of both sides.
    table: &'p ForecastTruth,
    /// What the table means.
    says: Vec<String>,
}

/// A boot on the page.
#[derive(JsonSchema, Serialize)]
struct Boot<'p> {
    /// Title of the boot.
    title: &'p str,
    /// Overview. All numbers of inputs on the page count in `show.sources`.
    show: Show,
    /// What the reader needs to know about the clock.
    clock_says: Option<&'static str>,
    /// Critical path, shortened to its longest items.
    path: Path,
    /// Number of items on the whole critical path.
    path_items: usize,
    /// Longest items of the critical path, and first light by how long each takes.
    levers: Vec<Lever<'p>>,
    /// Timeline.
    lanes: Lanes<'p>,
    /// Items that took longest, by kind.
    blame: Vec<Kind>,
    /// Deferred probes.
    deferrals: Deferrals,
    /// Block I/O; null if the input shows none.
    io: Option<Io>,
    /// Number of files in all. `io` has the first of them.
    files: usize,
    /// Functions of a function trace; null without one.
    functions: Option<Functions>,
    /// Call tree of a function trace; null without one.
    calls: Option<Calls>,
    /// Lines of the inputs: number of the input, byte offset, text.
    lines: Vec<(usize, u64, &'p str)>,
}

/// An item of the critical path, and first light by how long it takes, all else being equal.
#[derive(JsonSchema, Serialize)]
struct Lever<'p> {
    /// Kind of item.
    kind: &'static str,
    /// Name of the item.
    name: &'p str,
    /// Duration in the boot, in nanoseconds.
    took_ns: i64,
    /// Forecasts, from a duration of nothing up: duration, then first light at the earliest,
    /// expected, and at the latest. All in nanoseconds.
    steps: Vec<(i64, i64, i64, i64)>,
}

impl<'p> Lever<'p> {
    fn of(lever: &'p analysis::Lever) -> Self {
        let steps = lever.steps.iter().map(|s| {
            let new = s.new;
            (s.left.0, new.least.0, new.expected.0, new.most.0)
        });
        Self {
            kind: lever.kind.as_str(),
            name: &lever.name,
            took_ns: lever.took.0,
            steps: steps.collect(),
        }
    }
}

/// Items of one kind that took longest.
#[derive(JsonSchema, Serialize)]
struct Kind {
    /// Kind of item.
    kind: &'static str,
    /// Number of items in all.
    total: usize,
    /// Name, start, end, wall time, reported time, doubt, outcome, process ID, CPU time, number
    /// of the input, byte offset. Times are nanoseconds.
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
            schema: Self::SCHEMA,
            made_by: concat!("firstlight ", env!("CARGO_PKG_VERSION")),
            title: &page.title,
            doubts: doubts.map(|d| (d.as_str(), d.explain())).collect(),
            baseline: Boot::of(&page.baseline),
            best: page.best.as_ref().map(Boot::of),
            comparison: page.comparison.as_ref().map(json::diff),
            lab: page.experiment.as_ref().map(json::lab),
            board: page.board.as_ref().map(Board::of),
            truth: page.truth.as_ref().map(|table| Truth {
                says: table.sentences(),
                table,
            }),
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
            clock_says: words::clock_of(&picture.boot),
            path: json::path_as_it_was(&picture.path),
            path_items: picture.path_items,
            levers: picture.levers.iter().map(Lever::of).collect(),
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
