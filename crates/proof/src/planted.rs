//! Planted causes: what advice expects of its treatments, and what they bring.

use crate::error::{Error, Result};
use crate::trials::{first_light, record};
use agent::config::FirstLight;
use analysis::{Finding, advice, phases};
use input::Say;
use lab::Event;
use lab::planted::{Planted, Wanted};
use record::{Nanos, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use views::json::Document as _;
use views::{ExpectedSaving, FindingsProof, ProvenFinding, UnprovenCause};

/// On a system without a cause, a finding that promises more than this part of
/// the boot is false.
const CLEAN_PARTS: i64 = 100;

/// Who hears how far it is.
pub struct Heard<'a> {
    /// The name of the planted cause that begins.
    pub begins: &'a mut dyn FnMut(&str),
    /// A sentence about a cause.
    pub said: &'a mut dyn FnMut(String),
    /// What happens in a run of boots.
    pub event: &'a mut dyn FnMut(&Event),
    /// A note about an input.
    pub note: &'a Say<'a>,
}

/// Boots the planted causes of `files` (files, or folders of them) into folders below `out`,
/// `jobs` at a time, and holds what advice expects of them against what their treatments
/// brought.
///
/// # Errors
/// A file is not of planted causes, or the lab cannot boot.
pub fn planted(
    files: &[PathBuf],
    out: &Path,
    jobs: NonZeroUsize,
    heard: &mut Heard<'_>,
) -> Result<FindingsProof> {
    let mut all = Vec::new();
    for path in files {
        match path.is_dir() {
            true => all.extend(experiments(path)?),
            false => all.push(path.clone()),
        }
    }
    let mut proof = FindingsProof {
        schema: FindingsProof::SCHEMA,
        ..FindingsProof::default()
    };
    for file in &all {
        let planted = Planted::of_file(file)?;
        let folder = out.join(&planted.id);
        std::fs::create_dir_all(&folder).map_err(|source| Error::Path {
            path: folder.clone(),
            what: "cannot be made",
            source,
        })?;
        (heard.begins)(&planted.id);
        one(&planted, &folder, jobs, heard, &mut proof)?;
    }
    finish(&mut proof);
    Ok(proof)
}

/// What the rows say together.
fn finish(proof: &mut FindingsProof) {
    for row in &mut proof.findings {
        if row.proven_ns > 0 {
            let error = (row.expected_ns - row.proven_ns) as f64 / row.proven_ns as f64;
            row.error_percent = Some((error * 1_000.0).round() / 10.0);
        }
    }
    proof.wrong_sign = proof.findings.iter().filter(|f| f.proven_ns <= 0).count();
    let kinds = proof.findings.iter().map(|f| f.finding.as_str());
    proof.kinds = kinds.collect::<BTreeSet<_>>().len();
    let errors = proof.findings.iter().filter_map(|f| f.error_percent);
    let mut errors: Vec<f64> = errors.map(f64::abs).collect();
    errors.sort_by(f64::total_cmp);
    let (lower, upper) = (errors.len().saturating_sub(1) / 2, errors.len() / 2);
    let middle = errors.get(lower).zip(errors.get(upper));
    proof.median_error_percent = middle.map(|(a, b)| f64::midpoint(*a, *b));
}

