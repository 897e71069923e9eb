//! What is recorded beside marks, spans and messages.

use crate::arrival::Arrival;
use crate::calls::CallTree;
use crate::clock::ClockId;
use crate::io::{Access, Device, Operation, Request, RequestEvents, RequestTotals};
use crate::process::{Process, Slice, Wake};
use crate::series::Series;
use crate::source::Origin;
use crate::table::{Table, Taken};
use crate::time::Nanos;
use std::collections::BTreeMap;

/// The tables of a record, bounded each.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// What their rows take.
    pub(crate) taken: Taken,
    pub(crate) arrivals: Table<Arrival>,
    pub(crate) requests: Table<Request>,
    pub(crate) totals: [RequestTotals; Operation::ALL.len()],
    pub(crate) request_events: BTreeMap<(Device, Operation), RequestEvents>,
    pub(crate) accesses: Table<Access>,
    pub(crate) processes: Table<Process>,
    pub(crate) slices: Table<Slice>,
    /// Slices and wakes are not asked for.
    pub(crate) without_scheduling: bool,
    /// How many rows of it have no length, because they did not end.
    pub(crate) empty_slices: usize,
    pub(crate) wakes: Table<Wake>,
    pub(crate) series: Vec<Series>,
    pub(crate) samples: usize,
    pub(crate) refused_samples: u64,
    pub(crate) functions: CallTree,
    pub(crate) stacks: CallTree,
}

impl Tables {
    /// How many rows found no room, with the evidence of the first, by table.
    pub(crate) fn refused(&self) -> Vec<(&'static str, u64, Option<Origin>)> {
        let first = |s: &[Series]| s.first().map(|s| s.origin);
        let of_table = [
            (
                "arrivals",
                self.arrivals.refused,
                self.arrivals.first_refused,
            ),
            (
                "requests",
                self.requests.refused,
                self.requests.first_refused,
            ),
            (
                "accesses",
                self.accesses.refused,
                self.accesses.first_refused,
            ),
            (
                "processes",
                self.processes.refused,
                self.processes.first_refused,
            ),
            ("slices", self.slices.refused, self.slices.first_refused),
            ("wakes", self.wakes.refused, self.wakes.first_refused),
            ("samples", self.refused_samples, first(&self.series)),
            ("functions", self.functions.refused(), None),
            ("stacks", self.stacks.refused(), None),
        ];
        of_table.into_iter().filter(|t| t.1 > 0).collect()
    }

    /// Moves every time.
    pub(crate) fn map_times(&mut self, to: &dyn Fn(ClockId, Nanos) -> Nanos) {
        self.arrivals.map_times(to);
        self.requests.map_times(to);
        self.accesses.map_times(to);
        self.processes.map_times(to);
        self.slices.map_times(to);
        self.wakes.map_times(to);
        for series in &mut self.series {
            for sample in &mut series.samples {
                sample.at = to(series.clock, sample.at);
            }
        }
    }

    pub(crate) fn sort(&mut self) {
        if self.empty_slices > 0 {
            self.slices.rows.retain(|s| s.end > s.start);
        }
        self.arrivals.sort();
        self.requests.sort();
        self.accesses.sort();
        self.processes.sort();
        self.slices.sort();
        self.wakes.sort();
        for series in &mut self.series {
            series.samples.sort_by_key(|s| s.at);
        }
        self.series.sort_by_key(|s| s.origin);
    }

    /// The last time of any row.
    pub(crate) fn last(&self) -> Option<Nanos> {
        let of_tables = [
            self.arrivals.last(),
            self.requests.last(),
            self.accesses.last(),
            self.processes.last(),
            self.slices.last(),
            self.wakes.last(),
        ];
        let of_series = self.series.iter().filter_map(|s| s.samples.last());
        let of_series = of_series.map(|s| Some(s.at));
        of_tables.into_iter().chain(of_series).max().flatten()
    }
}
