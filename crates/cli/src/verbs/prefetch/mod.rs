//! `firstlight prefetch`: access lists.

pub mod args;
pub mod import;
mod install;
mod merge;
mod plan;
mod record;
mod replay;
mod simulate;

use crate::out::Out;
use agent::access::{AccessList, MOST_BYTES, decode};
use anyhow::{Context, Result};
use args::{Prefetch, PrefetchVerb};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// `firstlight prefetch`.
pub fn run(args: &Prefetch, out: &mut Out) -> Result<()> {
    match &args.verb {
        PrefetchVerb::Record(a) => record::run(a, out),
        PrefetchVerb::Import(a) => import::run(a, out),
        PrefetchVerb::Plan(a) => plan::run(a, out),
        PrefetchVerb::Merge(a) => merge::run(a, out),
        PrefetchVerb::Replay(a) => replay::run(a, out),
        PrefetchVerb::Simulate(a) => simulate::run(a, out),
        PrefetchVerb::Install(a) => install::install(a, out),
        PrefetchVerb::Uninstall(a) => install::uninstall(a, out),
        PrefetchVerb::Guard { file } => Ok(capture::accesses::guard(file)?),
    }
}

/// The list in the file `path`.
pub fn read(path: &Path) -> Result<AccessList> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(|| format!("{shown}: cannot be opened"))?;
    file.take(MOST_BYTES as u64 + 4096)
        .read_to_end(&mut bytes)
        .with_context(|| format!("{shown}: cannot be read"))?;
    decode(&bytes).with_context(|| shown.to_string())
}
