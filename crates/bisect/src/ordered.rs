//! The search in a history: which step made the boot slower.

use crate::boots::{Bench, Boots, Say};
use crate::chain::{Unbootable, prefix, step};
use crate::ends::{Ends, ends};
use crate::found::{Culprit, Found, Outcome};
use crate::levels::Test;
use crate::settings::Settings;

/// So often the search begins again, with a tenth of the accepted error each time, if its
/// answer is not confirmed.
const ATTEMPTS: i32 = 3;

/// Finds the step among `count` that makes a boot slower (or faster), where only the first
/// `k` steps can be applied together. Of several steps it finds one that crosses the middle
/// between both ends. Its answer is confirmed by boots on both sides of the step, up to
/// [`Settings::most`] each.
///
/// # Errors
/// As [`Boots::boots`].
pub fn ordered<B: Boots>(
    boots: &mut B,
    count: usize,
    settings: &Settings,
    say: &mut Say<'_>,
) -> Result<Found, B::Error> {
    let mut bench = Bench::new(boots, settings, say);
    let all: Vec<usize> = (0..count).collect();
    let levels = match ends(&mut bench, &all)? {
        Ends::Differ(levels) => levels,
        Ends::Same => return bench.found(&all, Outcome::NoDifference),
        Ends::CannotTell => return bench.found(&all, Outcome::CannotTell),
    };
    let whole = bench.test(&levels.low, &levels.high).delta;
    let decisions = (count.max(2) as f64).log2().ceil() + 3.0;
    let mut among = all.clone();
    for attempt in 0..ATTEMPTS {
        // Shared by the decisions on the way.
        let error = settings.error / 10_f64.powi(attempt) / decisions;
        let at = step(&mut bench, &[], &all, &levels, (error, Unbootable::Nothing))?;
        let [before, after] = [at.low, at.high].map(|k| prefix(&[], &all, k));
        among = all.get(at.low..at.high).unwrap_or_default().to_vec();
        let Some(test) = confirmed(&mut bench, &before, &after, whole)? else {
            continue;
        };
        let outcome = Outcome::Found {
            culprits: vec![Culprit {
                members: among,
                alone: Some(test.clone()),
                left_out: None,
            }],
            rest_ns: whole as i64 - test.delta_ns,
            together: test,
            others: None,
            interact: false,
        };
        return bench.found(&all, outcome);
    }
    bench.found(&all, Outcome::Unconfirmed { among })
}

/// Boots both sides of a step until they differ for sure; `None`: they do not.
fn confirmed<B: Boots>(
    bench: &mut Bench<'_, B>,
    before: &[usize],
    after: &[usize],
    whole: f64,
) -> Result<Option<crate::found::Comparison>, B::Error> {
    let mut count = bench.settings.first.max(2);
    loop {
        let both = bench.of(&[before.to_vec(), after.to_vec()], count)?;
        let [Ok(low), Ok(high)] = both.as_slice() else {
            return Ok(None);
        };
        let Test { delta, p, .. } = bench.test(low, high);
        let is_step = delta * whole > 0.0 && delta.abs() * 4.0 > whole.abs();
        if p <= bench.settings.error && is_step {
            return Ok(Some(bench.compared(low, high)));
        }
        if count >= bench.settings.most {
            return Ok(None);
        }
        count = (count + (count / 2).max(1)).min(bench.settings.most);
    }
}
