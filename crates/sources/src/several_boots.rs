//! Inputs that have several boots one after the other.

use crate::source::{Input, Source};
use record::{NoteKind, Recorder, Severity};
use std::ops::Range;

/// Of the other boots each line is skipped with this.
pub(crate) const SEVERAL_BOOTS: NoteKind = NoteKind::new(
    "several_boots",
    Severity::Doubt,
    "The file holds more than one boot, and these lines are of another one. The last boot is \
     read; `--boot N` chooses another.",
);

/// The ranges between these starts, the first from zero; empty without a start.
pub(crate) fn ranges(starts: &[u64], end: u64) -> Vec<Range<u64>> {
    if starts.is_empty() {
        return Vec::new();
    }
    let from = std::iter::once(0).chain(starts.iter().copied());
    let to = starts.iter().copied().chain(std::iter::once(end));
    from.zip(to).map(|(from, to)| from..to).collect()
}

/// Reads the last boot of an input, or all of one that has no several.
pub(crate) fn read_last(source: &impl Source, input: Input<'_>, recorder: &mut Recorder) {
    let all = 0..input.bytes.len() as u64;
    let last = source.boots(input.bytes).pop();
    source.read_boot(input, last.unwrap_or(all), recorder);
}
