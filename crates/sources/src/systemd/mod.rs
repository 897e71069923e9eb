//! What systemd says of a boot.

use crate::{Input, Sniff, Source};
use record::Recorder;

/// `systemctl show` properties.
#[derive(Debug)]
pub struct Show;

impl Source for Show {
    fn name(&self) -> &'static str {
        "systemd-show"
    }

    fn sniff(&self, _head: &[u8]) -> Sniff {
        Sniff::No
    }

    fn read(&self, _input: Input<'_>, _recorder: &mut Recorder) {}
}

/// `systemd-analyze plot` SVG.
#[derive(Debug)]
pub struct Plot;

impl Source for Plot {
    fn name(&self) -> &'static str {
        "systemd-plot"
    }

    fn sniff(&self, _head: &[u8]) -> Sniff {
        Sniff::No
    }

    fn read(&self, _input: Input<'_>, _recorder: &mut Recorder) {}
}

/// `systemd-analyze time`, `blame` and `critical-chain` text.
#[derive(Debug)]
pub struct Analyze;

impl Source for Analyze {
    fn name(&self) -> &'static str {
        "systemd-analyze"
    }

    fn sniff(&self, _head: &[u8]) -> Sniff {
        Sniff::No
    }

    fn read(&self, _input: Input<'_>, _recorder: &mut Recorder) {}
}

/// `systemd-analyze dump` text.
#[derive(Debug)]
pub struct Dump;

impl Source for Dump {
    fn name(&self) -> &'static str {
        "systemd-dump"
    }

    fn sniff(&self, _head: &[u8]) -> Sniff {
        Sniff::No
    }

    fn read(&self, _input: Input<'_>, _recorder: &mut Recorder) {}
}
