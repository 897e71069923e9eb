//! `firstlight diff`: two boots, item by item.

use crate::args::Diff;
use crate::input;
use crate::out::Out;
use anyhow::{Context, Result};
use std::path::PathBuf;

/// How many items the screen holds; JSON has them all.
const ITEMS: usize = 20;

pub fn run(args: &Diff, out: &mut Out) -> Result<()> {
    let boot = |path: &PathBuf| input::boot(std::slice::from_ref(path), &args.reading);
    let (a, b) = (boot(&args.a)?, boot(&args.b)?);
    let history = args.history.iter().map(boot).collect::<Result<Vec<_>>>()?;
    let history: Vec<_> = history.iter().collect();
    let comparison = analysis::compare_with_history(&a, &b, &history, &args.reading.options())
        .with_context(|| format!("{} and {}", args.a.display(), args.b.display()))?;
    let text = if out.json {
        views::json::text(&views::json::diff(&comparison))
    } else {
        views::terminal::diff(&comparison, ITEMS, &out.style)
    };
    out.text(&text)
}
