//! `firstlight lab resolution`: what a run whose variants are alike tells apart.

use crate::args::LabResolution;
use crate::out::Out;
use anyhow::Result;

pub fn run(args: &LabResolution, out: &mut Out) -> Result<()> {
    let result = proof::resolution(&args.run, &args.changed, &args.delays)?;
    let text = if out.json {
        views::json::text(&result)
    } else if args.markdown {
        result.markdown()
    } else {
        result.terminal(&out.style)
    };
    out.text(&text)
}
