//! The search, on boots that are only a table of times.

use super::{
    Effect, Found, Health, Judge, JudgeError, Recommended, Settings, Trials, Typical, Verdict,
    search,
};
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::trial::{Failure, Purpose, Reason, Trial, TrialId};
use record::Nanos;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const TREATMENTS: [&str; 4] = ["cmdline+=a", "cmdline+=b", "cmdline+=c", "cmdline+=d"];

/// Boots that take no time: first light is told by which treatments are on.
struct Made {
    /// First light in ms for the letters of the words, or `None`: the boot fails.
    light: fn(&str) -> Option<i64>,
    /// What was booted, for good: as the folder of a real run.
    booted: BTreeMap<String, usize>,
    /// After so many boots it breaks off.
    breaks_after: usize,
}

impl Made {
    fn new(light: fn(&str) -> Option<i64>) -> Self {
        Self {
            light,
            booted: BTreeMap::new(),
            breaks_after: usize::MAX,
        }
    }
}

/// The letters of the treatments that a command line has, in order.
fn letters(cmdline: &str) -> String {
    let words = cmdline.split(' ').filter(|w| w.len() == 1);
    words.collect()
}

impl Trials for Made {
    fn run(
        &mut self,
        experiment: &Experiment,
        ensemble: u32,
        _against: Option<&str>,
    ) -> Result<Vec<Trial>, LabError> {
        let mut trials = Vec::new();
        for variant in &experiment.variants {
            let set = letters(&variant.spec.cmdline.to_string());
            for perturbation in 0..ensemble {
                let id = TrialId {
                    variant: variant.name.clone(),
                    perturbation,
                    purpose: Purpose::Result,
                    attempt: 0,
                };
                let name = format!("{set}/{perturbation}");
                if !self.booted.contains_key(&name) {
                    if self.booted.len() == self.breaks_after {
                        return Err(LabError::Search("the power went".to_owned()));
                    }
                    *self.booted.entry(name.clone()).or_default() += 1;
                }
                let failure = (self.light)(&set).is_none().then(|| Failure {
                    reason: Reason::Panic,
                    detail: "Kernel panic".to_owned(),
                    last_lines: Vec::new(),
                });
                trials.push(Trial {
                    firstlight_trial: 1,
                    id,
                    fingerprint: name.clone(),
                    digest: String::new(),
                    // The capture of a made-up boot is its name.
                    capture: PathBuf::from(format!("set:{name}")),
                    virtual_end_ns: None,
                    wall_s: 0.0,
                    shared_by: None,
                    failure,
                    kernel: "image".to_owned(),
                    cmdline: String::new(),
                    notes: Vec::new(),
                    board: None,
                });
            }
        }
        Ok(trials)
    }
}

/// Knows the same table. A difference counts from 50 ms on.
struct Table {
    light: fn(&str) -> Option<i64>,
    /// The boots with this letter are broken.
    sick: Option<char>,
}

/// The letters in the path of a made-up capture.
fn set_of(capture: &Path) -> String {
    let text = capture.to_string_lossy();
    let name = text.rsplit_once("set:").map_or("", |(_, name)| name);
    name.split('/').next().unwrap_or_default().to_owned()
}

impl Judge for Table {
    fn first_light(&mut self, capture: &Path) -> Result<Option<Nanos>, JudgeError> {
        Ok((self.light)(&set_of(capture)).map(Nanos::from_millis))
    }

    fn health(
        &mut self,
        _before: &Path,
        after: &Path,
        _masked: &[String],
    ) -> Result<Vec<Health>, JudgeError> {
        let set = set_of(after);
        let ok = self.sick.is_none_or(|sick| !set.contains(sick));
        Ok(vec![Health {
            check: "errors",
            ok,
            detail: "a service failed".to_owned(),
        }])
    }

    fn recommended(&mut self, _capture: &Path) -> Result<Vec<Recommended>, JudgeError> {
        Ok(Vec::new())
    }

    fn limits(&mut self, capture: &Path) -> Result<Vec<(String, Nanos)>, JudgeError> {
        Ok(vec![(set_of(capture), Nanos::ZERO)])
    }

    fn typical(&self, times: &[Nanos]) -> Option<Typical> {
        times.first().map(|t| Typical {
            median: *t,
            spread: Nanos::ZERO,
        })
    }

    fn effect(&self, base: &[Nanos], variant: &[Nanos]) -> Option<Effect> {
        let delta = *variant.first()? - *base.first()?;
        let least = Nanos::from_millis(50);
        let verdict = match delta {
            d if d <= Nanos::ZERO - least => Verdict::Faster,
            d if d >= least => Verdict::Slower,
            _ => Verdict::NoDifference,
        };
        Some(Effect {
            verdict,
            delta,
            spread: Nanos::ZERO,
            least,
        })
    }

    fn open_root(&mut self, _image: &Path) -> Result<(), JudgeError> {
        Err("there is no image".into())
    }

    fn access_list(&mut self, _capture: &Path, _list: &Path) -> Result<(), JudgeError> {
        Err("there is no image".into())
    }
}

