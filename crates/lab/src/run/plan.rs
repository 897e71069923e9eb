//! Which trials an experiment has, and in which order they run.

use super::Options;
use crate::board::rounds;
use crate::experiment::{Experiment, Mode, Platform, Sampling, Variant};
use crate::trial::{Plan, Purpose, TrialId};

/// All trials, in the order of running.
#[must_use]
pub fn plan(experiment: &Experiment, options: &Options) -> Vec<Plan> {
    match experiment.base.mode {
        Mode::Exact => exact(experiment, options),
        Mode::Statistical(sampling) => match experiment.base.platform {
            Platform::Board(_) => rounds(experiment, sampling, options.ensemble, 0)
                .into_iter()
                .flat_map(|round| round.plans)
                .collect(),
            _ => statistical(experiment, options, sampling),
        },
    }
}

/// What says most comes first.
fn exact(experiment: &Experiment, options: &Options) -> Vec<Plan> {
    let mut plans = Vec::new();
    let recording = &experiment.base.recording;
    for perturbation in 0..options.ensemble.max(1) {
        let first = perturbation == 0;
        let unrecorded = first && options.recording_cost && recording.is_noticed();
        for (purpose, wanted) in [
            (Purpose::Result, true),
            (Purpose::Again, first && options.check_exact),
            (Purpose::Unrecorded, unrecorded),
        ] {
            if !wanted {
                continue;
            }
            for variant in &experiment.variants {
                let mut plan = boot(variant, perturbation, purpose);
                if purpose == Purpose::Unrecorded {
                    plan.spec = recording.without(plan.spec);
                }
                plans.push(plan);
            }
        }
    }
    plans
}

/// In rounds of one boot of each variant, each round in an order of its own, so
/// that what changes on the host while it lasts meets all variants alike.
fn statistical(experiment: &Experiment, options: &Options, sampling: Sampling) -> Vec<Plan> {
    let mut chance = fastrand::Rng::with_seed(sampling.seed);
    let warm_up = (0..sampling.warm_up).map(|n| (n, Purpose::WarmUp));
    let results = (0..options.ensemble.max(1)).map(|n| (n, Purpose::Result));
    let mut plans = Vec::new();
    for (perturbation, purpose) in warm_up.chain(results) {
        let mut round: Vec<&Variant> = experiment.variants.iter().collect();
        chance.shuffle(&mut round);
        plans.extend(round.into_iter().map(|v| boot(v, perturbation, purpose)));
    }
    plans
}

fn boot(variant: &Variant, perturbation: u32, purpose: Purpose) -> Plan {
    let mut spec = variant.spec.clone();
    if perturbation > 0 {
        spec.cmdline.add(&neutral_parameter(perturbation));
    }
    Plan {
        id: TrialId {
            variant: variant.name.clone(),
            perturbation,
            purpose,
            attempt: 0,
        },
        spec,
        recording: Vec::new(),
    }
}

/// A neutral perturbation: a kernel parameter that no program reads. The kernel takes
/// it for a parameter of an absent module and does not pass it on to init. Each
/// perturbation has another length.
fn neutral_parameter(perturbation: u32) -> String {
    let more = usize::try_from(perturbation).unwrap_or(0) * 7 % 61;
    format!("firstlight.perturb={perturbation}{}", "x".repeat(more))
}

#[cfg(test)]
mod tests {
    use super::{neutral_parameter, plan};
    use crate::experiment::Experiment;
    use crate::run::Options;

    #[test]
    fn neutral_parameters_differ_in_length() {
        let words: Vec<_> = (1..20).map(neutral_parameter).collect();
        let lengths: std::collections::BTreeSet<_> = words.iter().map(String::len).collect();
        assert!(lengths.len() > 15, "{words:?}");
    }

    #[test]
    fn rounds_in_real_time_hold_every_variant_in_an_order_of_their_own() {
        let text = "firstlight_experiment = 1\n[base]\nmachine = \"pc\"\nstorage = \"none\"\n\
                    kernel = \"debian\"\nroot = \"none\"\ncmdline = [\"quiet\"]\n\
                    first_light = \"init\"\nmode = \"statistical\"\nwarm_up = 2\nseed = 7\n\
                    [factor.n]\na = [\"cmdline+=a\"]\nb = [\"cmdline+=b\"]\nc = [\"cmdline+=c\"]\n";
        let experiment = Experiment::parse("e.toml", text).unwrap();
        let options = Options {
            out: "out".into(),
            jobs: None,
            ensemble: 6,
            check_exact: false,
            recording_cost: true,
            shared: None,
            on: crate::elsewhere::On::Host,
        };
        let plans = plan(&experiment, &options);
        let rounds: Vec<Vec<String>> = plans
            .chunks(4)
            .map(|round| round.iter().map(|p| p.id.to_string()).collect())
            .collect();
        assert_eq!(rounds.len(), 2 + 6);
        let mut orders = std::collections::BTreeSet::new();
        for (n, round) in rounds.iter().enumerate() {
            let end = match n {
                0 | 1 => format!("/{n} warm-up"),
                _ => format!("/{}", n - 2),
            };
            let mut names: Vec<&str> = round.iter().filter_map(|r| r.strip_suffix(&end)).collect();
            orders.insert(names.join(" "));
            names.sort_unstable();
            assert_eq!(names, ["a", "b", "baseline", "c"], "{round:?}");
        }
        assert!(orders.len() > 3, "{orders:?}");
        // The seed decides.
        assert_eq!(plan(&experiment, &options), plans);
    }

    #[test]
    fn a_boot_without_recording_is_the_same_otherwise() {
        let text = "firstlight_experiment = 1\n[base]\nmachine = \"pc\"\nstorage = \"none\"\n\
                    kernel = \"debian\"\nroot = \"none\"\ncmdline = [\"quiet\"]\n\
                    first_light = \"init\"\nrecord = [\"initcalls\"]\n\
                    [[variant]]\nname = \"a\"\ntreatments = [\"cmdline-=initcall_debug\"]\n";
        let experiment = Experiment::parse("e.toml", text).unwrap();
        let options = |recording_cost| Options {
            out: "out".into(),
            jobs: None,
            ensemble: 2,
            check_exact: true,
            recording_cost,
            shared: None,
            on: crate::elsewhere::On::Host,
        };
        let lines: Vec<_> = plan(&experiment, &options(true))
            .into_iter()
            .map(|p| format!("{}: {}", p.id, p.spec.cmdline))
            .collect();
        assert_eq!(lines.len(), 8);
        assert_eq!(lines[4], "baseline/0 unrecorded: quiet");
        assert_eq!(lines[5], "a/0 unrecorded: quiet");
        assert_eq!(plan(&experiment, &options(false)).len(), 6);
    }
}
