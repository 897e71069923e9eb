//! What a run whose variants are alike tells apart.

use crate::error::{Error, Result};
use analysis::{BootTimes, RunBoot, RunError, run_resolution};
use input::Reading;
use inspect::experiment::capture_of;
use record::ClockKind;
use std::path::Path;
use views::Resolution;

/// What the run in the folder `run` tells apart, by first light and by what its captures say of the
/// work and the waits of items: variants named in `changed` are known to
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
    let times = |trial| -> Result<BootTimes> {
        let Some(capture) = capture_of(run, trial) else {
            return Ok(BootTimes::default());
        };
        let of = input::boots::of(&[capture], &Reading::default(), &|_| ())?;
        Ok(of.into_iter().next().unwrap_or_default())
    };
    let boots = experiment.trials.iter().map(|trial| {
        Ok(RunBoot {
            variant: &trial.variant,
            first_light: trial.first_light,
            times: times(trial)?,
        })
    });
    let boots = boots.collect::<Result<Vec<RunBoot<'_>>>>()?;
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
