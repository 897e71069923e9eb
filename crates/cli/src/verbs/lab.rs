//! `firstlight lab`: boots that are compared.

use crate::args::{Ci, LabDoctor, LabRun};
use crate::beside;
use crate::input;
use crate::out::Out;
use crate::progress;
use crate::shown::Shown;
use crate::verbs::board;
use anyhow::{Result, bail};
use capture::accesses::{RecordingError, sweep};
use lab::{Event, Experiment, Outcome, Platform};
use std::io::Write as _;

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
        let plan = proof::plan(&experiment, &options);
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
    let compared = proof::compare(
        &outcome,
        &args.out,
        &proof::judgement(&experiment),
        &input::say,
    )?;
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

/// Runs an experiment, showing how far it is: on a terminal, or, if `always`,
/// with a line a trial on any other standard error too.
pub fn boot(experiment: &Experiment, options: &lab::Options, always: bool) -> Result<Outcome> {
    let mut shown = Shown::new(always);
    let outcome = lab::run(experiment, options, &mut |event| shown.event(&event));
    progress::clear();
    Ok(outcome?)
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
