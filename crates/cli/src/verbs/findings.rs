//! `firstlight lab findings`: planted causes, what advice expects of its
//! treatments, and what they bring.

use crate::args::LabFindings;
use crate::out::Out;
use crate::progress;
use crate::verbs::lab as lab_verb;
use analysis::{Finding, Options, advice, phases_with};
use anyhow::{Context, Result, bail};
use lab::classics::Method;
use lab::planted::{Planted, Wanted};
use record::{Nanos, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use views::{ExpectedSaving, FindingsProof, ProvenFinding, UnprovenCause};

/// On a system without a cause, a finding that promises more than this part of
/// the boot is false.
const CLEAN_PARTS: i64 = 100;

pub fn run(args: &LabFindings, out: &mut Out) -> Result<()> {
    let mut files = Vec::new();
    for path in &args.files {
        match path.is_dir() {
            true => files.extend(experiments(path)?),
            false => files.push(path.clone()),
        }
    }
    let mut proof = FindingsProof {
        schema: "firstlight.lab.findings/1",
        ..FindingsProof::default()
    };
    for file in &files {
        let planted = Planted::of_file(file)?;
        let folder = args.out.join(&planted.id);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("{}: cannot be made", folder.display()))?;
        progress::say(planted.id.clone());
        one(&planted, &folder, args, &mut proof)?;
    }
    progress::clear();
    finish(&mut proof);
    let text = if out.json {
        views::json::text(&proof)
    } else if args.markdown {
        proof.markdown()
    } else {
        proof.terminal(&out.style)
    };
    out.text(&text)?;
    out.flush()?;
    match proof.failures.len() {
        0 => Ok(()),
        n => bail!("{n} of the boots or findings did not come"),
    }
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
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("{}: cannot be read", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
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
    args: &LabFindings,
    proof: &mut FindingsProof,
) -> Result<()> {
    let say = &mut |text: String| progress::done(&format!("{}: {text}", planted.id), false);
    let booted = boot(planted, folder, args.jobs)?;
    if !booted.failures.is_empty() {
        let told = booted.failures.iter();
        proof
            .failures
            .extend(told.map(|why| unproven(planted, why.clone())));
        return Ok(());
    }
    let beside = planted.beside(&folder.join("beside"), folder, say)?;
    let record = lab_verb::record(&booted.seen)?;
    let phases = phases_with(&record, &Options::default());
    let facts = inspect::system::facts(&beside, None)?;
    let found = advice(&record, &phases, &facts).findings;
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
    let phases = phases_with(record, &Options::default());
    let start = phases.phases.first().map_or(Nanos::ZERO, |p| p.start);
    phases.end() - start
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

fn boot(planted: &Planted, folder: &Path, jobs: std::num::NonZeroUsize) -> Result<Booted> {
    let mut times = BTreeMap::new();
    let mut failures = Vec::new();
    if let Method::Workload { .. } = &planted.classic.method {
        let say = &mut |text: String| progress::done(&format!("{}: {text}", planted.id), false);
        let (figures, failed) = planted.run(folder, jobs, say)?;
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
    for (name, experiment) in planted.experiments() {
        let options = lab::Options {
            jobs: Some(jobs),
            ..lab::Options::plain(&folder.join(name), experiment.base.ensemble.get())
        };
        let outcome = lab_verb::boot(experiment, &options, false)?;
        let mut all: BTreeMap<String, Vec<Nanos>> = BTreeMap::new();
        for trial in &outcome.trials {
            if let Some(failure) = &trial.failure {
                failures.push(format!("{}: {}", trial.id, failure.detail));
                continue;
            }
            let capture = options.out.join(&trial.capture);
            let record = lab_verb::record(&capture)?;
            let phases = phases_with(&record, &Options::default());
            let light = phases.first_light.as_ref().map(|f| f.at);
            let variant = all.entry(trial.id.variant.clone()).or_default();
            variant.extend(light);
            if trial.id.variant == planted.seen && trial.id.perturbation == 0 {
                seen = capture;
            }
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
