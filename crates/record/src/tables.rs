//! What is recorded beside marks, spans and messages.

use crate::calls::CallTree;
use crate::clock::ClockId;
use crate::console::Arrival;
use crate::event::Origin;
use crate::io::{Access, Device, Operation, Request, RequestEvents, RequestTotals};
use crate::name::NameId;
use crate::process::{OpenSlice, Process, Slice, Wake};
use crate::record::Record;
use crate::recorder::Recorder;
use crate::series::{Sample, Series, SeriesId, Unit};
use crate::table::{MOST_ROWS, Row, TABLE_FULL, Table, Taken};
use crate::time::Nanos;
use std::collections::BTreeMap;

/// The tables of a record, bounded each.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// What their rows take.
    pub(crate) taken: Taken,
    pub(crate) arrivals: Table<Arrival>,
    requests: Table<Request>,
    totals: [RequestTotals; Operation::ALL.len()],
    request_events: BTreeMap<(Device, Operation), RequestEvents>,
    accesses: Table<Access>,
    processes: Table<Process>,
    slices: Table<Slice>,
    /// Slices and wakes are not asked for.
    without_scheduling: bool,
    /// How many rows of it have no length, because they did not end.
    empty_slices: usize,
    wakes: Table<Wake>,
    series: Vec<Series>,
    samples: usize,
    refused_samples: u64,
    functions: CallTree,
    stacks: CallTree,
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

impl Recorder {
    /// An empty recorder for questions that are not about what processes did when:
    /// it keeps no slices and no wakes, which come by the million.
    #[must_use]
    pub fn without_scheduling() -> Self {
        let mut recorder = Self::new();
        recorder.tables.without_scheduling = true;
        recorder
    }

    /// Records a request. When more come than a record holds, the rest count
    /// in the totals.
    pub fn request(&mut self, request: Request) {
        if let Some(totals) = self.tables.totals.get_mut(request.operation as usize) {
            totals.add(&request);
        }
        self.uses(request.clock, request.last());
        self.tables.requests.push(request, &mut self.tables.taken);
    }

    /// Adds to what a trace says was done with requests, event by event.
    pub fn request_events(&mut self, device: Device, operation: Operation, events: &RequestEvents) {
        if *events != RequestEvents::default() {
            let all = &mut self.tables.request_events;
            let sums = all.entry((device, operation)).or_default();
            *sums = sums.and(events);
        }
    }

    /// Records a piece of a file that was needed.
    pub fn access(&mut self, access: Access) {
        self.uses(access.clock, access.last());
        self.tables.accesses.push(access, &mut self.tables.taken);
    }

    /// Records a process, when all that there is to know of it is known.
    pub fn process(&mut self, process: Process) {
        self.uses(process.clock, process.last());
        self.tables.processes.push(process, &mut self.tables.taken);
    }

    /// Records what a process did for a stretch of time.
    pub fn slice(&mut self, slice: Slice) {
        self.uses(slice.clock, slice.last());
        if self.tables.without_scheduling {
            return;
        }
        self.tables.slices.push(slice, &mut self.tables.taken);
    }

    /// Records that a stretch of time has begun: its row stands where it began, so
    /// that rows by the million need no sorting. It counts from
    /// [`Self::end_slice`] on; without it, it is none.
    pub fn begin_slice(&mut self, mut slice: Slice) -> Option<OpenSlice> {
        slice.end = slice.start;
        self.uses(slice.clock, Some(slice.start));
        if self.tables.without_scheduling {
            return None;
        }
        let room = self.tables.slices.push(slice, &mut self.tables.taken)?;
        self.tables.empty_slices += 1;
        Some(OpenSlice(room))
    }

    /// Records that it has ended. If that is when it began, it is none.
    pub fn end_slice(&mut self, open: OpenSlice, end: Nanos) {
        let Some(row) = self.tables.slices.rows.get_mut(open.0) else {
            return;
        };
        if end > row.start {
            row.end = end;
            let clock = row.clock;
            self.tables.empty_slices -= 1;
            self.uses(clock, Some(end));
        }
    }

