//! Which of the calls that run one after another would be worth running aside: probes and
//! initcalls that the kernel could do asynchronously (`driver_async_probe=`).
//!
//! The kernel makes its calls one after another, and before it starts the first program it
//! waits for all that it does aside (`async_synchronize_full()` in `kernel_init()`). A call
//! that sleeps needs no processor meanwhile; one that computes does.

use record::Nanos;

/// A call of the kernel, in the order of the calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// How long it takes.
    pub time: Nanos,
    /// How much of that it computes; the rest it sleeps.
    pub work: Nanos,
    /// Whether it can run aside.
    pub may_go: bool,
    /// The earlier calls that it needs, by their place.
    pub needs: Vec<usize>,
}

/// What to run aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Aside {
    /// The calls that go aside, by their place, the one that brings most first.
    pub calls: Vec<usize>,
    /// How much sooner the last call is done.
    pub saving: Nanos,
}

/// One more call that goes aside must bring this part of all calls, in thousandths.
const WORTH: i64 = 2;

/// When all calls are done, if those of `aside` run beside the others on `processors`.
#[must_use]
pub(crate) fn done(calls: &[Call], aside: &[usize], processors: usize) -> Nanos {
    let mut ends = vec![Nanos::ZERO; calls.len()];
    // The first processor makes the calls in order; each other one is free from some time on.
    let mut line = Nanos::ZERO;
    let mut free = vec![Nanos::ZERO; processors.max(1) - 1];
    for (at, call) in calls.iter().enumerate() {
        let needed = call.needs.iter().filter_map(|n| ends.get(*n)).max();
        let ready = line.max(needed.copied().unwrap_or_default());
        let end = match aside.contains(&at) {
            false => {
                line = ready + call.time;
                line
            }
            true => match free.iter_mut().min() {
                Some(next) => {
                    let begin = ready.max(*next);
                    *next = begin + call.work;
                    begin + call.time
                }
                // On one processor what it computes holds up the line; it sleeps aside.
                None => {
                    line = ready + call.work;
                    ready + call.time
                }
            },
        };
        if let Some(slot) = ends.get_mut(at) {
            *slot = end;
        }
    }
    ends.into_iter().max().unwrap_or_default().max(line)
}

/// The calls to run aside: as few as bring nearly all that can be had.
#[must_use]
pub(crate) fn aside(calls: &[Call], processors: usize) -> Aside {
    let all = done(calls, &[], processors);
    let worth = Nanos(all.0 / 1_000 * WORTH).max(Nanos(1));
    let places = calls.iter().enumerate().filter(|(_, c)| c.may_go);
    let open: Vec<usize> = places.map(|(at, _)| at).collect();
    let end = |set: &Vec<usize>| done(calls, set, processors);
    let starts = [Vec::new(), open.clone()];
    let better = starts.map(|start| better(start, &open, worth, &end));
    let mut chosen = better.into_iter().min_by_key(&end).unwrap_or_default();
    // Without which of them would it take longest? What brings nothing stays.
    let mut order: Vec<(Nanos, usize)> = Vec::new();
    let mut least = end(&chosen);
    for at in chosen.clone() {
        let without = changed(&chosen, &[at]);
        let later = end(&without);
        match later - least < worth {
            true => {
                least = least.max(later);
                chosen = without;
            }
            false => order.push((later, at)),
        }
    }
    order.sort_by_key(|(later, at)| (std::cmp::Reverse(*later), *at));
    Aside {
        saving: all - end(&chosen),
        calls: order.into_iter().map(|(_, at)| at).collect(),
    }
}

/// A choice changed by the one call, or where that brings nothing by the two, that bring most,
/// until nothing is better.
fn better(
    start: Vec<usize>,
    open: &[usize],
    worth: Nanos,
    end: &dyn Fn(&Vec<usize>) -> Nanos,
) -> Vec<usize> {
    let mut chosen = start;
    loop {
        let least = end(&chosen);
        let best = |changes: &mut dyn Iterator<Item = Vec<usize>>| {
            let sets = changes.map(|change| changed(&chosen, &change));
            let ends = sets.map(|set| (end(&set), set));
            ends.min().filter(|(end, _)| least - *end >= worth)
        };
        let mut one = open.iter().map(|a| vec![*a]);
        let mut two = open.iter().enumerate().flat_map(|(at, a)| {
            let later = open.iter().skip(at + 1);
            later.map(move |b| vec![*a, *b])
        });
        match best(&mut one).or_else(|| best(&mut two)) {
            Some((_, set)) => chosen = set,
            None => return chosen,
        }
    }
}

/// `chosen` with these calls if it was without them, and without those that it had.
fn changed(chosen: &[usize], change: &[usize]) -> Vec<usize> {
    let stay = chosen.iter().filter(|at| !change.contains(at));
    let come = change.iter().filter(|at| !chosen.contains(at));
    stay.chain(come).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::{Call, aside, done};
    use record::Nanos;

    /// A random number from a state, by the constants of PCG.
    fn next(state: &mut u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    /// Twelve drivers that sleep and compute, some of which need earlier ones.
    fn drivers(seed: u64) -> Vec<Call> {
        let mut state = seed;
        let call = |at: usize, state: &mut u64| {
            let ms = match next(state) % 4 {
                0 => 200 + next(state) % 600,
                _ => 5 + next(state) % 60,
            };
            let percent = next(state) % 101;
            let needs = match next(state) % 3 {
                0 if at > 0 => vec![next(state) as usize % at],
                _ => Vec::new(),
            };
            Call {
                time: Nanos::from_millis(ms as i64),
                work: Nanos((ms * percent * 10_000) as i64),
                may_go: !next(state).is_multiple_of(8),
                needs,
            }
        };
        (0..12).map(|at| call(at, &mut state)).collect()
    }

    #[test]
    fn the_choice_is_as_good_as_the_best_of_all() {
        for seed in 1..4 {
            let calls = drivers(seed);
            for processors in [1, 2, 4] {
                let all = done(&calls, &[], processors);
                let sets = (0_u32..1 << calls.len()).map(|bits| {
                    let chosen = (0..calls.len()).filter(|at| bits >> at & 1 == 1);
                    let chosen: Vec<usize> = chosen.filter(|at| calls[*at].may_go).collect();
                    done(&calls, &chosen, processors)
                });
                let best = sets.min().unwrap_or_default();
                let found = aside(&calls, processors);
                assert_eq!(done(&calls, &found.calls, processors), all - found.saving);
                // Within two percent of the whole.
                let off = (all - found.saving) - best;
                assert!(
                    off.0 <= all.0 / 50,
                    "seed {seed}, {processors} CPUs: {off} of {all}, {:?}",
                    found.calls
                );
            }
        }
    }

    #[test]
    fn what_others_need_and_what_computes_on_one_processor_brings_nothing() {
        let call = |ms, work, needs: &[usize]| Call {
            time: Nanos::from_millis(ms),
            work: Nanos::from_millis(work),
            may_go: true,
            needs: needs.to_vec(),
        };
        let chain = [call(100, 0, &[]), call(100, 0, &[0])];
        assert_eq!(aside(&chain, 4).saving, Nanos::ZERO);
        let computes = [call(100, 100, &[]), call(100, 100, &[])];
        assert_eq!(aside(&computes, 1).saving, Nanos::ZERO);
        assert_eq!(aside(&computes, 2).saving, Nanos::from_millis(100));
        // The kernel waits for what runs aside before it starts the first program.
        let last = [call(10, 0, &[]), call(300, 0, &[])];
        assert_eq!(aside(&last, 4).saving, Nanos::from_millis(10));
    }
}
