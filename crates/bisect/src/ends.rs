//! Whether the two systems differ at all.

use crate::boots::{Bench, Boots};
use crate::found::{Comparison, Found, Outcome, Sample};
use crate::levels::{Levels, Test};

/// What the two ends say.
pub enum Ends {
    /// They differ.
    Differ(Levels),
    /// They do not differ by as much as was asked for.
    Same,
    /// The boots scatter too much, or an end cannot be booted.
    CannotTell,
}

/// Boots both ends until it is clear whether they differ. Looking several times errs more often
/// than one look does. That costs boots, and no wrong answer, because what is found later is
/// confirmed by other boots.
pub fn ends<B: Boots>(bench: &mut Bench<'_, B>, last: &[usize]) -> Result<Ends, B::Error> {
    let most = bench.settings.most;
    let mut count = bench.settings.first.max(2);
    loop {
        let both = bench.of(&[Vec::new(), last.to_vec()], count)?;
        let [Ok(low), Ok(high)] = both.as_slice() else {
            return Ok(Ends::CannotTell);
        };
        let see = bench.see();
        let Test { delta, p, half } = bench.test(low, high);
        let is_real = p <= bench.settings.error;
        if is_real && delta.abs() > see {
            return Ok(Ends::Differ(Levels {
                low: low.clone(),
                high: high.clone(),
            }));
        }
        if delta.abs() + half <= see {
            return Ok(Ends::Same);
        }
        if count >= most {
            return Ok(match is_real || half <= see {
                true => Ends::Same,
                false => Ends::CannotTell,
            });
        }
        count = (count + (count / 2).max(1)).min(most);
    }
}

impl<B: Boots> Bench<'_, B> {
    /// Two sets compared, for the reader.
    pub fn compared(&self, before: &[i64], after: &[i64]) -> Comparison {
        let Test { delta, p, half } = self.test(before, after);
        Comparison {
            delta_ns: delta as i64,
            interval_ns: [(delta - half) as i64, (delta + half) as i64],
            p,
        }
    }

    /// The result with this outcome.
    pub fn found(&mut self, last: &[usize], outcome: Outcome) -> Result<Found, B::Error> {
        let first = self.one(&[], 1)?.unwrap_or_default();
        let second = self.one(last, 1)?.unwrap_or_default();
        let (samples, unbootable) = self.all();
        Ok(Found {
            outcome,
            ends: self.compared(&first, &second),
            see_ns: self.see() as i64,
            first,
            second,
            boots: self.total(),
            unbootable,
            samples,
        })
    }

    fn all(&self) -> (Vec<Sample>, (usize, Option<String>)) {
        let mut samples = Vec::new();
        let (mut count, mut first) = (0, None);
        for (set, times) in self.known() {
            match times {
                Ok(times) => samples.push(Sample {
                    set: set.clone(),
                    times: times.clone(),
                }),
                Err(why) => {
                    count += 1;
                    first.get_or_insert_with(|| why.clone());
                }
            }
        }
        (samples, (count, first))
    }
}
