//! The tables of a record.

use crate::arrival::Arrival;
use crate::calls::CallTree;
use crate::io::{Access, Device, Operation, Request, RequestEvents, RequestTotals};
use crate::process::{Process, Slice, Wake};
use crate::record::Record;
use crate::series::Series;

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
