//! The search: which sets are booted, and what is kept.

use super::alone::one_by_one;
use super::bench::{Bench, Policy, Settings, of_capture};
use super::judge::{Judge, Verdict};
use super::outcome::{Dropped, Found, Kept, Measured};
use super::prices::Prices;
use super::reading;
use super::sets::{candidates, name, possible, set};
use super::smallest::{is_enough, smallest};
use super::trials::Trials;
use crate::error::LabError;
use crate::experiment::{BASELINE, Experiment};
use record::Nanos;
use std::path::Path;
use treat::Treatment;

/// Adds what the findings of a boot recommend and the lab can do; which of it
/// promises most.
fn recommended(
    bench: &mut Bench<'_>,
    capture: &Path,
    all: &mut Vec<Treatment>,
    prices: &mut Prices,
    dropped: &mut Vec<Dropped>,
) -> Result<Option<Treatment>, LabError> {
    let findings = bench.judge.recommended(capture);
    let cmdline = bench.recorded.base.recording.words.join(" ");
    let mut most = None;
    for finding in findings.map_err(of_capture(capture))? {
        let own = bench.recorded.loader_treatment(&finding.finding);
        let Some(text) = own.map(|t| t.to_string()).or(finding.treatment) else {
            continue;
        };
        match possible(&bench.experiment, &text) {
            // What the lab records by is no cause of the boot's.
            Some(Treatment::RemoveWord(word)) if cmdline.contains(&word) => {}
            Some(treatment) => {
                if let Some(why) = refused(bench.settings, &treatment, all) {
                    dropped.push(Dropped {
                        treatment: text,
                        why,
                    });
                    continue;
                }
                prices.put(&treatment, finding.price);
                if !finding.is_vague && !all.contains(&treatment) {
                    all.push(treatment.clone());
                }
                most.get_or_insert(treatment);
            }
            None => dropped.push(Dropped {
                treatment: text,
                why: "the lab cannot apply it; use `firstlight treat`".to_owned(),
            }),
        }
    }
    Ok(most)
}

/// Why a treatment that a finding recommends is not tried; `None`: it is. What is in `all`
/// already was named.
fn refused(settings: &Settings, treatment: &Treatment, all: &[Treatment]) -> Option<String> {
    if settings.without.contains(&treatment.to_string()) {
        return Some("not tried: left out by --without".to_owned());
    }
    let lost = treatment
        .weakens()
        .filter(|_| settings.policy == Policy::Product && !all.contains(treatment))?;
    Some(format!(
        "not tried: it weakens a product ({lost}); `--with {treatment}` tries it, and so does \
         `--policy lab`"
    ))
}

/// What a treatment saves elsewhere, if that is known.
fn saves(settings: &Settings, treatment: &Treatment) -> Option<Nanos> {
    settings.forecast.get(&treatment.to_string()).copied()
}

/// Orders treatments by what they save elsewhere: what is known to save, the most first, then
/// what is not known, in its own order, then what is known to save nothing.
fn by_forecast(all: &mut [Treatment], settings: &Settings) {
    all.sort_by_key(|t| match saves(settings, t) {
        Some(ns) if ns > Nanos::ZERO => (0, Nanos::ZERO - ns),
        None => (1, Nanos::ZERO),
        Some(ns) => (2, Nanos::ZERO - ns),
    });
}

