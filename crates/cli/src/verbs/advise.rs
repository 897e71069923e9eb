//! `firstlight advise`: what to change, and what that would bring.

use crate::args::Inputs;
use crate::input;
use crate::out::Out;
use crate::progress;
use anyhow::Result;
use clap::{Args, ValueHint};
use record::{Record, Recorder};
use std::mem::ManuallyDrop;
use std::path::PathBuf;

/// The arguments of `advise`.
#[derive(Debug, Args)]
pub struct Advise {
    #[command(flatten)]
    pub inputs: Inputs,
    /// Also look into what boots: a kernel, initramfs, FIT, flash, disk or U-Boot image, or the folder
    /// of a root; repeatable
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub image: Vec<PathBuf>,
    /// Also read the kernel configuration: .config, /boot/config-*, config.gz, or a kernel with it
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Also look up long initcalls in this kernel source tree: option, module, parameters, delays
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub kernel_tree: Option<PathBuf>,
    /// Also list findings that do not apply, with the reason
    #[arg(long)]
    pub all: bool,
    /// List the findings in the order of work, with what must come first: applications first, the
    /// boot loader last
    #[arg(long)]
    pub plan: bool,
}

pub fn run(args: &Advise, out: &mut Out) -> Result<()> {
    let mut facts = inspect::system::facts(&args.image, args.config.as_deref())?;
    // As `show` does: the program ends after its answer.
    let record = ManuallyDrop::new(boot(args)?);
    if let Some(tree) = &args.kernel_tree {
        progress::say(format!("reading {}", tree.display()));
        facts.drivers = inspect::kernel_tree::read(tree, &analysis::long_initcalls(&record))?;
        progress::clear();
    }
    let phases = analysis::phases_with(&record, &args.inputs.reading.options());
    let mut advice = analysis::advice(&record, &phases, &facts);
    if !args.all {
        advice.silent.clear();
    }
    let steps = args.plan.then(|| analysis::plan(&advice));
    let text = if out.json {
        let steps = steps.as_deref();
        views::json::text(&views::json::advise(&advice, steps, args.all))
    } else {
        match steps {
            Some(steps) => views::terminal::plan(&advice, &steps, &out.style),
            None => views::terminal::advise(&advice, &out.style),
        }
    };
    out.text(&text)
}

/// The boot that is asked about. An image or a configuration alone has none.
fn boot(args: &Advise) -> Result<Record> {
    let Inputs { inputs, reading } = &args.inputs;
    let has_facts = !args.image.is_empty() || args.config.is_some();
    if inputs.is_empty() && has_facts {
        return Ok(Recorder::new().finish());
    }
    input::boot(inputs, reading)
}
