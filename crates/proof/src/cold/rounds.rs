//! Starts of the program, case after case.

use super::wanted::{Cold, ColdEvent};
use crate::error::{Error, Result};
use agent::access::AccessList;
use agent::prefetch::Settings;
use capture::cold::evict::Eviction;
use capture::cold::start::{Case, Measured, once};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Starts of the program.
pub(super) struct Rounds<'a> {
    cold: &'a Cold,
    eviction: &'a Eviction,
    list: Option<&'a AccessList>,
    interrupted: &'a AtomicBool,
    /// What each start took, by case.
    pub measured: BTreeMap<Case, Vec<Measured>>,
}

impl<'a> Rounds<'a> {
    pub fn new(
        cold: &'a Cold,
        eviction: &'a Eviction,
        list: Option<&'a AccessList>,
        interrupted: &'a AtomicBool,
    ) -> Self {
        Self {
            cold,
            eviction,
            list,
            interrupted,
            measured: BTreeMap::new(),
        }
    }

    /// So many rounds of these cases in turn.
    pub fn run(
        &mut self,
        cases: &[Case],
        rounds: u32,
        notes: &mut Vec<String>,
        tell: &mut dyn FnMut(ColdEvent),
    ) -> Result<()> {
        for _ in 0..rounds {
            for case in cases {
                self.once(*case, notes, tell)?;
            }
        }
        Ok(())
    }

    fn once(
        &mut self,
        case: Case,
        notes: &mut Vec<String>,
        tell: &mut dyn FnMut(ColdEvent),
    ) -> Result<()> {
        let round = self.measured.get(&case).map_or(0, Vec::len);
        let (number, of, name) = (round + 1, self.cold.runs, case.as_str());
        tell(ColdEvent::Now(format!("{number} of {of}: {name}")));
        if case != Case::Warm {
            self.eviction.evict()?;
            if let (0, Some(stayed)) = (round, self.eviction.stayed().filter(|s| *s > 0)) {
                notes.push(format!(
                    "{} of its files stay in memory: others have them mapped",
                    views::size(stayed)
                ));
            }
        }
        let ahead = self.list.filter(|_| case.reads_ahead());
        let one = once(self.cold.start(), ahead, &Settings::default())?;
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Error::Unfit("ended by hand".into()));
        }
        if !one.status.success() && !self.cold.ignore_failure {
            return Err(Error::Unfit(format!(
                "{} ended with {}; --ignore-failure measures it all the same",
                self.cold.words().join(" "),
                one.status
            )));
        }
        self.measured.entry(case).or_default().push(one);
        Ok(())
    }
}
