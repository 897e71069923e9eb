//! What holds for every log of samples: stamps, steps, and the ledger.

use super::blocks::{Block, Piece, pieces};
use super::notes as note;
use record::{ClockId, NoteKind, Origin, Recorder, SourceId};

/// A log of one boot, as it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Log<'a> {
    /// All of it.
    pub bytes: &'a [u8],
    /// The source that it is in the ledger.
    pub source: SourceId,
    /// The clock that its stamps are on.
    pub clock: ClockId,
    /// How its facts are called: `proc_stat`.
    pub name: &'static str,
    /// What a sample without any lines means.
    pub empty: &'static NoteKind,
}

/// What one sample gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Something.
    Events,
    /// Nothing; it held lines, though.
    Nothing,
}

impl Log<'_> {
    pub(super) const fn origin(&self, offset: u64) -> Origin {
        Origin {
            source: self.source,
            offset,
        }
    }

    /// Hands each sample to `read`, keeps the ledger, and records how many
    /// there were and how far apart. Units are samples, and lines outside of
    /// them.
    pub(super) fn each_sample(
        &self,
        recorder: &mut Recorder,
        mut read: impl FnMut(&Block<'_>, &mut Recorder) -> Found,
    ) {
        let mut steps = Steps::default();
        for piece in pieces(self.bytes) {
            match piece {
                Piece::Stray(at) => recorder.skipped(self.origin(at), &note::OUTSIDE_SAMPLES),
                Piece::Cut(at) => recorder.skipped(self.origin(at), &note::CUT_OFF),
                Piece::Block(block) => {
                    let origin = self.origin(block.offset);
                    if steps.add(&block) {
                        recorder.note(origin, &note::STAMP_NOT_LATER, String::new);
                    }
                    if block.is_empty() {
                        recorder.skipped(origin, self.empty);
                    } else if read(&block, recorder) == Found::Events {
                        recorder.took(self.source);
                    } else {
                        recorder.skipped(origin, &note::SAMPLE_NOT_UNDERSTOOD);
                    }
                }
            }
        }
        steps.record(self, recorder);
    }

    /// Records a fact of this log.
    pub(super) fn fact(&self, key: &str, value: impl ToString, recorder: &mut Recorder) {
        let key = format!("bootchart.{}.{key}", self.name);
        recorder.fact(&key, &value.to_string(), self.origin(0));
    }
}

/// The stamps of a log.
#[derive(Debug, Default)]
struct Steps {
    samples: u64,
    empty: u64,
    first: Option<i64>,
    last: Option<i64>,
    least: Option<i64>,
    most: Option<i64>,
    not_later: u64,
}

impl Steps {
    /// Counts a sample; says whether its stamp is not later than the last one.
    fn add(&mut self, block: &Block<'_>) -> bool {
        self.samples += 1;
        self.empty += u64::from(block.is_empty());
        self.first.get_or_insert(block.at);
        let Some(last) = self.last.replace(block.at) else {
            return false;
        };
        let step = block.at.saturating_sub(last);
        self.least = Some(self.least.map_or(step, |l| l.min(step)));
        self.most = Some(self.most.map_or(step, |m| m.max(step)));
        self.not_later += u64::from(step <= 0);
        step <= 0
    }

    fn record(&self, log: &Log<'_>, recorder: &mut Recorder) {
        log.fact("samples", self.samples, recorder);
        log.fact("empty_samples", self.empty, recorder);
        let (Some(first), Some(last)) = (self.first, self.last) else {
            return;
        };
        log.fact("first_ns", first, recorder);
        log.fact("last_ns", last, recorder);
        log.fact("covered_ns", last.saturating_sub(first), recorder);
        if let (Some(least), Some(most)) = (self.least, self.most) {
            log.fact("min_step_ns", least, recorder);
            log.fact("max_step_ns", most, recorder);
        }
        log.fact("stamps_not_later", self.not_later, recorder);
    }
}

/// `part` of `whole` in thousandths, rounded; 0 of nothing is 0.
pub(super) fn permille(part: u64, whole: u64) -> i64 {
    let thousandths = (u128::from(part) * 1_000 + u128::from(whole) / 2)
        .checked_div(u128::from(whole))
        .unwrap_or(0);
    i64::try_from(thousandths).unwrap_or(i64::MAX)
}
