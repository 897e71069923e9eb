//! What every part of a release knows.

use super::version::Version;
use std::path::PathBuf;

/// The target of the program: static, for any distribution.
pub const TARGET: &str = "x86_64-unknown-linux-musl";

/// What a release is made of, and where it goes.
#[derive(Clone, Debug)]
pub struct Release {
    /// The checkout that is built.
    pub source: PathBuf,
    /// The folder of the results.
    pub dist: PathBuf,
    /// Where cargo builds.
    pub build: PathBuf,
    /// Version, commit and time.
    pub version: Version,
}
