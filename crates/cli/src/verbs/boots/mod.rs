//! `firstlight boots`: several boots of one system, and several after a change.

pub mod args;
pub mod gate;

use crate::input;
use crate::out::Out;
use anyhow::Result;
use args::Boots;

pub fn run(args: &Boots, out: &mut Out) -> Result<()> {
    input::read_once(&[&args.base, &args.against])?;
    let base = input::boots(&args.base, &args.reading)?;
    let against = match args.against.is_empty() {
        true => None,
        false => Some(input::boots(&args.against, &args.reading)?),
    };
    let boots = analysis::boots(&base, against.as_deref())?;
    let text = if out.json {
        views::json::text(&views::json::boots(&boots))
    } else {
        let top = if args.top == 0 { usize::MAX } else { args.top };
        views::terminal::boots(&boots, top, &out.style)
    };
    out.text(&text)
}
