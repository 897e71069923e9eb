//! On which side of two levels of time a set of boots lies.

use crate::boots::{Bench, Boots, mean, median};
use crate::settings::See;
use crate::student::{critical, two_sided};

/// The two levels between which boots are judged.
#[derive(Clone, Debug)]
pub struct Levels {
    pub low: Vec<i64>,
    pub high: Vec<i64>,
}

/// A comparison of two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// The second median minus the first, in nanoseconds.
    pub delta: f64,
    /// The probability of such a difference by chance.
    pub p: f64,
    /// Half the width of the confidence interval of the difference.
    pub half: f64,
}

impl<B: Boots> Bench<'_, B> {
    /// The smallest difference that matters, in nanoseconds.
    pub fn see(&self) -> f64 {
        match self.settings.see {
            See::Ns(ns) => ns as f64,
            See::Part(part) => match self.known().get(&Vec::new()) {
                Some(Ok(times)) => part * median(times),
                _ => 0.0,
            },
        }
    }

    /// The standard deviation that is reckoned with: chance can make that of few boots too
    /// small, and a difference of which nobody asked must not decide.
    fn scale(&self) -> (f64, usize) {
        let (scale, df) = self.scatter();
        (scale.max(self.see() / 10.0), df)
    }

    /// Student's test with the scatter of all boots.
    pub fn test(&self, before: &[i64], after: &[i64]) -> Test {
        let (scale, df) = self.scale();
        let parts = 1.0 / before.len().max(1) as f64 + 1.0 / after.len().max(1) as f64;
        let error = scale * parts.sqrt();
        let t = (mean(after) - mean(before)) / error.max(1e-9);
        Test {
            delta: median(after) - median(before),
            p: two_sided(t, df.max(1)),
            half: critical(self.settings.error, df.max(1)) * error,
        }
    }

    /// The log likelihood ratio of "from the high level" against "from the low one".
    fn ratio(&self, times: &[i64], levels: &Levels) -> f64 {
        let (scale, df) = self.scale();
        // Tails as heavy as those of the scale's own uncertainty, and never lighter than
        // those that outliers make.
        let nu = df.clamp(1, 4) as f64;
        let part = |time: i64, level: &[i64]| {
            let scale = scale * (1.0 + 1.0 / level.len().max(1) as f64).sqrt();
            let z = (time as f64 - median(level)) / scale;
            (nu + 1.0) / 2.0 * (z * z / nu).ln_1p()
        };
        times
            .iter()
            .map(|t| part(*t, &levels.low) - part(*t, &levels.high))
            .sum()
    }

    /// Boots a set until it is sure whether it is as the high level, at most
    /// [`Settings::most`] times; then the likelier side counts. `None`: it cannot be judged.
    pub fn is_high(
        &mut self,
        set: &[usize],
        levels: &Levels,
        error: f64,
    ) -> Result<Option<bool>, B::Error> {
        let enough = ((1.0 - error) / error).ln();
        let mut count = self.count(set).max(1);
        loop {
            let Ok(times) = self.one(set, count)? else {
                return Ok(None);
            };
            let ratio = self.ratio(&times, levels);
            if ratio.abs() >= enough || count >= self.settings.most {
                return Ok(Some(ratio > 0.0));
            }
            count += 1;
        }
    }
}
