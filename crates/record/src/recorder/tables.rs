//! Recording rows of tables: requests, processes, samples and their like.

use crate::calls::CallTree;
use crate::clock::ClockId;
use crate::io::{Access, Device, Operation, Request, RequestEvents};
use crate::name::NameId;
use crate::process::{OpenSlice, Process, Slice, Wake};
use crate::recorder::Recorder;
use crate::series::{Sample, Series, SeriesId, Unit};
use crate::source::Origin;
use crate::table::{MOST_ROWS, Row, TABLE_FULL};
use crate::time::Nanos;

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
