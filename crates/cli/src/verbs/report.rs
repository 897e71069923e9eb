//! `firstlight report`: one page to look at.

use crate::args::Report;
use crate::beside;
use crate::input::{self, Input};
use crate::out::Out;
use analysis::{Experiment, Options};
use anyhow::{Context, Result, bail};
use record::Record;
use std::io::Write;
use views::html::{MAX_BARS, MAX_ROWS, Page, Side};

pub fn run(args: &Report, out: &mut Out) -> Result<()> {
    let reading = &args.inputs.reading;
    let inputs = args.inputs.inputs.iter().map(|p| input::read(p));
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    let captures = inputs
        .iter()
        .filter(|i| matches!(i, Input::Capture(_)))
        .count();
    let mut titles = args.inputs.inputs.iter().map(|p| p.display().to_string());
    // Raw files are one boot together; each capture is a boot by itself.
    let boots = match (captures, inputs.len()) {
        (2, 2) => inputs
            .into_iter()
            .map(|i| input::record_of(vec![i], reading))
            .collect::<Result<Vec<_>>>()?,
        (0 | 1, _) => vec![input::record_of(inputs, reading)?],
        _ => bail!("{captures} captures; a page shows one boot, or compares two captures"),
    };
    let mut boots = boots.into_iter();
    let (Some(a), b) = (boots.next(), boots.next()) else {
        bail!("nothing to show");
    };
    let title = titles.next().unwrap_or_default();
    let b = b.map(|b| (titles.next().unwrap_or_default(), b));
    let page = page(
        (&title, &a),
        b.as_ref().map(|(t, r)| (t.as_str(), r)),
        None,
        &reading.options(),
    )?;
    beside::write(&args.out, |f| Ok(f.write_all(page.as_bytes())?))?;
    if out.json {
        let done = serde_json::json!({"schema": "firstlight.report/1", "page": args.out});
        return out.text(&views::json::text(&done));
    }
    out.text(&format!("{}\n", args.out.display()))
}

/// The page of a boot, alone or beside another one.
pub fn page(
    (title, a): (&str, &Record),
    best: Option<(&str, &Record)>,
    experiment: Option<Experiment>,
    options: &Options,
) -> Result<String> {
    let comparison = match best {
        Some((name, b)) => Some(
            analysis::compare_with(a, b, options).with_context(|| format!("{title} and {name}"))?,
        ),
        None => None,
    };
    Ok(views::html::page(&Page {
        title: title.to_owned(),
        baseline: side(title, a, options),
        best: best.map(|(name, b)| side(name, b, options)),
        comparison,
        experiment,
    }))
}

fn side(title: &str, record: &Record, options: &Options) -> Side {
    let boot = analysis::boot(record, options, 0);
    Side {
        title: title.to_owned(),
        blame: analysis::blame_with(record, &boot.phases, None, MAX_ROWS),
        timeline: analysis::timeline(record, MAX_BARS),
        boot,
    }
}
