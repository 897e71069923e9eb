//! `firstlight lab`: boots that are compared.

use crate::args::{Ci, LabDoctor, LabRun, Reading};
use crate::beside;
use crate::input;
use crate::out::Out;
use crate::progress;
use crate::shown::Shown;
use crate::verbs::board;
use analysis::{ExactPair, Judgement, Options, RecordingCost, TrialFailure};
use anyhow::{Context, Result, bail};
use capture::accesses::{RecordingError, sweep};
use lab::{Event, ExactCheck, Experiment, Mode, Outcome, Platform};
use record::{ClockKind, Record};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The comparison, in the output folder.
const RESULTS: [&str; 3] = ["result.json", "result.md", "result.csv"];

pub fn run(args: &LabRun, out: &mut Out) -> Result<()> {
    let mut experiment = Experiment::read(&args.experiment)?;
    if let Some(name) = &args.storage {
        experiment.base.storage = lab::profiles::named(name)?;
    }
    let ensemble = args.ensemble.unwrap_or(experiment.base.ensemble).get();
    let options = lab::Options {
        check_exact: args.check_exact,
        recording_cost: !args.no_recording_cost,
        ..lab::Options::plain(&args.out, ensemble).by(&args.hosts.hosts(args.jobs)?)
    };
    if args.prepare || args.matrix.is_some() {
        return prepare(&experiment, &options, args, out);
    }
    if args.dry_run {
        let plan = plan(&experiment, &options);
        let text = if out.json {
            views::json::text(&views::json::lab_plan(&plan))
        } else {
            views::terminal::lab_plan(&plan, &out.style)
        };
        return out.text(&text);
    }
    if matches!(experiment.base.platform, Platform::Board(_)) {
        let form = board::Form {
            markdown: args.markdown,
            csv: args.csv,
        };
        return board::run(&experiment, &options, args.limit_cycles, form, out);
    }
    if args.limit_cycles.is_some() {
        bail!(
            "{}: `--limit-cycles` works only with the machine `board`; drop it",
            args.experiment.display()
        );
    }
    let outcome = boot(&experiment, &options, false)?;
    let compared = compare_with(&outcome, &args.out, &judgement(&experiment))?;
    let [json, markdown, csv] = [
        views::json::text(&views::json::lab(&compared)),
        views::markdown::lab(&compared),
        views::csv::lab(&compared),
    ];
    for (name, text) in RESULTS.iter().zip([&json, &markdown, &csv]) {
        let path = args.out.join(name);
        beside::write(&path, |f| Ok(f.write_all(text.as_bytes())?))?;
    }
    let text = if out.json {
        json
    } else if args.markdown {
        markdown
    } else if args.csv {
        csv
    } else {
        views::terminal::lab(&compared, &out.style)
    };
    out.text(&text)?;
    out.flush()?;
    if let Some(pair) = compared.exact.iter().find(|p| p.difference.is_some()) {
        let difference = pair.difference.as_deref().unwrap_or_default();
        bail!("{} is not exact: {difference}", pair.variant);
    }
    Ok(())
}

/// Writes the plans, and says what to do with them.
fn prepare(
    experiment: &Experiment,
    options: &lab::Options,
    args: &LabRun,
    out: &mut Out,
) -> Result<()> {
    let say = &mut |event| {
        if let Event::Note { text } = event {
            progress::done(&text, false);
        }
    };
    let most = match args.matrix {
        Some(_) => views::ci::MOST_JOBS,
        None => usize::MAX,
    };
    let groups = lab::prepare_elsewhere(experiment, options, most, say)?;
    progress::clear();
    let names = |group: &Vec<lab::Job>| group.iter().map(|job| job.name.clone()).collect();
    let jobs = views::LabJobs {
        folder: args.out.join(lab::JOBS).display().to_string(),
        groups: groups.iter().map(names).collect(),
    };
    out.text(&match args.matrix {
        Some(Ci::Github) => views::ci::github_matrix(&jobs),
        Some(Ci::Gitlab) => views::ci::gitlab_jobs(&jobs),
        None if out.json => views::json::text(&views::json::lab_jobs(&jobs)),
        None => views::terminal::lab_jobs(&jobs),
    })
}

/// What a run would do.
fn plan(experiment: &Experiment, options: &lab::Options) -> views::LabPlan {
    let forecast = lab::forecast(experiment, options);
    let untreated = treat::BootSpec {
        cmdline: experiment.base.cmdline.clone(),
        ..treat::BootSpec::default()
    };
    let variants = experiment.variants.iter().map(|v| {
        // Each treatment's sentence is about what those before it left.
        let baseline = experiment.variants.first().map(|b| b.spec.clone());
        let mut spec = match v.name == lab::BASELINE {
            true => Some(untreated.clone()),
            false => baseline,
        };
        let changes = v.treatments.iter().filter_map(|treatment| {
            let before = spec.take()?;
            let sentence = treatment.plan(&before);
            spec = treatment.apply(&before).ok().map(|(after, _)| after);
            Some(sentence)
        });
        views::LabPlanVariant {
            variant: v.name.clone(),
            changes: changes.collect(),
            cmdline: v.spec.cmdline.to_string(),
        }
    });
    let boots = forecast.boots.iter().map(|b| views::LabPlanBoot {
        variant: b.id.variant.clone(),
        perturbation: b.id.perturbation,
        kind: b.id.purpose.as_str(),
        wall_s: b.wall_s,
        basis: b.basis.as_str(),
    });
    views::LabPlan {
        experiment: experiment.name.clone(),
        machine: experiment.base.platform.to_string(),
        jobs: forecast.jobs,
        wall_s: forecast.wall_s,
        variants: variants.collect(),
        boots: boots.collect(),
        before: forecast.before.clone(),
    }
}