/// Tries treatments together and alone, and keeps the smallest set that saves enough. `with`
/// are treatments to be tried besides those of the experiment and of its findings; `say`
/// receives what goes on, a sentence each.
///
/// # Errors
/// The baseline does not reach first light, there is nothing to try, or boots cannot be run or
/// judged.
pub fn search(
    experiment: &Experiment,
    with: &[String],
    settings: &Settings,
    (trials, judge): (&mut dyn Trials, &mut dyn Judge),
    say: &mut dyn FnMut(String),
) -> Result<Found, LabError> {
    let mut bench = Bench::new(experiment, settings, trials, judge);
    let enough = i64::from(settings.enough);
    let tries = settings.tries.max(1);
    let mut all = candidates(&bench.experiment, with)?;
    let mut dropped = Vec::new();
    let mut prices = Prices::default();
    for text in &settings.without {
        // One that is misspelled would be tried after all.
        candidates(&bench.experiment, std::slice::from_ref(text))?;
        if with.contains(text) {
            return Err(LabError::Search(format!(
                "`{text}` stands both in --with and in --without"
            )));
        }
    }
    all.retain(|t| {
        let stays = !settings.without.contains(&t.to_string());
        if !stays {
            dropped.push(Dropped {
                treatment: t.to_string(),
                why: "not tried: left out by --without".to_owned(),
            });
        }
        stays
    });
    let plain = (BASELINE.to_owned(), Vec::new());
    bench.boot(None, std::slice::from_ref(&plain))?;
    let baseline = bench.last(BASELINE)?.clone();
    if baseline.times.is_empty() {
        return Err(LabError::Search(format!(
            "the baseline did not reach first light: {}",
            baseline.trouble()
        )));
    }
    let seen = bench.look(BASELINE, &[])?;
    let named = all.len();
    let most = recommended(&mut bench, &seen, &mut all, &mut prices, &mut dropped)?;
    let tried = all.get(..tries).unwrap_or(&all);
    match reading::treatments(&mut bench, tried, &mut dropped, say) {
        // They promise more than most findings.
        Ok(found) => {
            all.splice(named..named, found);
        }
        Err(why) => dropped.push(Dropped {
            treatment: "order=LIST, prefetch=LIST".to_owned(),
            why: format!("not tried: {}", why.with_causes()),
        }),
    }
    by_forecast(&mut all, settings);
    let most = all
        .first()
        .filter(|t| saves(settings, t).is_some_and(|ns| ns > Nanos::ZERO))
        .cloned()
        .or(most);
    for surplus in all.split_off(all.len().min(tries)) {
        dropped.push(Dropped {
            treatment: surplus.to_string(),
            why: format!(
                "not tried, because {tries} others have a larger expected saving \
                (--tries)"
            ),
        });
    }
    all.retain(|t| match bench.refuses(t) {
        None => true,
        Some(why) => {
            dropped.push(Dropped {
                treatment: t.to_string(),
                why: format!("not tried: {why}"),
            });
            false
        }
    });
    if all.is_empty() {
        return Err(LabError::Search(
            "no finding of this boot has a treatment that the lab can apply; name a treatment \
             with --with"
                .to_owned(),
        ));
    }
    let set = |numbers: &[usize]| set(&all, numbers);

    // All together first: if that boot is sound, each is left out of it in turn. These
    // boots are half as many as with each alone besides, and short ones.
    let everything: Vec<usize> = (0..all.len()).collect();
    bench.boot(Some(&plain), &[set(&everything)])?;
    let together = bench.measured(&name(&everything), BASELINE)?;
    let sooner = bench
        .judge
        .effect(together.base(&baseline.times), &together.times);
    let sooner = sooner.is_some_and(|e| e.verdict == Verdict::Faster);
    let best = match together.is_healthy() && sooner {
        true => everything,
        false => one_by_one(&mut bench, &all, &baseline, most.as_ref(), &mut dropped)?,
    };
    if best.is_empty() {
        return Ok(Found {
            whole: baseline.median,
            best: baseline.clone(),
            limits: limits(&mut bench, &seen)?,
            baseline,
            kept: Vec::new(),
            dropped,
            boots: bench.boots,
        });
    }

    // Each left out of the best set: its share is what is missing then. Those that
    // promise least first, if not all are.
    bench.boot(Some(&plain), &[set(&best)])?;
    let whole = bench.measured(&name(&best), BASELINE)?.clone();
    let without = |i: usize| -> Vec<usize> { best.iter().copied().filter(|b| *b != i).collect() };
    let (unmeasured, asked) =
        best.split_at(best.len() - best.len().min(settings.leave_out.unwrap_or(usize::MAX)));
    if best.len() > 1 {
        let sets: Vec<_> = asked.iter().map(|i| set(&without(*i))).collect();
        bench.boot(Some(&set(&best)), &sets)?;
    }
    let mut shares = Vec::new();
    for i in asked {
        let rest = without(*i);
        let missing = match rest.is_empty() {
            true => whole.base(&baseline.times),
            false => &bench.measured(&name(&rest), &name(&best))?.times,
        };
        let with = match rest.is_empty() {
            true => &whole.times,
            false => bench
                .measured(&name(&rest), &name(&best))?
                .base(&whole.times),
        };
        shares.push(match bench.judge.effect(missing, with) {
            // Without it the boot breaks: it cannot be left out.
            None => (saved(&bench, &baseline, &whole), whole.spread),
            Some(e) if e.verdict == Verdict::Faster => (Nanos::ZERO - e.delta, e.spread),
            Some(e) => (Nanos::ZERO, e.spread),
        });
    }
    let saving = saved(&bench, &baseline, &whole);
    let only: Vec<Nanos> = shares.iter().map(|s| s.0).collect();
    let (order, mut count) = smallest(&only, saving, enough);
    let chosen = loop {
        count = count.clamp(usize::from(unmeasured.is_empty()), asked.len());
        let largest = order.iter().take(count).filter_map(|o| asked.get(*o));
        let mut chosen: Vec<usize> = unmeasured.iter().chain(largest).copied().collect();
        chosen.sort_unstable();
        if count == asked.len() {
            break chosen;
        }
        bench.boot(Some(&plain), &[set(&chosen)])?;
        let measured = bench.measured(&name(&chosen), BASELINE)?;
        let enough =
            measured.is_healthy() && is_enough(saving, saved(&bench, &baseline, measured), enough);
        if enough {
            break chosen;
        }
        count += 1;
    };
    let mut kept: Vec<Kept> = Vec::new();
    for i in unmeasured {
        kept.extend(all.get(*i).cloned().map(|treatment| Kept {
            price: prices.of(&treatment),
            treatment,
            share: None,
        }));
    }
    for o in order {
        let (Some(i), Some((share, spread))) = (asked.get(o), shares.get(o)) else {
            continue;
        };
        let Some(treatment) = all.get(*i).cloned() else {
            continue;
        };
        match chosen.contains(i) {
            true => kept.push(Kept {
                price: prices.of(&treatment),
                treatment,
                share: Some((*share, *spread)),
            }),
            false => dropped.push(Dropped {
                treatment: treatment.to_string(),
                why: match *share {
                    Nanos::ZERO => "no effect: first light is no later without it".to_owned(),
                    share => format!(
                        "it saves {share}; the set without it keeps at least {enough} % of the \
                         saving"
                    ),
                },
            }),
        }
    }
    let best = bench.measured(&name(&chosen), BASELINE)?.clone();
    let (of_best, treatments) = set(&chosen);
    let seen = bench.look(&of_best, &treatments)?;
    // The boots that were made beside the best ones tell what it saves.
    let beside = bench.judge.typical(&best.beside);
    let baseline = beside.map_or(baseline.clone(), |typical| Measured {
        times: best.beside.clone(),
        median: typical.median,
        spread: typical.spread,
        ..baseline
    });
    Ok(Found {
        limits: limits(&mut bench, &seen)?,
        whole: baseline.median - saving,
        baseline,
        best,
        kept,
        dropped,
        boots: bench.boots,
    })
}

