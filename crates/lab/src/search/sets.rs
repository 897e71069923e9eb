//! Sets of treatments: which there are, their names, and an experiment of them.

use crate::error::LabError;
use crate::experiment::{Experiment, Platform, Variant};
use crate::on_files;
use treat::Treatment;

/// The treatments that are known before the first boot: those of the experiment's variants,
/// and those that the user named.
///
/// # Errors
/// A text in `with` is no treatment.
pub fn candidates(experiment: &Experiment, with: &[String]) -> Result<Vec<Treatment>, LabError> {
    let mut all: Vec<Treatment> = Vec::new();
    let of_variants = experiment.variants.iter().flat_map(|v| v.treatments.iter());
    for treatment in of_variants {
        if !all.contains(treatment) {
            all.push(treatment.clone());
        }
    }
    for text in with {
        let treatment = match experiment.base.platform {
            Platform::Board(_) => on_files::treatment(text),
            _ => Treatment::parse(text).map_err(|e| e.to_string()),
        };
        let treatment = treatment.map_err(LabError::Search)?;
        if !all.contains(&treatment) {
            all.push(treatment);
        }
    }
    Ok(all)
}

/// A finding's treatment as the board of an experiment can take it, or the lab; `None`: neither
/// can.
pub(super) fn possible(experiment: &Experiment, text: &str) -> Option<Treatment> {
    match experiment.base.platform {
        Platform::Board(_) => in_lab(text).or_else(|| on_files::treatment(text).ok()),
        _ => in_lab(text),
    }
}

/// A finding's treatment as the lab can do it; `None`: it cannot.
#[must_use]
pub fn in_lab(text: &str) -> Option<Treatment> {
    // What keeps the journal in memory leaves nothing to flush.
    let text = match text {
        "journald=volatile" => "mask=systemd-journal-flush.service",
        other => other,
    };
    Treatment::parse(text).ok()
}

pub(super) fn no_baseline() -> LabError {
    LabError::Bug {
        why: "the experiment has no baseline".to_owned(),
    }
}

/// The experiment with these sets as its variants.
pub(super) fn variants(
    of: &Experiment,
    sets: &[&(String, Vec<Treatment>)],
) -> Result<Experiment, LabError> {
    let Some(base) = of.variants.first().map(|b| &b.spec) else {
        return Err(no_baseline());
    };
    let mut variants = Vec::new();
    for (name, treatments) in sets {
        let mut spec = base.clone();
        for treatment in treatments {
            // A word that is not there needs not be taken away.
            if let Ok((after, _)) = treatment.apply(&spec) {
                spec = after;
            }
        }
        variants.push(Variant {
            name: name.clone(),
            treatments: treatments.clone(),
            spec,
        });
    }
    Ok(Experiment {
        variants,
        ..of.clone()
    })
}

/// The units that these treatments mask.
pub(super) fn masked(treatments: &[Treatment]) -> Vec<String> {
    let of = |t: &Treatment| match t {
        Treatment::Mask(unit) => Some(unit.clone()),
        _ => None,
    };
    treatments.iter().filter_map(of).collect()
}

/// Some of `all`, by their numbers: its name and its treatments.
pub(super) fn set(all: &[Treatment], numbers: &[usize]) -> (String, Vec<Treatment>) {
    let of = numbers.iter().filter_map(|i| all.get(*i).cloned());
    (name(numbers), of.collect())
}

/// The name of a set: `set-1-3`, by the numbers of its treatments.
pub(super) fn name(set: &[usize]) -> String {
    let numbers: Vec<String> = set.iter().map(|i| (i + 1).to_string()).collect();
    format!("set-{}", numbers.join("-"))
}
