//! `firstlight --version`: which program this is, for a report of a fault.

use crate::out::Out;
use anyhow::Result;
use std::env::consts::{ARCH, OS};

/// The commit, where `./x release` or a packager named it.
const COMMIT: Option<&str> = option_env!("FIRSTLIGHT_COMMIT");

/// Optional parts, and whether this program has them.
const FEATURES: [(&str, bool); 3] = [
    ("parquet", cfg!(feature = "parquet")),
    ("serve", cfg!(feature = "serve")),
    ("systemd-bus", cfg!(feature = "systemd-bus")),
];

/// Prints the version; with `verbose`, also what distinguishes two programs of one version.
pub fn run(verbose: bool, out: &mut Out) -> Result<()> {
    let mut text = concat!("firstlight ", env!("CARGO_PKG_VERSION"), "\n").to_owned();
    if verbose {
        let features: Vec<&str> = FEATURES
            .iter()
            .filter(|(_, has)| *has)
            .map(|(name, _)| *name)
            .collect();
        let features = match features.is_empty() {
            true => "none".to_owned(),
            false => features.join(", "),
        };
        let library = match cfg!(target_env = "musl") {
            true => "musl",
            false => "gnu",
        };
        let commit = COMMIT.unwrap_or("not recorded");
        let (captures, lists) = (agent::capture::VERSION, agent::access::VERSION);
        text += &format!(
            "commit: {commit}\n\
             target: {ARCH}-{OS}-{library}\n\
             features: {features}\n\
             capture format: {captures} (reads 1 to {captures})\n\
             access list format: {lists} (reads 1 to {lists})\n\
             minimum Rust version: {}\n\
             telemetry: none\n",
            env!("CARGO_PKG_RUST_VERSION"),
        );
    }
    out.text(&text)
}
