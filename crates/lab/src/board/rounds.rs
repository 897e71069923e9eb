//! Which boots a run on a board has, and in which order.

use crate::experiment::{BASELINE, Experiment, Sampling, Variant};
use crate::trial::{Plan, Purpose, TrialId};

/// Boots that belong together: one of each variant, in an order of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// What they are for.
    pub purpose: Purpose,
    /// Its boots.
    pub plans: Vec<Plan>,
}

/// All rounds: warm-ups, two baselines each to see the scatter, then at most `most` with
/// a boot of each variant, numbered from `first`.
pub fn rounds(experiment: &Experiment, sampling: Sampling, most: u32, first: u32) -> Vec<Round> {
    let mut chance = fastrand::Rng::with_seed(sampling.seed);
    let mut all = Vec::new();
    let mut round = |purpose, number| {
        let mut variants: Vec<&Variant> = experiment.variants.iter().collect();
        chance.shuffle(&mut variants);
        let plans = variants.into_iter().map(|v| boot(v, number, purpose));
        Round {
            purpose,
            plans: plans.collect(),
        }
    };
    all.extend((0..sampling.warm_up).map(|n| round(Purpose::WarmUp, n)));
    let results: Vec<Round> = (0..most.max(1))
        .map(|n| round(Purpose::Result, first.saturating_add(n)))
        .collect();
    let baseline = experiment.variants.iter().find(|v| v.name == BASELINE);
    for n in 0..sampling.scatter_rounds {
        let pair = [2 * n, 2 * n + 1].into_iter();
        let plans = pair.filter_map(|n| Some(boot(baseline?, n, Purpose::Scatter)));
        all.push(Round {
            purpose: Purpose::Scatter,
            plans: plans.collect(),
        });
    }
    all.extend(results);
    all
}

fn boot(variant: &Variant, number: u32, purpose: Purpose) -> Plan {
    Plan {
        id: TrialId {
            variant: variant.name.clone(),
            perturbation: number,
            purpose,
            attempt: 0,
        },
        spec: variant.spec.clone(),
        recording: Vec::new(),
    }
}
