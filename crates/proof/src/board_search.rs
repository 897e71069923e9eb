//! The judge of a search on a real board: captures as in the lab, times as those of a board.

use crate::captures::Captures;
use analysis::Looks;
use input::Say;
use lab::search::{Effect, Health, Judge, JudgeError, Recommended, Typical, Verdict};
use record::Nanos;
use std::path::Path;

/// Reads captures as in the lab, and judges times as those of a board.
pub struct BoardCaptures<'a> {
    captures: Captures<'a>,
    /// The least difference that counts, as a part of the baseline.
    minimum_effect: f64,
    /// How many sets the last boots compare.
    sets: usize,
    /// How many boots each of them gets at most.
    most: u32,
}

impl<'a> BoardCaptures<'a> {
    /// Judges up to `most` boots a set, where a difference counts from the part
    /// `minimum_effect` of the baseline on. Notes on inputs go to `say`.
    #[must_use]
    pub fn new(minimum_effect: f64, most: u32, say: &'a Say<'a>) -> Self {
        Self {
            captures: Captures::new(say),
            minimum_effect,
            sets: 1,
            most,
        }
    }
}

impl Judge for BoardCaptures<'_> {
    fn first_light(&mut self, capture: &Path) -> Result<Option<Nanos>, JudgeError> {
        self.captures.first_light(capture)
    }

    fn health(
        &mut self,
        before: &Path,
        after: &Path,
        masked: &[String],
    ) -> Result<Vec<Health>, JudgeError> {
        self.captures.health(before, after, masked)
    }

    fn recommended(&mut self, capture: &Path) -> Result<Vec<Recommended>, JudgeError> {
        self.captures.recommended(capture)
    }

    fn limits(&mut self, capture: &Path) -> Result<Vec<(String, Nanos)>, JudgeError> {
        self.captures.limits(capture)
    }

    fn typical(&self, times: &[Nanos]) -> Option<Typical> {
        self.captures.typical(times)
    }

    fn compares(&mut self, sets: usize, ensemble: u32) {
        self.sets = sets;
        self.most = ensemble;
    }

    fn effect(&self, base: &[Nanos], variant: &[Nanos]) -> Option<Effect> {
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        let looks = Looks::new(self.sets, most, self.minimum_effect);
        let answer = looks.answer(base, variant)?;
        let (low, high) = answer.effect.interval;
        let least = analysis::median(base)?.get() as f64 * self.minimum_effect;
        Some(Effect {
            verdict: match answer.verdict {
                Some(analysis::Verdict::Faster) => Verdict::Faster,
                Some(analysis::Verdict::Slower) => Verdict::Slower,
                // What is not proven is not kept.
                Some(analysis::Verdict::NoDifference) | None => Verdict::NoDifference,
            },
            delta: answer.effect.delta,
            spread: Nanos((high - low).get() / 2),
            least: Nanos(least as i64),
        })
    }

    fn no_effect(&self, e: &Effect, boots: usize) -> String {
        format!(
            "no proven effect: after {boots} boots each, first light moves by {} with a 95 % \
             interval of {} to each side",
            e.delta, e.spread
        )
    }

    fn open_root(&mut self, image: &Path) -> Result<(), JudgeError> {
        self.captures.open_root(image)
    }

    fn access_list(&mut self, capture: &Path, list: &Path) -> Result<(), JudgeError> {
        self.captures.access_list(capture, list)
    }
}
