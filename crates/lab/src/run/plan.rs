//! Which trials an experiment has, and in which order they run.

use super::Options;
use crate::experiment::{Experiment, Recording};
use crate::trial::{Plan, TrialId};
use treat::{BootSpec, Treatment};

/// All trials, in the order of running: what says most comes first.
#[must_use]
pub fn plan(experiment: &Experiment, options: &Options) -> Vec<Plan> {
    let mut plans = Vec::new();
    let recording = &experiment.base.recording;
    for perturbation in 0..options.ensemble.max(1) {
        let first = perturbation == 0;
        let unrecorded = first && options.recording_cost && recording.is_noticed();
        for (repeat, unrecorded, wanted) in [
            (false, false, true),
            (true, false, first && options.check_exact),
            (false, true, unrecorded),
        ] {
            if !wanted {
                continue;
            }
            for variant in &experiment.variants {
                let mut spec = variant.spec.clone();
                if !first {
                    spec.cmdline.add(&innocent_word(perturbation));
                }
                if unrecorded {
                    spec = without(recording, spec);
                }
                plans.push(Plan {
                    id: TrialId {
                        variant: variant.name.clone(),
                        perturbation,
                        repeat,
                        unrecorded,
                    },
                    spec,
                });
            }
        }
    }
    plans
}

/// The same boot with nothing recorded. A variant may have taken words of the
/// recording away itself.
fn without(recording: &Recording, mut spec: BootSpec) -> BootSpec {
    for word in &recording.words {
        if let Ok((after, _)) = Treatment::RemoveWord(word.clone()).apply(&spec) {
            spec = after;
        }
    }
    spec
}

/// A word that no program looks at: to the kernel it is a parameter of a module
/// that is not there, and it is not handed on to init. Its length differs from
/// one to the next.
fn innocent_word(perturbation: u32) -> String {
    let more = usize::try_from(perturbation).unwrap_or(0) * 7 % 61;
    format!("firstlight.perturb={perturbation}{}", "x".repeat(more))
}

#[cfg(test)]
mod tests {
    use super::{innocent_word, plan};
    use crate::experiment::Experiment;
    use crate::run::Options;

    #[test]
    fn innocent_words_differ_in_length() {
        let words: Vec<_> = (1..20).map(innocent_word).collect();
        let lengths: std::collections::BTreeSet<_> = words.iter().map(String::len).collect();
        assert!(lengths.len() > 15, "{words:?}");
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
