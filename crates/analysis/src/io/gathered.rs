//! What the questions need of requests, gathered in one go: rows are large,
//! and there may be a million of them.

use super::failures::Failures;
use super::figures::carries_data;
use super::processes::Processes;
use record::{Device, Nanos, Operation, Request};
use std::collections::BTreeMap;

/// Requests of one device and one operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Kind {
    pub requests: u64,
    pub bytes: u64,
    /// Times from the first issue to completion.
    pub service: Vec<i64>,
}

/// How long requests took.
#[derive(Debug, Default)]
pub(super) struct Times {
    pub kinds: BTreeMap<(Device, Operation), Kind>,
    /// Times from being asked to the first issue, of requests that carry data.
    pub wait: Vec<i64>,
    /// Times from being asked to completion, of requests that carry data.
    pub whole: Vec<i64>,
}

/// All that is needed of requests.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The first and the last time of any request.
    pub span: Option<(Nanos, Nanos)>,
    pub times: Times,
    /// When requests came to their devices, of those that left again.
    pub came: Vec<i64>,
    /// When they left.
    pub left: Vec<i64>,
    pub processes: Processes,
    pub failures: Failures,
}

impl Gathered {
    pub(super) fn of(requests: &[Request]) -> Self {
        let mut all = Self::default();
        all.came.reserve_exact(requests.len());
        all.left.reserve_exact(requests.len());
        all.times.wait.reserve_exact(requests.len());
        all.times.whole.reserve_exact(requests.len());
        // Those of the last requests, out of the map: requests of one kind
        // mostly come together.
        let mut current: Option<((Device, Operation), Kind)> = None;
        for r in requests {
            all.add(r);
            let key = (r.device, r.operation);
            let kind = match &mut current {
                Some((of, kind)) if *of == key => kind,
                other => {
                    all.times.kinds.extend(other.take());
                    let kind = all.times.kinds.remove(&key).unwrap_or_default();
                    &mut other.insert((key, kind)).1
                }
            };
            kind.requests += 1;
            kind.bytes = kind.bytes.saturating_add(r.bytes);
            kind.service.extend(r.service().map(Nanos::get));
        }
        all.times.kinds.extend(current);
        all
    }

    fn add(&mut self, r: &Request) {
        if let Some(first) = r.first() {
            let last = r
                .completed
                .get()
                .or(r.reissued.get())
                .or(r.issued.get())
                .unwrap_or(first);
            self.span = Some(match self.span {
                Some((from, to)) => (from.min(first), to.max(last)),
                None => (first, last),
            });
        }
        if let Some(queued) = r.queued.get()
            && carries_data(r.operation)
        {
            self.times
                .wait
                .extend(r.issued.get().map(|i| (i - queued).get()));
            self.times
                .whole
                .extend(r.completed.get().map(|c| (c - queued).get()));
        }
        if let (Some(issued), Some(completed)) = (r.issued.get(), r.completed.get())
            && issued < completed
        {
            self.came.push(issued.get());
            self.left.push(completed.get());
        }
        self.processes.add(r);
        self.failures.add(r);
    }
}

impl Times {
    /// The times from the first issue to completion of some kinds, each in a list.
    pub(super) fn service(&self, of: impl Fn(Device, Operation) -> bool) -> Vec<&[i64]> {
        let kinds = self.kinds.iter().filter(|((d, o), _)| of(*d, *o));
        kinds.map(|(_, k)| k.service.as_slice()).collect()
    }
}
