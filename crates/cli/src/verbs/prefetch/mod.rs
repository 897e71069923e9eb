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
use anyhow::Result;
use args::{Prefetch, PrefetchVerb};

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
