//! `firstlight gate`: did the boot get slower?

use super::args::Gate;
use super::set;
use crate::args::Compared;
use crate::input;
use crate::out::Out;
use analysis::{BootsTime, TimeKind};
use anyhow::{Context, Result};

/// How many items the screen holds; JSON has them all.
const ITEMS: usize = 10;

pub fn run(args: &Gate, out: &mut Out) -> Result<()> {
    let Compared {
        base,
        against,
        reading,
    } = &args.compared;
    let (before, after) = (set::of(base, reading)?, set::of(against, reading)?);
    let boots = analysis::boots(&before, Some(&after))?;
    let is_it = |t: &BootsTime| match &args.of {
        Some(name) => t.is_called(name),
        None => t.kind == TimeKind::FirstLight,
    };
    let allow = |median| args.allow.of(median);
    let gate = analysis::gate(&boots, is_it, allow);
    let both = || format!("{} and {}", input::shown(base), input::shown(against));
    let gate = gate.with_context(both)?;
    let text = if out.json {
        views::json::text(&views::json::gate(&gate))
    } else {
        views::terminal::gate(&gate, ITEMS, &out.style)
    };
    out.gate(gate.passed);
    out.text(&text)
}
