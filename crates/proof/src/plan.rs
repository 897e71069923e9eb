//! What a run would do, as views take it.

use lab::Experiment;

/// What a run would do: each variant's changes, and the boots that are missing.
#[must_use]
pub fn plan(experiment: &Experiment, options: &lab::Options) -> views::LabPlan {
    let forecast = lab::forecast(experiment, options);
    let untreated = treat::BootSpec {
        cmdline: experiment.base.cmdline.clone(),
        ..treat::BootSpec::default()
    };
    let variants = experiment.variants.iter().map(|v| {
        // Each treatment's sentence is about what those before it left.
        let baseline = experiment.variants.first().map(|b| b.spec.clone());
        let mut spec = match v.name == lab::BASELINE {
            true => Some(untreated.clone()),
            false => baseline,
        };
        let changes = v.treatments.iter().filter_map(|treatment| {
            let before = spec.take()?;
            let sentence = treatment.plan(&before);
            spec = treatment.apply(&before).ok().map(|(after, _)| after);
            Some(sentence)
        });
        views::LabPlanVariant {
            variant: v.name.clone(),
            changes: changes.collect(),
            cmdline: v.spec.cmdline.to_string(),
        }
    });
    let boots = forecast.boots.iter().map(|b| views::LabPlanBoot {
        variant: b.id.variant.clone(),
        perturbation: b.id.perturbation,
        kind: b.id.purpose.as_str(),
        wall_s: b.wall_s,
        basis: b.basis.as_str(),
    });
    views::LabPlan {
        experiment: experiment.name.clone(),
        machine: experiment.base.platform.to_string(),
        jobs: forecast.jobs,
        wall_s: forecast.wall_s,
        variants: variants.collect(),
        boots: boots.collect(),
        before: forecast.before.clone(),
    }
}
