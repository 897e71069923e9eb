//! The balance of a source that reads events by the million.

use record::{NoteKind, Origin, Recorder, SourceId};

/// Counts what became of the units of a source, and hands the sums over at the
/// end: a note is looked up by its name, which is too slow for each event.
#[derive(Debug)]
pub(crate) struct Balance {
    source: SourceId,
    taken: u64,
    skipped: Vec<Skipped>,
}

#[derive(Debug)]
struct Skipped {
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
        let known = self.skipped.iter_mut().find(|s| s.kind.name == kind.name);
        match known {
            Some(s) => s.count += 1,
            None => self.skipped.push(Skipped {
                kind,
                count: 1,
                first: offset,
                detail: detail(),
            }),
        }
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
    }
}
