//! The balance of a source that reads events by the million.

use record::{NoteKind, Origin, Recorder, SourceId};
use std::ptr;

/// Counts what became of the units of a source, and hands the sums over at the
/// end: a note is looked up by its name, which is too slow for each event.
#[derive(Debug)]
pub(crate) struct Balance {
    source: SourceId,
    taken: u64,
    skipped: Vec<Counted>,
    noted: Vec<Counted>,
}

/// How often something occurred, and where first.
#[derive(Debug)]
struct Counted {
    kind: &'static NoteKind,
    count: u64,
    first: u64,
    detail: String,
}

impl Balance {
    pub(crate) fn new(source: SourceId) -> Self {
        Self {
            source,
            taken: 0,
            skipped: Vec::new(),
            noted: Vec::new(),
        }
    }

    /// One unit became an event.
    pub(crate) fn took(&mut self) {
        self.taken += 1;
    }

    /// The unit at `offset` became none. The detail is asked for at the first
    /// occurrence only.
    pub(crate) fn skipped(
        &mut self,
        offset: u64,
        kind: &'static NoteKind,
        detail: impl FnOnce() -> String,
    ) {
        count(&mut self.skipped, offset, kind, 1, detail);
    }

    /// Something about units that are counted otherwise occurred `times` times,
    /// at `offset`.
    pub(crate) fn noted(
        &mut self,
        offset: u64,
        kind: &'static NoteKind,
        times: u64,
        detail: impl FnOnce() -> String,
    ) {
        count(&mut self.noted, offset, kind, times, detail);
    }

    pub(crate) fn finish(self, recorder: &mut Recorder) {
        recorder.took_many(self.source, self.taken);
        for s in self.skipped {
            let origin = Origin {
                source: self.source,
                offset: s.first,
            };
            recorder.skipped_many(origin, s.kind, s.count, || s.detail);
        }
        for n in self.noted {
            let origin = Origin {
                source: self.source,
                offset: n.first,
            };
            recorder.note_many(origin, n.kind, n.count, || n.detail);
        }
    }
}

fn count(
    all: &mut Vec<Counted>,
    offset: u64,
    kind: &'static NoteKind,
    times: u64,
    detail: impl FnOnce() -> String,
) {
    let is = |c: &Counted| ptr::eq(c.kind, kind) || c.kind.name == kind.name;
    match all.iter_mut().find(|c| is(c)) {
        Some(c) => c.count = c.count.saturating_add(times),
        None => all.push(Counted {
            kind,
            count: times,
            first: offset,
            detail: detail(),
        }),
    }
}