/// The experiments of a folder, by name.
fn experiments(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot = |source| Error::Path {
        path: folder.to_owned(),
        what: "cannot be read",
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// What was booted: the time of each case, and the one that is looked at.
struct Booted {
    times: BTreeMap<String, Nanos>,
    seen: PathBuf,
    failures: Vec<String>,
}

fn one(
    planted: &Planted,
    folder: &Path,
    jobs: NonZeroUsize,
    heard: &mut Heard<'_>,
    proof: &mut FindingsProof,
) -> Result<()> {
    let booted = boot(planted, folder, jobs, heard)?;
    if !booted.failures.is_empty() {
        let told = booted.failures.iter();
        proof
            .failures
            .extend(told.map(|why| unproven(planted, why.clone())));
        return Ok(());
    }
    let say = &mut |text| (heard.said)(format!("{}: {text}", planted.id));
    let beside = planted.beside(&folder.join("beside"), folder, say)?;
    let config = planted.config(say)?;
    let record = record(&booted.seen, heard.note)?;
    let of_boot = phases(&record);
    let facts = inspect::system::facts(&beside, config.as_deref())?;
    let found = advice(&record, &of_boot, &facts).findings;
    proof.systems += 1;
    if planted.findings.is_empty() {
        proof.clean += 1;
        let total = total(&record);
        let told = found
            .iter()
            .filter(|f| f.expected.0 > total.0 / CLEAN_PARTS);
        proof.false_findings.extend(told.map(|f| ExpectedSaving {
            experiment: planted.id.clone(),
            finding: f.id.to_owned(),
            title: f.title.clone(),
            expected_ns: f.expected.0,
            boot_ns: total.0,
        }));
        return Ok(());
    }
    for wanted in &planted.findings {
        match proven(planted, wanted, &found, &booted.times) {
            Ok(row) => proof.findings.push(row),
            Err(why) => proof.failures.push(unproven(planted, why)),
        }
    }
    Ok(())
}

fn unproven(planted: &Planted, why: String) -> UnprovenCause {
    UnprovenCause {
        experiment: planted.id.clone(),
        why,
    }
}

/// The length of a boot, up to first light.
fn total(record: &Record) -> Nanos {
    let of_boot = phases(record);
    let start = of_boot.phases.first().map_or(Nanos::ZERO, |p| p.start);
    of_boot.end() - start
}

fn proven(
    planted: &Planted,
    wanted: &Wanted,
    found: &[Finding],
    times: &BTreeMap<String, Nanos>,
) -> std::result::Result<ProvenFinding, String> {
    let is_it = |f: &Finding| f.id == wanted.id && f.title.contains(&wanted.of);
    let Some((rank, finding)) = found.iter().enumerate().find(|(_, f)| is_it(f)) else {
        let others: Vec<&str> = found.iter().map(|f| f.id).collect();
        return Err(format!(
            "`{}` was not found; found were: {}",
            wanted.id,
            others.join(", ")
        ));
    };
    let treatment = match (&wanted.by_hand, &finding.treatment) {
        (Some(by_hand), _) => by_hand.clone(),
        (None, Some(text)) => {
            let in_lab = lab::search::in_lab(text).map_or_else(|| text.clone(), |t| t.to_string());
            if !planted.is_applied(&in_lab, &wanted.treated) {
                return Err(format!(
                    "`{}` recommends `{text}`, and that is not what `{}` has more than `{}`",
                    wanted.id, wanted.treated, planted.planted
                ));
            }
            in_lab
        }
        (None, None) => return Err(format!("`{}` has no treatment", wanted.id)),
    };
    let time = |case: &str| {
        let time = times.get(case).copied();
        time.ok_or_else(|| format!("the case `{case}` has no time"))
    };
    let (before, after) = (time(&planted.planted)?, time(&wanted.treated)?);
    let (low, high) = finding.saving.unwrap_or_default();
    Ok(ProvenFinding {
        experiment: planted.id.clone(),
        finding: wanted.id.clone(),
        rank: rank + 1,
        treatment,
        by_hand: wanted.by_hand.is_some(),
        boot_ns: before.0,
        expected_ns: finding.expected.0,
        range_ns: [low.0, high.0],
        proven_ns: (before - after).0,
        error_percent: None,
    })
}

/// When a boot reached the first light of its experiment. An agent that waits for a line wakes
/// at the kernel's next tick (`wake_up_klogd` in kernel/printk/printk.c defers it), up to 4 ms
/// after the line: its own stamp is exact.
fn light(record: &Record, wanted: &FirstLight) -> Option<Nanos> {
    let seen = first_light(record)?;
    let FirstLight::Line(text) = wanted else {
        return Some(seen);
    };
    let lines = record.messages().iter().filter(|m| {
        let line = record.text(m);
        line.contains(text) && !line.starts_with(agent::LINES)
    });
    let written = lines.filter_map(|m| m.at).filter(|at| *at <= seen).max();
    Some(written.unwrap_or(seen))
}

/// From the first line of a log to its last one.
fn length(record: &Record) -> Nanos {
    let spans = || record.spans().iter().flat_map(|s| [s.start, s.end]);
    let messages = record.messages().iter().map(|m| m.at);
    // A list of time stamps has no lines of text.
    let stamps: Vec<Nanos> = match record.messages().is_empty() {
        true => spans().flatten().collect(),
        false => messages.flatten().collect(),
    };
    let ends = stamps.iter().min().zip(stamps.iter().max());
    ends.map_or(Nanos::ZERO, |(first, last)| *last - *first)
}

fn boot(
    planted: &Planted,
    folder: &Path,
    jobs: NonZeroUsize,
    heard: &mut Heard<'_>,
) -> Result<Booted> {
    let mut times = BTreeMap::new();
    let mut failures = Vec::new();
    if let Some(logs) = planted.logs() {
        for (name, file) in logs {
            times.insert(name.clone(), length(&record(file, heard.note)?));
        }
        return Ok(Booted {
            times,
            seen: logs.get(&planted.seen).cloned().unwrap_or_default(),
            failures,
        });
    }
    let say = &mut |text: String| (heard.said)(format!("{}: {text}", planted.id));
    if let Some((figures, failed)) = planted.run(folder, jobs, say)? {
        let treated = planted.findings.iter().map(|f| &f.treated);
        let names = std::iter::once(&planted.planted).chain(treated);
        for (name, figure) in names.zip(figures) {
            times.extend(figure.map(|ns| (name.clone(), Nanos(ns))));
        }
        let seen = folder.join("cases").join(&planted.seen).join("console.log");
        return Ok(Booted {
            times,
            seen,
            failures: failed,
        });
    }
    let mut seen = PathBuf::new();
    let recorded = planted.recorded();
    let recorded = recorded.map(|(name, e)| (name.to_owned(), e, false));
    let timed = planted.experiments().map(|(name, e)| (name, e, true));
    for (name, experiment, is_timed) in timed.chain(recorded) {
        let options = lab::Options {
            jobs: Some(jobs),
            ..lab::Options::plain(&folder.join(name), experiment.base.ensemble.get())
        };
        let outcome = lab::run(experiment, &options, &mut |event| (heard.event)(&event))?;
        let mut all: BTreeMap<String, Vec<Nanos>> = BTreeMap::new();
        let mut looked_at = Vec::new();
        for trial in &outcome.trials {
            if let Some(failure) = &trial.failure {
                failures.push(format!("{}: {}", trial.id, failure.detail));
                continue;
            }
            let capture = options.out.join(&trial.capture);
            let is_seen = trial.id.variant == planted.seen;
            if !is_timed && !is_seen {
                continue;
            }
            let of_boot = record(&capture, heard.note)?;
            let light = light(&of_boot, &experiment.base.first_light);
            if is_timed {
                let variant = all.entry(trial.id.variant.clone()).or_default();
                variant.extend(light);
            }
            if is_seen {
                looked_at.push((light, capture));
            }
        }
        // A recorded boot comes last, and takes the place of the same one that was timed.
        if let Some(capture) = middle(looked_at) {
            seen = match &planted.only {
                Some(file) => capture.join(file),
                None => capture,
            };
        }
        for (name, ensemble) in all {
            times.extend(analysis::median(&ensemble).map(|t| (name, t)));
        }
    }
    Ok(Booted {
        times,
        seen,
        failures,
    })
}

/// Of several boots of one system the one in the middle: what is proven is the difference of
/// medians.
fn middle(mut boots: Vec<(Option<Nanos>, PathBuf)>) -> Option<PathBuf> {
    boots.sort();
    let at = boots.len().checked_sub(1)? / 2;
    boots.into_iter().nth(at).map(|(_, capture)| capture)
}

#[cfg(test)]
mod tests {
    use super::{length, light, middle};
    use agent::config::FirstLight;
    use record::{ClockKind, Nanos, Origin, Recorder, mark};

    #[test]
    fn the_boot_in_the_middle_is_looked_at() {
        let boots = |times: &[i64]| {
            let boots = times
                .iter()
                .map(|t| (Some(Nanos(*t)), t.to_string().into()));
            middle(boots.collect())
        };
        assert_eq!(boots(&[9, 3, 5]), Some("5".into()));
        assert_eq!(boots(&[9, 3, 5, 7]), Some("5".into()));
        assert_eq!(boots(&[4]), Some("4".into()));
        assert_eq!(boots(&[]), None);
    }

    /// The agent's mark comes up to a tick after the line that it waited for.
    #[test]
    fn first_light_is_when_its_line_was_written() {
        let mut recorder = Recorder::new();
        let source = recorder.source("kmsg", "kernel-log");
        let origin = Origin { source, offset: 0 };
        let clock = recorder.clock("counter", ClockKind::Virtual, 1);
        for (at, text) in [
            (1, "app: ready soon"),
            (5, "app: ready"),
            (8, "firstlight: waits for app: ready"),
            (12, "app: ready again"),
        ] {
            recorder.message(clock, Some(at), None, text, origin);
        }
        recorder.mark(clock, mark::POWER_ON, 0, None, origin);
        recorder.mark(clock, mark::FIRST_LIGHT, 9, None, origin);
        let record = recorder.finish();
        let at = |wanted: &FirstLight| light(&record, wanted);
        assert_eq!(at(&FirstLight::Line("app: ready".into())), Some(Nanos(5)));
        assert_eq!(at(&FirstLight::Init), Some(Nanos(9)));
        assert_eq!(at(&FirstLight::Line("unseen".into())), Some(Nanos(9)));
        // From `ready soon` to `ready again`.
        assert_eq!(length(&record), Nanos(11));
    }
}
