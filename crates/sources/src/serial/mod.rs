//! Serial logs with a time stamp on each line.

use crate::{Input, Sniff, Source};
use record::Recorder;

/// A stamped serial log.
#[derive(Debug)]
pub struct Serial;

impl Source for Serial {
    fn name(&self) -> &'static str {
        "serial"
    }

    fn sniff(&self, _head: &[u8]) -> Sniff {
        Sniff::No
    }

    fn read(&self, _input: Input<'_>, _recorder: &mut Recorder) {}
}