/// Runs an experiment, showing how far it is: on a terminal, or, if `always`,
/// with a line a trial on any other standard error too.
pub fn boot(experiment: &Experiment, options: &lab::Options, always: bool) -> Result<Outcome> {
    let mut shown = Shown::new(always);
    let outcome = lab::run(experiment, options, &mut |event| shown.event(&event));
    progress::clear();
    Ok(outcome?)
}

/// The least difference that counts in real time is the experiment's choice.
fn judgement(experiment: &Experiment) -> Judgement {
    match experiment.base.mode {
        Mode::Exact => Judgement::default(),
        Mode::Statistical(sampling) => Judgement {
            minimum_effect: sampling.minimum_effect(),
            ..Judgement::default()
        },
    }
}

/// What the trials say: their captures are read and compared.
pub fn compare(outcome: &Outcome, out: &Path) -> Result<analysis::Experiment> {
    compare_with(outcome, out, &Judgement::default())
}

fn compare_with(
    outcome: &Outcome,
    out: &Path,
    judgement: &Judgement,
) -> Result<analysis::Experiment> {
    let mut trials = Vec::new();
    let mut clock = ClockKind::Virtual;
    for trial in &outcome.trials {
        let capture = out.join(&trial.capture);
        let first_light = match trial.failure {
            Some(_) => None,
            None => {
                let record = record(&capture)?;
                clock = record.clock().map_or(clock, |c| c.kind);
                analysis::phases_with(&record, &Options::default())
                    .first_light
                    .map(|f| f.at)
            }
        };
        trials.push(analysis::Trial {
            variant: trial.id.variant.clone(),
            perturbation: trial.id.perturbation,
            digest: trial.digest.clone(),
            first_light,
            capture: capture.display().to_string(),
            failure: trial.failure.as_ref().map(|f| TrialFailure {
                detail: f.detail.clone(),
                last_lines: f.last_lines.clone(),
            }),
        });
    }
    let mut compared = analysis::experiment_with(clock, lab::BASELINE, trials, judgement)?;
    compared.exact = outcome.exact.iter().map(pair).collect();
    let recording = outcome.recording.iter().map(|r| RecordingCost {
        variant: r.variant.clone(),
        asked: r.asked.clone(),
        cost: r.cost(),
    });
    compared.recording = recording.collect();
    Ok(compared)
}

/// The record of a trial's capture.
pub fn record(capture: &Path) -> Result<Record> {
    input::boot(&[PathBuf::from(capture)], &Reading::default())
        .with_context(|| format!("the trial in {}", capture.display()))
}

fn pair(check: &ExactCheck) -> ExactPair {
    let difference = check.difference.as_ref().map(|d| {
        format!(
            "{} differs first at byte {} (line {}): `{}` against `{}`",
            d.file, d.byte, d.line, d.lines[0], d.lines[1]
        )
    });
    ExactPair {
        variant: check.variant.clone(),
        digests: check.digests.clone(),
        difference,
    }
}

pub fn doctor(args: &LabDoctor, out: &mut Out) -> Result<()> {
    if let Some(file) = &args.board {
        return board::doctor(file, out);
    }
    let checks = lab::doctor().into_iter().map(|c| views::Check {
        name: c.what,
        ok: c.ok,
        found: Some(c.detail),
        advice: (!c.how_to_get_it.is_empty()).then_some(c.how_to_get_it),
    });
    let checks: Vec<views::Check> = checks.chain([killed_recordings()]).collect();
    let text = if out.json {
        views::json::text(&views::json::doctor(&checks))
    } else {
        views::terminal::doctor(&checks, &out.style)
    };
    out.text(&text)
}

/// What killed recordings of accesses left on this machine; it is cleaned up.
fn killed_recordings() -> views::Check {
    let (ok, found, advice) = match sweep() {
        Ok(swept) if swept.failed.is_empty() => {
            let nothing = "nothing left behind".to_owned();
            (true, swept.sentence().unwrap_or(nothing), None)
        }
        Ok(swept) => {
            let how = "end the program that reads from it, then run this again";
            (false, swept.failed.join("; "), Some(how.to_owned()))
        }
        Err(RecordingError::Busy) => (true, "a recording is running".to_owned(), None),
        Err(RecordingError::NotRoot) => {
            let unknown = "not checked: only root can clean up".to_owned();
            (true, unknown, None)
        }
        Err(e) => {
            let how = "make /run writable for root, then run this again";
            (false, e.to_string(), Some(how.to_owned()))
        }
    };
    views::Check {
        name: "killed recordings".to_owned(),
        ok,
        found: Some(found),
        advice,
    }
}
