//! What a format is to its readers.

use record::Recorder;
use std::ops::Range;

/// How sure a source is that some bytes are its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sniff {
    /// They are not.
    No,
    /// They could be; another source may know better.
    Maybe,
    /// They are.
    Yes,
}

/// How many bytes from the start of an input [`Source::sniff`] is shown.
pub const SNIFF_BYTES: usize = 64 * 1024;

/// One raw input.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The file's name as the user gave it, or the capture member's.
    pub name: &'a str,
    /// All of it.
    pub bytes: &'a [u8],
}

/// A format that can be read.
pub trait Source: Sync {
    /// The format's name, as captures and `--json` say it: `kernel-log`.
    fn name(&self) -> &'static str;

    /// One line: what the format is, and the command or file that it comes from.
    fn description(&self) -> &'static str;

    /// Whether the first bytes (at most [`SNIFF_BYTES`]) look like this format.
    fn sniff(&self, head: &[u8]) -> Sniff;

    /// Whether this format is a drawing, from which times are read back.
    fn reads_drawings(&self) -> bool {
        false
    }

    /// Whether an empty file of this name is a part of this format: of
    /// parts, some may hold nothing.
    fn may_be_empty(&self, _name: &str) -> bool {
        false
    }

    /// Reads all of `input`. Afterwards every line or packet of it was either
    /// [taken](Recorder::took) or [skipped](Recorder::skipped).
    fn read(&self, input: Input<'_>, recorder: &mut Recorder);

    /// The boots that an input has one after the other, each from its first byte to that of
    /// the next; empty if it has one, or none can be told apart.
    fn boots(&self, _bytes: &[u8]) -> Vec<Range<u64>> {
        Vec::new()
    }

    /// Reads one of the [`boots`](Self::boots) of an input: of the others each line is
    /// skipped, with a note. [`read`](Self::read) reads the last.
    fn read_boot(&self, input: Input<'_>, _boot: Range<u64>, recorder: &mut Recorder) {
        self.read(input, recorder);
    }

    /// Reads all inputs of this format that one boot left. A format whose files
    /// are parts of one stream, such as one file a processor, joins them here.
    fn read_all(&self, inputs: &[Input<'_>], recorder: &mut Recorder) {
        for &input in inputs {
            self.read(input, recorder);
        }
    }

    /// Whether memory stays bounded however large an input is. Logs are kept
    /// as evidence, whole; traces are not.
    fn is_bounded(&self) -> bool {
        false
    }
}
