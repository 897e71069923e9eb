//! The state between two lines of a kernel log.

use record::{ClockId, NoteKind, Recorder, SourceId};

/// What became of a line that a [`Reader`] was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A kernel line: it was recorded. The caller counts it as taken.
    Kernel {
        /// Its stamp on the `printk` clock, if it has one.
        printk_ns: Option<i64>,
    },
    /// Nothing was recorded. The caller counts it as skipped, for this reason.
    Noted(&'static NoteKind),
    /// It has no kernel stamp and says nothing that only the kernel says;
    /// nothing was recorded. The caller records or skips it.
    Other,
}

/// Reads kernel lines, one at a time.
#[derive(Debug)]
pub(crate) struct Reader {
    source: SourceId,
}

impl Reader {
    /// A reader whose events and notes belong to `source`.
    pub(crate) fn new(source: SourceId) -> Self {
        Self { source }
    }

    /// Reads one line. `offset` is where `bytes` begins in the source; `host`
    /// is the stamp that a host gave the line, in nanoseconds on its clock.
    pub(crate) fn line(
        &mut self,
        recorder: &mut Recorder,
        bytes: &[u8],
        offset: u64,
        host: Option<(ClockId, i64)>,
    ) -> Outcome {
        let _ = (recorder, bytes, offset, host, self.source);
        Outcome::Other
    }

    /// Records what only the end of the log decides: starts without an end,
    /// and what was counted.
    pub(crate) fn finish(self, recorder: &mut Recorder) {
        let _ = recorder;
    }
}
