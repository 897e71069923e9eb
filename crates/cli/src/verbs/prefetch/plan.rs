//! `firstlight prefetch plan`: what a list would read.

use super::args::Plan;
use crate::out::Out;
use anyhow::{Result, bail};
use inspect::ahead::ahead;
use lab::layout::read_list;
use views::json::PrefetchPlan;
use views::terminal;

/// Prints the plan.
pub fn run(args: &Plan, out: &mut Out) -> Result<()> {
    if !(0.0..=1.0).contains(&args.stable) {
        bail!("--stable takes a part from 0 to 1, and not {}", args.stable);
    }
    let mut list = read_list(&args.on.list)?;
    list.keep_stable(args.stable);
    let ahead = ahead(&list, &args.on.root);
    let plan = PrefetchPlan::of(&args.on.list.display().to_string(), &list, &ahead);
    out.show(|| &plan, |_| terminal::prefetch::plan(&plan, args.top))
}
