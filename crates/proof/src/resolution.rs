//! What a run whose variants are alike tells apart.

use crate::error::{Error, Result};
use analysis::{RunError, run_resolution};
use record::{ClockKind, Nanos};
use std::path::Path;
use views::Resolution;

/// What the run in the folder `run` tells apart: variants named in `changed` are known to
/// differ, and `delays`, in percent, are laid upon boots that are alike.
///
/// # Errors
/// The folder holds no run in virtual time, no such variant, or too few boots.
pub fn resolution(run: &Path, changed: &[String], delays: &[f64]) -> Result<Resolution> {
    let experiment = inspect::experiment::read(run)?;
    let name = run.display();
    if experiment.clock != ClockKind::Virtual {
        return Err(Error::Unfit(format!(
            "{name}: only boots in virtual time are judged by their spread; these ran in real time"
        )));
    }
    let boots = experiment.trials.iter();
    let boots: Vec<(&str, Option<Nanos>)> =
        boots.map(|t| (t.variant.as_str(), t.first_light)).collect();
    let found = run_resolution(&boots, &experiment.baseline, changed, delays);
    let found = found.map_err(|e| {
        Error::Unfit(match e {
            RunError::NoVariant(unknown) => format!("{name}: there is no variant `{unknown}`"),
            RunError::TooFew(n) => {
                format!("{name}: at least four boots that are alike came to first light, found {n}")
            }
        })
    })?;
    Ok(Resolution::of(&run.display().to_string(), &found))
}