    /// Records that one process made another runnable.
    pub fn wake(&mut self, wake: Wake) {
        self.uses(wake.clock, wake.last());
        if self.tables.without_scheduling {
            return;
        }
        self.tables.wakes.push(wake, &mut self.tables.taken);
    }

    /// Begins a series of readings of `name`, of the one called `of`.
    pub fn series(
        &mut self,
        clock: ClockId,
        (name, of): (NameId, Option<NameId>),
        unit: Unit,
        origin: Origin,
    ) -> SeriesId {
        let id = SeriesId(u32::try_from(self.tables.series.len()).unwrap_or(u32::MAX));
        self.tables.series.push(Series {
            name,
            of,
            unit,
            samples: Vec::new(),
            origin,
            clock,
        });
        id
    }

    /// Records a reading. `at` is in nanoseconds on the clock of the series.
    pub fn sample(&mut self, series: SeriesId, at: i64, value: i64) {
        let at = Nanos(at);
        let Some(s) = self.tables.series.get_mut(series.0 as usize) else {
            return;
        };
        if self.tables.samples >= MOST_ROWS {
            self.tables.refused_samples += 1;
            return;
        }
        self.tables.samples += 1;
        s.samples.push(Sample { at, value });
        let clock = s.clock;
        self.uses(clock, Some(at));
    }

    /// The calls of a function trace, to add to.
    pub fn functions(&mut self) -> &mut CallTree {
        &mut self.tables.functions
    }

    /// The stacks that a profiler saw, to add to.
    pub fn stacks(&mut self) -> &mut CallTree {
        &mut self.tables.stacks
    }

    /// Notes the tables that had no room for all.
    pub(crate) fn note_full_tables(&mut self) {
        for (table, refused, first) in self.tables.refused() {
            let detail = format!("{refused} {table}");
            match first {
                Some(origin) => self.note_many(origin, &TABLE_FULL, refused, || detail),
                None => self.note_whole(&TABLE_FULL, detail),
            }
        }
    }
}

impl Record {
    /// Lines of a console as they arrived at the host, by their first character.
    #[must_use]
    pub fn arrivals(&self) -> &[Arrival] {
        &self.tables.arrivals.rows
    }

    /// Block requests, by the first time that is known of them.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.tables.requests.rows
    }

    /// Sums over all requests, kept or not, by operation; those that occur.
    pub fn request_totals(&self) -> impl Iterator<Item = (Operation, RequestTotals)> {
        let all = Operation::ALL.into_iter().zip(self.tables.totals);
        all.filter(|(_, t)| t.requests > 0)
    }

    /// What traces say was done with requests, event by event: by device and
    /// operation.
    pub fn request_events(&self) -> impl Iterator<Item = (Device, Operation, &RequestEvents)> {
        self.tables
            .request_events
            .iter()
            .map(|((d, o), e)| (*d, *o, e))
    }

    /// Pieces of files that were needed, by time.
    #[must_use]
    pub fn accesses(&self) -> &[Access] {
        &self.tables.accesses.rows
    }

    /// Processes, by start.
    #[must_use]
    pub fn processes(&self) -> &[Process] {
        &self.tables.processes.rows
    }

    /// What processes did when, by start.
    #[must_use]
    pub fn slices(&self) -> &[Slice] {
        &self.tables.slices.rows
    }

    /// Who woke whom, by time.
    #[must_use]
    pub fn wakes(&self) -> &[Wake] {
        &self.tables.wakes.rows
    }

    /// Periodic readings, in the order of their evidence.
    #[must_use]
    pub fn series(&self) -> &[Series] {
        &self.tables.series
    }

    /// The calls of a function trace, or of system calls.
    #[must_use]
    pub fn functions(&self) -> &CallTree {
        &self.tables.functions
    }

    /// The stacks that a profiler saw.
    #[must_use]
    pub fn stacks(&self) -> &CallTree {
        &self.tables.stacks
    }
}
