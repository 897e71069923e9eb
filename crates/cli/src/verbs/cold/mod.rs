//! `firstlight cold`: cold and warm starts of a program, and what reading ahead and
//! another order on disk bring.

pub mod args;
mod host;

use crate::out::Out;
use crate::{interrupt, progress};
use anyhow::{Result, bail};
use args::Cold;
use lab::layout::read_list;
use proof::ColdEvent;
use views::json;

pub fn run(args: &Cold, out: &mut Out) -> Result<()> {
    let elsewhere = args.on.as_ref().map(|name| host::measured(args, name));
    let report = elsewhere.unwrap_or_else(|| measured(args))?;
    out.show(
        || &report,
        |style| views::terminal::cold(&report, style.width),
    )
}

fn measured(args: &Cold) -> Result<json::Cold> {
    let Some((program, arguments)) = args.command.split_first() else {
        bail!("there is no program to run; name it behind `--`");
    };
    let list = args.list.as_deref().map(read_list);
    let cold = proof::Cold {
        program: program.clone(),
        arguments: arguments.to_vec(),
        runs: args.runs,
        prefetch: args.prefetch,
        order: args.order,
        below: args.below.clone(),
        list: list.transpose()?,
        evict: args.evict,
        ignore_failure: args.ignore_failure,
    };
    let measured = cold.measure(&*interrupt::told()?, &mut |event| match event {
        ColdEvent::Now(what) => progress::say(what),
        ColdEvent::Line(line) => {
            progress::clear();
            anstream::eprintln!("firstlight: {line}");
        }
    });
    progress::clear();
    Ok(measured?)
}
