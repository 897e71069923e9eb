//! What recording costs: the same boot with and without it.

use crate::capture;
use crate::error::LabError;
use crate::experiment::Recording;
use crate::trial::{Purpose, Trial};
use record::Nanos;
use std::path::Path;

/// What recording costs a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingCost {
    /// The variant.
    pub variant: String,
    /// What is recorded, as the experiment says it.
    pub asked: Vec<String>,
    /// First light with and without it, after reset; `None`: it did not come.
    pub first_light: [Option<Nanos>; 2],
}

impl RecordingCost {
    /// How much later first light comes, if it comes in both boots.
    #[must_use]
    pub fn cost(&self) -> Option<Nanos> {
        let [with, without] = self.first_light;
        Some(with? - without?)
    }

    /// One sentence without a full stop.
    fn sentence(&self) -> String {
        let asked = self.asked.join(", ");
        match (self.first_light, self.cost()) {
            ([Some(with), Some(without)], Some(cost)) => format!(
                "recording {asked} moves first light by {cost}: {with} with the recording, \
                 {without} without"
            ),
            _ => format!(
                "the cost of recording {asked} is unknown, because the boot with or without it \
                 did not reach first light"
            ),
        }
    }
}

/// Says in the captures of `trials`, in the output folder `out`, what recording
/// costs, where a boot without it is among them.
///
/// # Errors
/// If a capture cannot be read or written.
pub fn state(
    out: &Path,
    recording: &Recording,
    trials: &[Trial],
) -> Result<Vec<RecordingCost>, LabError> {
    let mut costs = Vec::new();
    for without in trials
        .iter()
        .filter(|t| t.id.purpose == Purpose::Unrecorded)
    {
        let mine = || {
            let same = |t: &&Trial| {
                t.id.variant == without.id.variant && t.id.purpose != Purpose::Unrecorded
            };
            trials.iter().filter(same)
        };
        let Some(with) = mine().find(|t| t.id.perturbation == 0) else {
            continue;
        };
        let light = |t: &Trial| match t.failure {
            Some(_) => None,
            None => capture::first_light(&out.join(&t.capture)),
        };
        let cost = RecordingCost {
            variant: without.id.variant.clone(),
            asked: recording.asked.clone(),
            first_light: [light(with), light(without)],
        };
        for trial in mine() {
            capture::state_recording(&out.join(&trial.capture), &cost.sentence())?;
        }
        costs.push(cost);
    }
    Ok(costs)
}
