//! The boots of a search: who runs them, and what came of each set.

use crate::settings::Settings;
use std::collections::BTreeMap;

/// What came of one boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Boot {
    /// Its time, in nanoseconds.
    Time(i64),
    /// This set of differences cannot be judged, and why: it does not build or boot.
    Unbootable(String),
}

/// Runs boots.
pub trait Boots {
    /// Why no boot can be run at all.
    type Error;

    /// The first `count` boots of each of these sets. A set has the numbers of the
    /// differences that are applied to the first system, ascending. What was booted before is
    /// given again, not booted again.
    ///
    /// # Errors
    /// If nothing can be booted.
    fn boots(&mut self, sets: &[Vec<usize>], count: usize) -> Result<Vec<Vec<Boot>>, Self::Error>;
}

/// What happens during a search, for the reader.
#[derive(Clone, Debug, PartialEq)]
pub enum Trace<'a> {
    /// A set was booted.
    Booted {
        /// The set.
        set: &'a [usize],
        /// The times of its boots so far, in nanoseconds.
        times: &'a [i64],
    },
    /// So many differences remain in question.
    Open {
        /// How many.
        count: usize,
    },
}

/// Receives what happens.
pub type Say<'a> = dyn FnMut(Trace<'_>) + 'a;

/// The boots of a search so far.
pub struct Bench<'a, B: Boots> {
    boots: &'a mut B,
    say: &'a mut Say<'a>,
    pub settings: Settings,
    /// The times of each set, or why it has none.
    known: BTreeMap<Vec<usize>, Result<Vec<i64>, String>>,
}

impl<'a, B: Boots> Bench<'a, B> {
    pub fn new(boots: &'a mut B, settings: &Settings, say: &'a mut Say<'a>) -> Self {
        Self {
            boots,
            say,
            settings: settings.clone(),
            known: BTreeMap::new(),
        }
    }

    /// What came of each set.
    pub fn known(&self) -> &BTreeMap<Vec<usize>, Result<Vec<i64>, String>> {
        &self.known
    }

    pub fn open(&mut self, count: usize) {
        (self.say)(Trace::Open { count });
    }

    /// The times of these sets, with at least `count` boots each; `Err` of a set that
    /// cannot be judged.
    pub fn of(
        &mut self,
        sets: &[Vec<usize>],
        count: usize,
    ) -> Result<Vec<Result<Vec<i64>, String>>, B::Error> {
        let missing = |set: &&Vec<usize>| match self.known.get(*set) {
            Some(Ok(times)) => times.len() < count,
            Some(Err(_)) => false,
            None => true,
        };
        let wanted: Vec<Vec<usize>> = sets.iter().filter(missing).cloned().collect();
        if !wanted.is_empty() {
            let booted = self.boots.boots(&wanted, count)?;
            for (set, boots) in wanted.into_iter().zip(booted) {
                let times: Result<Vec<i64>, String> = boots
                    .into_iter()
                    .map(|boot| match boot {
                        Boot::Time(ns) => Ok(ns),
                        Boot::Unbootable(why) => Err(why),
                    })
                    .collect();
                // One boot without a time makes the set doubtful.
                let times = times.and_then(|times| match times.is_empty() {
                    true => Err("it was not booted".to_owned()),
                    false => Ok(times),
                });
                let times_shown = times.as_deref().unwrap_or_default();
                (self.say)(Trace::Booted {
                    set: &set,
                    times: times_shown,
                });
                self.known.insert(set, times);
            }
        }
        Ok(sets
            .iter()
            .map(|set| match self.known.get(set) {
                Some(known) => known.clone(),
                None => Err("it was not booted".to_owned()),
            })
            .collect())
    }

    /// As [`Self::of`], of one set.
    pub fn one(
        &mut self,
        set: &[usize],
        count: usize,
    ) -> Result<Result<Vec<i64>, String>, B::Error> {
        let mut all = self.of(&[set.to_vec()], count)?;
        Ok(all
            .pop()
            .unwrap_or_else(|| Err("it was not booted".to_owned())))
    }

    /// How often a set was booted.
    pub fn count(&self, set: &[usize]) -> usize {
        match self.known.get(set) {
            Some(Ok(times)) => times.len(),
            Some(Err(_)) => 1,
            None => 0,
        }
    }

    /// How many boots there were.
    pub fn total(&self) -> usize {
        self.known.keys().map(|set| self.count(set)).sum()
    }

    /// The scatter within sets: the pooled standard deviation, and its degrees of freedom.
    pub fn scatter(&self) -> (f64, usize) {
        let (mut sum, mut df) = (0.0, 0);
        for times in self.known.values().flatten() {
            let mean = mean(times);
            sum += times
                .iter()
                .map(|t| (*t as f64 - mean).powi(2))
                .sum::<f64>();
            df += times.len().saturating_sub(1);
        }
        match df {
            0 => (0.0, 0),
            df => ((sum / df as f64).sqrt(), df),
        }
    }
}

/// The mean, in nanoseconds; 0 of nothing.
pub fn mean(times: &[i64]) -> f64 {
    times.iter().map(|t| *t as f64).sum::<f64>() / times.len().max(1) as f64
}

/// The median, in nanoseconds; 0 of nothing.
pub fn median(times: &[i64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |i: usize| sorted.get(i).map_or(0.0, |t| *t as f64);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => at(n / 2),
        n => (at(n / 2 - 1) + at(n / 2)) / 2.0,
    }
}
