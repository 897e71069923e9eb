//! `firstlight lab resolution`: what a run whose variants are alike tells apart.

use crate::args::LabResolution;
use crate::out::Out;
use analysis::{RunError, run_resolution};
use anyhow::{Context, Result, anyhow, bail};
use record::Nanos;
use serde::Deserialize;
use views::Resolution;

/// What is read of a run's `result.json`.
#[derive(Deserialize)]
struct Run {
    schema: String,
    clock: String,
    baseline: String,
    trials: Vec<Boot>,
}

#[derive(Deserialize)]
struct Boot {
    variant: String,
    first_light_ns: Option<i64>,
}

pub fn run(args: &LabResolution, out: &mut Out) -> Result<()> {
    let path = args.run.join("result.json");
    let name = path.display();
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("{name}: cannot be read; `firstlight lab run` writes it"))?;
    let run: Run = serde_json::from_str(&text)
        .with_context(|| format!("{name}: is no result of `firstlight lab run`"))?;
    if run.schema != "firstlight.lab/1" {
        bail!(
            "{name}: expected the schema firstlight.lab/1, found {}",
            run.schema
        );
    }
    if run.clock != "virtual" {
        bail!(
            "{name}: only boots in virtual time are judged by their spread; these ran in real time"
        );
    }
    let boots: Vec<(&str, Option<Nanos>)> = run
        .trials
        .iter()
        .map(|t| (t.variant.as_str(), t.first_light_ns.map(Nanos)))
        .collect();
    let found = run_resolution(&boots, &run.baseline, &args.changed, &args.delays);
    let found = found.map_err(|e| match e {
        RunError::NoVariant(unknown) => anyhow!("{name}: there is no variant `{unknown}`"),
        RunError::TooFew(n) => {
            anyhow!("{name}: at least four boots that are alike came to first light, found {n}")
        }
    })?;
    let result = Resolution::of(&args.run.display().to_string(), &found);
    let text = if out.json {
        views::json::text(&result)
    } else if args.markdown {
        result.markdown()
    } else {
        result.terminal(&out.style)
    };
    out.text(&text)
}
