//! Everything that a page shows of a boot.

use crate::boot::{Boot, boot};
use crate::chart::{Chart, ChartLimits, chart};
use crate::deferrals::{Deferral, deferrals};
use crate::forecast::{Lever, levers};
use crate::functions::{Calls, FunctionOrder, Functions, calls, functions};
use crate::io::{Io, Owners, io};
use crate::path::{CriticalPath, Model, Through};
use crate::phases::Options;
use crate::place::Place;
use record::Record;
use std::collections::BTreeSet;

/// How many rows each table holds at most: the first in its order.
const ROWS: usize = 20_000;

/// How many items of the critical path are shown at most.
const PATH_ITEMS: usize = 5_000;

/// In how many parts throughput is shown.
const STRETCHES: usize = 240;

/// A boot, explained and ready to be drawn.
#[derive(Debug)]
pub struct Picture<'r> {
    /// Phases, findings, the ledger, what took longest.
    pub boot: Boot,
    /// Intervals, instants, readings, log lines.
    pub chart: Chart<'r>,
    /// What first light waited for: of very many items the longest, in order.
    pub path: CriticalPath,
    /// How many items the path has in all.
    pub path_items: usize,
    /// The longest items of the path, and first light by how long each takes.
    pub levers: Vec<Lever>,
    /// What was asked of block devices; `None` if nothing was.
    pub io: Option<Io>,
    /// How many files there are in all: [`Io::files`] holds the first.
    pub files: usize,
    /// Functions by time.
    pub functions: Functions,
    /// The tree of calls.
    pub calls: Calls,
    /// Devices whose probes were put off.
    pub deferrals: Vec<Deferral>,
}

impl Picture<'_> {
    /// The places of all evidence that tables show, of each table's first `most` rows.
    #[must_use]
    pub fn evidence(&self, most: usize) -> BTreeSet<&Place> {
        let boot = &self.boot;
        let rows = boot.longest.iter();
        let rows = rows.flat_map(|(_, b)| b.rows.iter().take(most).map(|r| &r.origin));
        let marks = boot.phases.milestones.iter().map(|m| &m.origin);
        let findings = boot.findings.iter().flat_map(|f| &f.evidence);
        let notes = boot.ledger.notes.iter().filter_map(|n| n.first.as_ref());
        let deferrals = self.deferrals.iter().take(most);
        rows.chain(marks)
            .chain(findings.map(|e| &e.place))
            .chain(notes)
            .chain(deferrals.map(|d| &d.origin))
            .collect()
    }
}

/// Everything that a page shows of a boot; `owners` says which files requests
/// are for.
#[must_use]
pub fn picture<'r>(
    record: &'r Record,
    owners: Option<&'r Owners>,
    options: &Options,
    limits: ChartLimits,
) -> Picture<'r> {
    let boot = boot(record, options, ROWS);
    let mut io = Some(io(record, owners, STRETCHES)).filter(|io| !io.is_empty());
    let files = io.as_ref().map_or(0, |io| io.files.len());
    if let Some(io) = &mut io {
        io.files.truncate(ROWS);
        io.owners.truncate(ROWS);
    }
    let model = Model::new(record, &boot.phases, Through::Units);
    let mut path = model.path();
    let levers = levers(&model, &path);
    let path_items = path.items.len();
    keep_longest(&mut path, PATH_ITEMS);
    Picture {
        path_items,
        levers,
        chart: chart(record, &boot.phases, owners, limits),
        path,
        io,
        files,
        functions: functions(record, FunctionOrder::Time, ROWS),
        calls: calls(record, ROWS),
        deferrals: deferrals(record),
        boot,
    }
}

/// Takes out the shortest items past `limit`.
fn keep_longest(path: &mut CriticalPath, limit: usize) {
    let mut lengths: Vec<_> = path.items.iter().map(|i| i.end - i.start).collect();
    let over = lengths.len().saturating_sub(limit);
    if over == 0 {
        return;
    }
    let (_, least, longer) = lengths.select_nth_unstable(over);
    let least = *least;
    // Of those as long as the shortest that stays, the first stay.
    let mut room = limit - longer.iter().filter(|l| **l > least).count();
    path.items.retain(|i| {
        let length = i.end - i.start;
        let stays = length > least || (length == least && room > 0);
        room -= usize::from(stays && length == least);
        stays
    });
}
