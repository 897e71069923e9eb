//! Boots of sets of differences in the lab.

use super::differences::Differences;
use crate::error::LabError;
use crate::experiment::{Experiment, Variant};
use crate::search::{Judge, Trials};
use crate::trial::Trial;
use bisect::{Boot, Boots};
use std::path::PathBuf;

/// Boots the first system with differences of the second. Trials are kept as those of any
/// experiment: what was booted before in the same folder is not booted again.
pub struct InLab<'a> {
    /// What both systems share, with nothing recorded: recording takes time.
    pub base: &'a Experiment,
    /// What differs.
    pub differences: &'a Differences,
    /// The folder of the trials.
    pub out: PathBuf,
    /// Runs the boots.
    pub trials: &'a mut dyn Trials,
    /// Reads first light.
    pub judge: &'a mut dyn Judge,
}

/// The name of a set as that of a variant: `set-1-3_5` are the differences 1 to 3 and 5,
/// counted from 1.
fn name(set: &[usize], all: usize) -> String {
    match set.len() {
        0 => return "first".to_owned(),
        n if n == all => return "second".to_owned(),
        _ => {}
    }
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for i in set {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *i => *last = *i,
            _ => parts.push((*i, *i)),
        }
    }
    let shown = parts.iter().map(|(a, b)| match a == b {
        true => (a + 1).to_string(),
        false => format!("{}-{}", a + 1, b + 1),
    });
    let shown = shown.collect::<Vec<_>>().join("_");
    // A folder has this name.
    match shown.len() {
        0..=120 => format!("set-{shown}"),
        _ => format!("set-{}", crate::cache::hash_bytes(shown.as_bytes())),
    }
}

impl Boots for InLab<'_> {
    type Error = LabError;

    fn boots(&mut self, sets: &[Vec<usize>], count: usize) -> Result<Vec<Vec<Boot>>, LabError> {
        let all = self.differences.names().len();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let mut names = Vec::new();
        let mut why_not = Vec::new();
        let mut experiments: Vec<Experiment> = Vec::new();
        for set in sets {
            let name = name(set, all);
            let made = self.differences.applied(self.base, set, &name, &self.out)?;
            match made {
                Err(why) => why_not.push((name.clone(), why)),
                // What shares all but its treatments runs at once.
                Ok(next) => match experiments.iter_mut().find(|e| e.base == next.base) {
                    Some(same) => same.variants.extend(next.variants),
                    None => experiments.push(next),
                },
            }
            names.push(name);
        }
        let mut trials: Vec<Trial> = Vec::new();
        for experiment in &experiments {
            match self.trials.run(experiment, count, None) {
                Ok(done) => trials.extend(done),
                // Not each mixture of two configurations can be built. If an end cannot, the
                // user has to know why.
                Err(e @ (LabError::Kernel { .. } | LabError::ToolFailed { .. }))
                    if !experiment.variants.iter().any(is_end) =>
                {
                    let failed = experiment.variants.iter();
                    why_not.extend(failed.map(|v| (v.name.clone(), e.to_string())));
                }
                Err(e) => return Err(e),
            }
        }
        let folder = self.out.join("trees");
        if folder.is_dir() {
            std::fs::remove_dir_all(&folder)
                .map_err(crate::error::io_error(&folder, "cannot be removed"))?;
        }
        names
            .iter()
            .map(|n| self.of(n, &trials, &why_not))
            .collect()
    }
}

fn is_end(variant: &Variant) -> bool {
    ["first", "second"].contains(&variant.name.as_str())
}

impl InLab<'_> {
    /// What came of the boots of one set.
    fn of(
        &mut self,
        name: &str,
        trials: &[Trial],
        why_not: &[(String, String)],
    ) -> Result<Vec<Boot>, LabError> {
        if let Some((_, why)) = why_not.iter().find(|(n, _)| n == name) {
            return Ok(vec![Boot::Unbootable(why.clone())]);
        }
        let mut boots = Vec::new();
        for trial in trials.iter().filter(|t| t.id.variant == name) {
            let capture = self.out.join(&trial.capture);
            boots.push(match &trial.failure {
                Some(failure) => Boot::Unbootable(failure.detail.clone()),
                None => {
                    let light = self.judge.first_light(&capture);
                    let light = light.map_err(|source| LabError::Judge { capture, source })?;
                    match light {
                        Some(at) => Boot::Time(at.get()),
                        None => Boot::Unbootable("the boot did not reach first light".to_owned()),
                    }
                }
            });
        }
        Ok(boots)
    }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn sets_have_names_that_folders_can_have() {
        assert_eq!(name(&[], 9), "first");
        assert_eq!(name(&[0, 1], 2), "second");
        assert_eq!(name(&[0, 1, 2, 4, 8], 10), "set-1-3_5_9");
        let odd: Vec<usize> = (0..400).step_by(2).collect();
        let name = name(&odd, 400);
        assert!(name.len() < 80, "{name}");
    }
}
