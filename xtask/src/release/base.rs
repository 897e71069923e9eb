//! What every part of a release knows.

use super::version::Version;
use std::path::PathBuf;

/// The target of the program: static, for any distribution.
pub const TARGET: &str = "x86_64-unknown-linux-musl";

/// The size that the program should not exceed, in bytes.
pub(super) const GOAL: u64 = 15_000_000;

/// All but `systemd-bus`, a megabyte of which no input needs: `systemctl show` gives the same.
pub(super) const FEATURES: &str = "parquet,serve";

/// What builds the standard library too. Sorts that it unrolls take a tenth of the program
/// where it is not built for size; what it searches and parses stays fast.
pub(super) const LIBRARY: [&str; 6] = [
    "-Zbuild-std=std,panic_unwind",
    "-Zbuild-std-features=panic-unwind,optimize_for_size",
    "--config",
    "profile.dist.package.core.opt-level=3",
    "--config",
    "profile.dist.package.alloc.opt-level=3",
];

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
