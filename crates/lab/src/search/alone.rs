//! The search where all treatments together do no good: each alone first, then those
//! that help together.

use super::bench::Bench;
use super::judge::Verdict;
use super::outcome::{Dropped, Measured};
use super::sets::{name, set};
use crate::error::LabError;
use crate::experiment::BASELINE;
use record::Nanos;
use treat::Treatment;

/// A treatment takes away much of a boot if that is more than this part of it.
const MUCH: i64 = 4;

/// What each treatment is tried on top of.
struct Ground {
    /// The set.
    set: (String, Vec<Treatment>),
    /// The times of its boots.
    times: Vec<Nanos>,
    /// The treatment that it has, if not none.
    first: Option<usize>,
}

impl Ground {
    /// The set of it and one more.
    fn with(&self, treatment: usize) -> Vec<usize> {
        let mut set: Vec<usize> = self.first.into_iter().chain([treatment]).collect();
        set.sort_unstable();
        set.dedup();
        set
    }
}

/// The treatments that help and break nothing, found one by one.
pub(super) fn one_by_one(
    bench: &mut Bench<'_>,
    all: &[Treatment],
    baseline: &Measured,
    most: Option<&Treatment>,
    dropped: &mut Vec<Dropped>,
) -> Result<Vec<usize>, LabError> {
    // The one that promises most first. If it takes away much of the boot, the
    // others are tried on top of it: their boots are shorter for the host, too.
    let most = all.iter().position(|t| Some(t) == most).unwrap_or(0);
    let set = |numbers: &[usize]| set(all, numbers);
    let plain = (BASELINE.to_owned(), Vec::new());
    bench.boot(Some(&plain), &[set(&[most])])?;
    let first = bench.measured(&name(&[most]), BASELINE)?.clone();
    let much = baseline.median - first.median > Nanos(baseline.median.0 / MUCH);
    let faster = bench
        .judge
        .effect(first.base(&baseline.times), &first.times);
    let faster = faster.is_some_and(|e| e.verdict == Verdict::Faster);
    let ground = match first.is_healthy() && faster && much {
        true => Ground {
            set: set(&[most]),
            times: first.times.clone(),
            first: Some(most),
        },
        false => Ground {
            set: plain,
            times: baseline.times.clone(),
            first: None,
        },
    };

    // Each alone, and all together: together they may be worth more than alone.
    let everything: Vec<usize> = (0..all.len()).collect();
    let mut sets: Vec<_> = everything.iter().map(|i| set(&ground.with(*i))).collect();
    sets.push(set(&everything));
    // The ground itself is among them, and is what they are compared with.
    sets.retain(|(name, _)| *name != ground.set.0);
    bench.boot(Some(&ground.set), &sets)?;
    let mut helps: Vec<usize> = ground.first.into_iter().collect();
    for (i, treatment) in all.iter().enumerate() {
        if ground.first == Some(i) {
            continue;
        }
        let alone = bench.measured(&name(&ground.with(i)), &ground.set.0)?;
        let treatment = treatment.to_string();
        if !alone.is_healthy() {
            let why = format!("the boot fails with it: {}", alone.trouble());
            dropped.push(Dropped { treatment, why });
            continue;
        }
        let base = alone.base(&ground.times);
        let effect = bench.judge.effect(base, &alone.times);
        match effect.filter(|e| e.verdict == Verdict::Faster) {
            Some(_) => helps.push(i),
            None => dropped.push(Dropped {
                treatment,
                why: effect.map_or_else(
                    || "it was not measured".to_owned(),
                    |e| match e.verdict {
                        Verdict::Slower => format!("first light comes {} later with it", e.delta),
                        _ => bench.judge.no_effect(&e, base.len().min(alone.times.len())),
                    },
                ),
            }),
        }
    }
    helps.sort_unstable();
    let mut best = together(bench, all, helps, &ground, dropped)?;

    // What all together bring beyond that is an interaction.
    let healthy = |i: &usize| {
        let alone = bench.last(&name(&ground.with(*i)));
        alone.is_ok_and(Measured::is_healthy)
    };
    let sound: Vec<usize> = everything.iter().copied().filter(healthy).collect();
    if sound.len() == all.len() && sound != best {
        let whole = bench.last(&name(&sound))?;
        let now = match best.is_empty() {
            true => baseline,
            false => bench.last(&name(&best))?,
        };
        let more = bench.judge.effect(&now.times, &whole.times);
        if whole.is_healthy() && more.is_some_and(|e| e.verdict == Verdict::Faster) {
            dropped.retain(|d| !all.iter().any(|t| t.to_string() == d.treatment));
            best = sound;
        }
    }
    Ok(best)
}

/// Boots those that help together, and leaves out what breaks that.
fn together(
    bench: &mut Bench<'_>,
    all: &[Treatment],
    mut helps: Vec<usize>,
    ground: &Ground,
    dropped: &mut Vec<Dropped>,
) -> Result<Vec<usize>, LabError> {
    while helps.len() > 1 {
        let of = helps.iter().filter_map(|i| all.get(*i).cloned()).collect();
        bench.boot(Some(&ground.set), &[(name(&helps), of)])?;
        let measured = bench.last(&name(&helps))?;
        if measured.is_healthy() {
            break;
        }
        let trouble = measured.trouble();
        // The one that brings least alone goes first.
        let alone = |i: &usize| {
            let measured = bench.last(&name(&ground.with(*i)));
            let before = bench
                .judge
                .typical(&ground.times)
                .unwrap_or_default()
                .median;
            measured.map_or(Nanos::ZERO, |m| before - m.median)
        };
        let others = helps.iter().copied().filter(|i| ground.first != Some(*i));
        let Some(least) = others.min_by_key(alone) else {
            break;
        };
        helps.retain(|i| *i != least);
        dropped.push(Dropped {
            treatment: all.get(least).map(ToString::to_string).unwrap_or_default(),
            why: format!("the boot fails with it and the others: {trouble}"),
        });
    }
    Ok(helps)
}
