//! What a boot leaves.

use crate::loading::Loading;
use crate::trial::Failure;
use agent::capture::Member;
use record::Phase;

/// What a boot left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boot {
    /// What it wrote to its console.
    pub console: Vec<u8>,
    /// The tar that the agent handed out.
    pub payload: Option<Vec<u8>>,
    /// All members of a capture from an earlier run, in place of a payload.
    pub stored: Option<Vec<Member>>,
    /// When firmware, loader and decompression began and ended, in order; empty
    /// if that is not known.
    pub marks: Vec<HostMark>,
    /// What reading kernel and initramfs would have taken, if that is charged.
    pub loading: Option<Loading>,
    /// What else the host saw.
    pub evidence: Vec<Evidence>,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// What is doubtful, in sentences.
    pub notes: Vec<String>,
}

/// An instant of a boot that the host knows: nothing on the target could say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostMark {
    /// One of the names of [`record::mark`], or a stage's own.
    pub name: String,
    /// Nanoseconds of virtual time since reset.
    pub at_ns: u64,
    /// The phase that begins here, if one does.
    pub begins: Option<Phase>,
}

impl HostMark {
    /// A mark that begins a phase, or a stage of it.
    #[must_use]
    pub fn begins(name: &str, at_ns: u64, phase: Phase) -> Self {
        Self {
            name: name.to_owned(),
            at_ns,
            begins: Some(phase),
        }
    }
}

/// A file of a capture that the host made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What it is, for the reader.
    pub name: String,
    /// Its name in the capture.
    pub file: String,
    /// The source that reads it; `none`: it is for people.
    pub format: &'static str,
    /// What it holds.
    pub bytes: Vec<u8>,
}
