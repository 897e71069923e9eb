//! Results that others booted: which of them a run takes, and which it checks.

use crate::entry::Found;
use crate::error::LabError;
use crate::event::Event;
use crate::machine::Machine;
use crate::shared::{Known, Shared, adopt, may_share};
use crate::trial::{Plan, Trial};
use std::collections::BTreeSet;
use std::path::Path;

/// What shared results say of the trials of a run.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// Trials that are booted although their results are known, and these.
    pub audits: Vec<(usize, Found)>,
    /// Fingerprints whose entry is of no use; a boot replaces it.
    pub refused: BTreeSet<String>,
}

impl Elsewhere {
    /// Looks for the results of the `plans` that have none yet, and puts them into the
    /// output folder `out`; whether the place of shared results answers.
    ///
    /// # Errors
    /// If the output folder cannot be written.
    pub fn find(
        &mut self,
        shared: &Shared,
        machine: &dyn Machine,
        (plans, fingerprints): (&[Plan], &[String]),
        out: &Path,
        results: &mut [Option<Trial>],
        on: &mut dyn FnMut(Event),
    ) -> Result<bool, LabError> {
        let all = plans.iter().zip(fingerprints).zip(results).enumerate();
        let wanted = all.filter(|(_, ((plan, _), result))| result.is_none() && may_share(plan));
        let mut wanted: Vec<_> = wanted
            .map(|(i, ((p, f), result))| (i, p, f, result))
            .collect();
        let names: Vec<&str> = wanted.iter().map(|(_, _, f, _)| f.as_str()).collect();
        let mut take = |at: usize, known: Known| {
            let Some((i, plan, fingerprint, result)) = wanted.get_mut(at) else {
                return Ok(());
            };
            match known {
                Known::Hit(hit) if shared.audits() => self.audits.push((*i, *hit)),
                Known::Hit(hit) => **result = Some(adopt(*hit, plan, out)?),
                Known::Refused(text) => {
                    self.refused.insert((*fingerprint).clone());
                    on(Event::Note { text });
                }
                Known::Nothing => {}
            }
            Ok(())
        };
        let Err(why) = shared.look_up(&names, &machine.emulator(), &mut take)? else {
            return Ok(true);
        };
        let text = format!("{why}; trials are booted, and their results are not shared");
        on(Event::Note { text });
        Ok(false)
    }
}

/// Removes what is beyond the limit of shared results; a sentence, if there is something to
/// say.
pub(super) fn pruned(shared: &Shared, used: &BTreeSet<&str>) -> Option<String> {
    match shared.prune(used) {
        Ok((0, _)) => None,
        Ok((entries, bytes)) => Some(format!(
            "{entries} old shared results ({} KiB) were removed, to stay within the limit",
            bytes.div_ceil(1024)
        )),
        Err(why) => Some(format!("old shared results were not removed: {why}")),
    }
}
