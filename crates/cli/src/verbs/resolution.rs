//! `firstlight lab resolution`: what a run whose variants are alike tells apart.

use crate::args::LabResolution;
use crate::out::Out;
use analysis::{Alike, effect, median, range, resolution};
use anyhow::{Context, Result, bail};
use record::Nanos;
use serde::Deserialize;
use views::{Resolution, ResolutionChange, ResolutionEnsemble, ResolutionFound};

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
    // The variants in the order of their boots; a boot without first light is none.
    let mut variants: Vec<(&str, Vec<Nanos>)> = Vec::new();
    for boot in &run.trials {
        let at = match variants.iter().position(|v| v.0 == boot.variant) {
            Some(at) => at,
            None => {
                variants.push((&boot.variant, Vec::new()));
                variants.len() - 1
            }
        };
        if let Some((_, times)) = variants.get_mut(at) {
            times.extend(boot.first_light_ns.map(Nanos));
        }
    }
    if let Some(unknown) = args
        .changed
        .iter()
        .find(|c| !variants.iter().any(|v| v.0 == **c))
    {
        bail!("{name}: there is no variant `{unknown}`");
    }
    let is_changed = |name: &str| args.changed.iter().any(|c| c == name);
    let alike = variants.iter().filter(|v| !is_changed(v.0));
    let alike: Vec<Vec<Nanos>> = alike.map(|v| v.1.clone()).collect();
    let pool: Vec<Nanos> = alike.iter().flatten().copied().collect();
    let (Some(middle), Some((first, last)), true) = (median(&pool), range(&pool), pool.len() > 3)
    else {
        bail!(
            "{name}: at least four boots that are alike came to first light, found {}",
            pool.len()
        );
    };
    let rows = resolution(&pool, &args.delays);
    let pairs = Alike::of(&alike);
    let base = variants.iter().find(|v| v.0 == run.baseline);
    let base = base.map_or(&[][..], |v| &v.1);
    let changed = variants.iter().filter(|v| is_changed(v.0));
    let result = Resolution {
        schema: "firstlight.lab.resolution/1",
        run: args.run.display().to_string(),
        boots: pool.len(),
        variants: alike.len(),
        min_ns: first.get(),
        median_ns: middle.get(),
        max_ns: last.get(),
        draws: analysis::DRAWS,
        ensembles: rows.iter().map(ensemble).collect(),
        pairs: pairs.pairs,
        told_apart: pairs.told_apart,
        changed: changed
            .filter_map(|(name, times)| {
                let effect = effect(base, times)?;
                Some(ResolutionChange {
                    variant: (*name).to_owned(),
                    delta_ns: effect.delta.get(),
                    spread_ns: effect.spread.get(),
                    least_ns: effect.least.get(),
                    verdict: effect.verdict.as_str(),
                    unperturbed: effect.unperturbed,
                })
            })
            .collect(),
    };
    let text = if out.json {
        views::json::text(&result)
    } else if args.markdown {
        result.markdown()
    } else {
        result.terminal(&out.style)
    };
    out.text(&text)
}

fn ensemble(row: &analysis::Resolution) -> ResolutionEnsemble {
    ResolutionEnsemble {
        boots: row.boots,
        margin: row.margin,
        false_alarms_percent: row.false_alarms * 100.0,
        found: row
            .found
            .iter()
            .map(|f| ResolutionFound {
                delay_percent: f.percent,
                found_percent: f.part * 100.0,
            })
            .collect(),
    }
}
