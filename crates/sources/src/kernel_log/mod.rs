//! The kernel log, in every shape it is found in.

use crate::{Input, Sniff, Source};
use record::Recorder;

/// Kernel log lines.
#[derive(Debug)]
pub struct KernelLog;

impl Source for KernelLog {
    fn name(&self) -> &'static str {
        "kernel-log"
    }

    fn sniff(&self, _head: &[u8]) -> Sniff {
        Sniff::No
    }

    fn read(&self, _input: Input<'_>, _recorder: &mut Recorder) {}
}
