//! `firstlight gate`: did the boot get slower?

use super::args::Gate;
use crate::args::Compared;
use crate::input;
use crate::out::Out;
use crate::outputs;
use analysis::GateQuestion;
use anyhow::{Context, Result};

/// How many items the screen holds; JSON has them all.
const ITEMS: usize = 10;

pub fn run(args: &Gate, out: &mut Out) -> Result<()> {
    let Compared {
        base,
        against,
        reading,
    } = &args.compared;
    input::read_once(&[base, against])?;
    let after = input::boots(against, reading)?;
    // Without base boots, budgets are all that can be judged.
    let only_budgets = base.is_empty() && !args.budgets.is_empty();
    let boots = match only_budgets {
        true => analysis::boots(&after, None)?,
        false => analysis::boots(&input::boots(base, reading)?, Some(&after))?,
    };
    let question = GateQuestion {
        of: args.of.as_deref(),
        allow: args.allow,
        see: args.see,
        budgets: &args.budgets,
    };
    let gate = analysis::gate(&boots, &question);
    let both = || match only_budgets {
        true => input::shown(against),
        false => format!("{} and {}", input::shown(base), input::shown(against)),
    };
    let gate = gate.with_context(both)?;
    let text = if out.json {
        views::json::text(&views::json::gate(&gate))
    } else {
        views::terminal::gate(&gate, ITEMS, &out.style)
    };
    outputs::write(&args.outputs, &views::ci::of_gate(&gate), out)?;
    out.exit_code(gate.verdict.exit_code());
    out.text(&text)
}