fn experiment() -> Experiment {
    let text = "firstlight_experiment = 1\n[base]\nmachine = \"pc\"\nstorage = \"none\"\n\
                kernel = \"debian\"\nroot = \"none\"\ncmdline = [\"console=ttyS0\"]\n\
                first_light = \"init\"\n";
    Experiment::parse("made.toml", text).unwrap()
}

fn find(trials: &mut Made, sick: Option<char>) -> Result<Found, LabError> {
    let mut judge = Table {
        light: trials.light,
        sick,
    };
    let settings = Settings {
        out: PathBuf::from("nowhere"),
        ensemble: 2,
        tries: 24,
        enough: 95,
        leave_out: None,
        policy: super::Policy::Product,
        without: Vec::new(),
        forecast: std::collections::BTreeMap::new(),
    };
    let with = TREATMENTS.map(str::to_owned);
    let both: (&mut dyn Trials, &mut dyn Judge) = (trials, &mut judge);
    search(&experiment(), &with, &settings, both, &mut |_| {})
}

fn kept(found: &Found) -> Vec<String> {
    found.kept.iter().map(|k| k.treatment.to_string()).collect()
}

fn why<'a>(found: &'a Found, treatment: &str) -> &'a str {
    let dropped = found.dropped.iter().find(|d| d.treatment == treatment);
    dropped.map_or("", |d| &d.why)
}

/// `a` saves 1 s, `c` 500 ms, `b` 10 ms, `d` nothing.
#[expect(
    clippy::unnecessary_wraps,
    reason = "a table of boots, some of which fail"
)]
fn savings(set: &str) -> Option<i64> {
    let saved = [('a', 1_000), ('b', 10), ('c', 500)];
    let saved = saved.iter().filter(|(letter, _)| set.contains(*letter));
    Some(4_000 - saved.map(|(_, ms)| ms).sum::<i64>())
}

#[test]
fn it_finds_the_smallest_set() {
    let mut trials = Made::new(savings);
    let found = find(&mut trials, None).unwrap();
    assert_eq!(kept(&found), ["cmdline+=a", "cmdline+=c"]);
    assert_eq!(found.baseline.median, Nanos::from_millis(4_000));
    assert_eq!(found.best.median, Nanos::from_millis(2_500));
    assert_eq!(found.whole, Nanos::from_millis(2_490));
    assert_eq!(found.kept[0].share.unwrap().0, Nanos::from_millis(1_000));
    assert!(why(&found, "cmdline+=d").starts_with("no effect"));
    // The baseline, all, each of four left out and the smallest, two boots each.
    assert_eq!((found.boots, trials.booted.len()), (14, 14));
    assert_eq!(found.limits[0].0, "ac");
}

/// As [`savings`], but `d` does not boot.
fn panics(set: &str) -> Option<i64> {
    savings(set).filter(|_| !set.contains('d'))
}

#[test]
fn it_goes_on_after_a_trial_that_fails() {
    let found = find(&mut Made::new(panics), None).unwrap();
    assert_eq!(kept(&found), ["cmdline+=a", "cmdline+=c"]);
    assert_eq!(
        why(&found, "cmdline+=d"),
        "the boot fails with it: Kernel panic; Kernel panic"
    );
}

#[test]
fn what_makes_a_boot_sick_is_not_kept() {
    let found = find(&mut Made::new(savings), Some('c')).unwrap();
    assert_eq!(kept(&found), ["cmdline+=a"]);
    assert_eq!(
        why(&found, "cmdline+=c"),
        "the boot fails with it: a service failed"
    );
    assert!(found.best.health.iter().all(|h| h.ok));
}

#[test]
fn an_interrupted_search_resumes_where_it_broke_off() {
    let whole = find(&mut Made::new(savings), None).unwrap();
    let mut trials = Made::new(savings);
    trials.breaks_after = 7;
    let broken = find(&mut trials, None).unwrap_err();
    assert_eq!(broken.to_string(), "the power went");
    assert_eq!(trials.booted.len(), 7);
    trials.breaks_after = usize::MAX;
    assert_eq!(find(&mut trials, None).unwrap(), whole);
    assert!(trials.booted.values().all(|n| *n == 1), "booted once each");
}

/// Nothing boots at all.
fn never(_: &str) -> Option<i64> {
    None
}

#[test]
fn without_a_baseline_there_is_nothing_to_compare_with() {
    let said = find(&mut Made::new(never), None).unwrap_err().to_string();
    assert!(said.contains("did not reach first light"), "{said}");
}

/// 40 ms are twice the spread, and of three boots each not enough.
#[test]
fn what_is_dropped_says_from_where_on_a_difference_counts() {
    let effect = Effect {
        verdict: Verdict::NoDifference,
        delta: Nanos::from_millis(-40),
        spread: Nanos::from_millis(20),
        least: Nanos::from_millis(42),
    };
    let table = Table {
        light: |_| None,
        sick: None,
    };
    let said = table.no_effect(&effect, 3);
    assert!(
        said.contains("move it by 20.0 ms")
            && said.contains("3 boots each, only a change of more than 42.0 ms"),
        "{said}"
    );
}