/// How much sooner first light comes than in the boots without treatments.
fn saved(bench: &Bench<'_>, baseline: &Measured, with: &Measured) -> Nanos {
    let beside = bench.judge.typical(with.base(&baseline.times));
    beside.map_or(baseline.median, |b| b.median) - with.median
}

/// What first light waits for in a boot, the longest first.
fn limits(bench: &mut Bench<'_>, capture: &Path) -> Result<Vec<(String, Nanos)>, LabError> {
    let limits = bench.judge.limits(capture);
    limits.map_err(of_capture(capture))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    #[test]
    fn what_saves_elsewhere_is_tried_first() {
        let forecast = [("cmdline+=a", 5), ("cmdline+=b", 90), ("cmdline+=c", 0)];
        let settings = Settings {
            out: std::path::PathBuf::new(),
            ensemble: 1,
            tries: 1,
            enough: 95,
            leave_out: None,
            policy: Policy::Product,
            without: Vec::new(),
            forecast: forecast.map(|(t, ns)| (t.to_owned(), Nanos(ns))).into(),
        };
        let of = |t: &str| Treatment::parse(&format!("cmdline+={t}")).unwrap();
        let mut all = ["c", "x", "a", "y", "b"].map(of);
        by_forecast(&mut all, &settings);
        assert_eq!(all, ["b", "a", "x", "y", "c"].map(of));
    }

    #[test]
    fn what_weakens_a_product_is_tried_only_on_request() {
        let settings = |policy, without: &[&str]| Settings {
            out: std::path::PathBuf::new(),
            ensemble: 1,
            tries: 1,
            enough: 95,
            leave_out: None,
            policy,
            without: without.iter().map(|t| (*t).to_owned()).collect(),
            forecast: std::collections::BTreeMap::new(),
        };
        let [rodata, quiet] = ["cmdline+=rodata=off", "cmdline+=quiet"];
        let [weak, sound] = [rodata, quiet].map(|t| Treatment::parse(t).unwrap());
        let product = settings(Policy::Product, &[]);
        let why = refused(&product, &weak, &[]).unwrap();
        assert!(why.contains("--with cmdline+=rodata=off"), "{why}");
        assert_eq!(refused(&product, &sound, &[]), None);
        assert_eq!(refused(&product, &weak, std::slice::from_ref(&weak)), None);
        assert_eq!(refused(&settings(Policy::Lab, &[]), &weak, &[]), None);
        let without = settings(Policy::Lab, &[quiet]);
        assert!(
            refused(&without, &sound, &[])
                .unwrap()
                .contains("--without")
        );
    }
}
