//! `firstlight diff`: two boots, item by item.

use crate::args::Compared;
use crate::input;
use crate::out::Out;
use anyhow::{Context, Result};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// The arguments of `diff`.
#[derive(Debug, Args)]
pub struct Diff {
    #[command(flatten)]
    pub compared: Compared,
    /// Use an earlier boot to know the normal range of an item; repeatable
    #[arg(long, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub history: Vec<PathBuf>,
}

/// How many items the screen holds; JSON has them all.
const ITEMS: usize = 20;

pub fn run(args: &Diff, out: &mut Out) -> Result<()> {
    let Compared {
        base,
        against,
        reading,
    } = &args.compared;
    let boot = |paths: &[PathBuf]| input::boot(paths, reading);
    let (a, b) = (boot(base)?, boot(against)?);
    let history = args.history.iter().map(|p| boot(std::slice::from_ref(p)));
    let history = history.collect::<Result<Vec<_>>>()?;
    let history: Vec<_> = history.iter().collect();
    let comparison = analysis::compare_with_history(&a, &b, &history, &reading.options())
        .with_context(|| format!("{} and {}", input::shown(base), input::shown(against)))?;
    let text = if out.json {
        views::json::text(&views::json::diff(&comparison))
    } else {
        views::terminal::diff(&comparison, ITEMS, &out.style)
    };
    out.text(&text)
}
