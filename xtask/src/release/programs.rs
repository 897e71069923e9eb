//! What was built for a release, before it is packed.

use super::agents::Agent;
use super::foreign::Foreign;
use std::path::PathBuf;

/// The programs of a release.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `firstlight`, stripped.
    pub program: PathBuf,
    /// The program for other processors, stripped, if they were asked for.
    pub foreign: Vec<(&'static Foreign, PathBuf)>,
    /// The agent for each kind of processor that could be built.
    pub agents: Vec<(&'static Agent, PathBuf)>,
    /// The kinds that could not, and why.
    pub missing: Vec<String>,
}
