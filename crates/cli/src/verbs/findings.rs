//! `firstlight lab findings`: planted causes, what advice expects of its
//! treatments, and what they bring.

use crate::args::LabFindings;
use crate::input;
use crate::out::Out;
use crate::progress;
use crate::shown::Shown;
use anyhow::{Result, bail};

pub fn run(args: &LabFindings, out: &mut Out) -> Result<()> {
    let mut shown = Shown::new(false);
    let mut heard = proof::Heard {
        begins: &mut |name| progress::say(name),
        said: &mut |text| progress::done(&text, false),
        event: &mut |event| shown.event(event),
        note: &input::say,
    };
    let proof = proof::planted(&args.files, &args.out, args.jobs, &mut heard);
    progress::clear();
    let proof = proof?;
    let text = if out.json {
        views::json::text(&proof)
    } else if args.markdown {
        proof.markdown()
    } else {
        proof.terminal(&out.style)
    };
    out.text(&text)?;
    out.flush()?;
    match proof.failures.len() {
        0 => Ok(()),
        n => bail!("{n} of the boots or findings did not come"),
    }
}
