//! `firstlight tune`: tries treatments in the lab or on a board, and keeps the smallest set
//! that helps.

use crate::args::{Tune, TunePolicy};
use crate::beside;
use crate::input;
use crate::out::Out;
use crate::progress;
use crate::shown::Shown;
use crate::verbs::{board, report as page};
use anyhow::{Result, bail};
use lab::search::{self, Found, Local, Policy, Settings};
use lab::{Experiment, Quick};
use record::Nanos;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

pub fn run(args: &Tune, out: &mut Out) -> Result<()> {
    let experiment = experiment(args)?;
    let on_board = matches!(experiment.base.platform, lab::Platform::Board(_));
    if !on_board && (args.undo || args.limit_cycles.is_some()) {
        bail!(
            "{}: `--undo` and `--limit-cycles` work only with `machine = \"board\"`; the lab \
             changes nothing of yours",
            args.what.display()
        );
    }
    let dir = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.tune", experiment.name)));
    let mut settings = settings(args, &experiment, &dir);
    if let Some(path) = &args.forecast {
        settings.forecast = forecast(path, &experiment)?;
    }
    if args.dry_run {
        return plan(&experiment, &settings, &args.with, out);
    }
    if args.undo {
        return board::tune::undo(&experiment, &dir, out);
    }
    let found = match on_board {
        true => board::tune::search(&experiment, &args.with, &settings, args.limit_cycles)?,
        false => in_lab(args, &experiment, &settings)?,
    };
    let is_wall = !experiment.base.mode.is_exact();
    let tuned = proof::tuned(&found, is_wall, command(args, &dir));
    let json = views::json::text(&views::json::tune(&tuned));
    write(&dir.join("tune.json"), &json)?;
    write(&dir.join("tune.md"), &views::markdown::tune(&tuned))?;
    for (form, text) in search::patches(&found) {
        write(&dir.join(format!("patch.{form}")), &text)?;
    }
    let path = dir.join("kernel.config");
    match search::kernel_config(&found)? {
        Some(config) => write(&path, &config)?,
        // One of an earlier search is not this one's.
        None if path.exists() => std::fs::remove_file(path)?,
        None => {}
    }
    compare(&found, &dir)?;
    if out.json {
        return out.text(&json);
    }
    let files = format!(
        "In {}: tune.json, tune.md, compare.html, and patch.* for build systems",
        dir.display()
    );
    out.text(&views::terminal::tune(&tuned, &files, &out.style))
}

/// Searches with boots of the lab.
fn in_lab(args: &Tune, experiment: &Experiment, settings: &Settings) -> Result<Found> {
    let mut shown = Shown::new(true);
    let mut trials = Local {
        out: settings.out.clone(),
        hosts: args.hosts.hosts(args.jobs)?,
        on: &mut |event| shown.event(&event),
    };
    let mut say = |text: String| {
        progress::clear();
        anstream::eprintln!("firstlight: {text}");
    };
    let judge = &mut proof::Captures::new(&input::say);
    let both: (&mut dyn search::Trials, &mut dyn search::Judge) = (&mut trials, judge);
    let found = search::search(experiment, &args.with, settings, both, &mut say);
    progress::clear();
    Ok(found?)
}

fn settings(args: &Tune, experiment: &Experiment, dir: &Path) -> Settings {
    Settings {
        out: dir.to_owned(),
        ensemble: args.ensemble.unwrap_or(experiment.base.ensemble).get(),
        tries: args.tries,
        enough: args.enough,
        leave_out: args.leave_out,
        policy: match args.policy {
            TunePolicy::Product => Policy::Product,
            TunePolicy::Lab => Policy::Lab,
        },
        without: args.without.clone(),
        forecast: BTreeMap::new(),
    }
}

/// What each treatment saves in the lab: by a search there, or by a run there of variants with
/// the same names and one treatment each.
fn forecast(path: &Path, experiment: &Experiment) -> Result<BTreeMap<String, Nanos>> {
    if let Some(shares) = ::input::shares(path)? {
        return Ok(shares.into_iter().collect());
    }
    let results = ::input::results(path)?;
    if results.clock != "virtual" {
        bail!(
            "{}: these boots ran in wall time; name an output folder of the lab",
            path.display()
        );
    }
    let saved = results.changes.iter().filter_map(|(name, change)| {
        let variant = experiment.variants.iter().find(|v| v.name == *name)?;
        let [only] = variant.treatments.as_slice() else {
            return None;
        };
        Some((only.to_string(), Nanos::ZERO - change.delta))
    });
    let saved: BTreeMap<String, Nanos> = saved.collect();
    if saved.is_empty() {
        bail!(
            "{}: no variant with one treatment has the name of one of {}; name the output folder \
             of the same variants, or of a search, in the lab",
            path.display(),
            experiment.name
        );
    }
    Ok(saved)
}

fn write(path: &Path, text: &str) -> Result<()> {
    beside::write(path, |f| Ok(f.write_all(text.as_bytes())?))
}

/// The page that shows the best boot beside the first one.
fn compare(found: &Found, dir: &Path) -> Result<()> {
    let before = proof::record(&found.baseline.capture, &input::say)?;
    let after = proof::record(&found.best.capture, &input::say)?;
    let shown = |title: &str, record| page::Shown {
        title: title.to_owned(),
        record,
        inputs: &[],
    };
    let text = page::page(
        &shown("before", &before),
        Some(&shown("after", &after)),
        None,
        &analysis::Options::default(),
    )?;
    write(&dir.join("compare.html"), &text)
}

/// The command that repeats the search.
fn command(args: &Tune, dir: &Path) -> String {
    let mut words = vec![
        "firstlight tune".to_owned(),
        args.what.display().to_string(),
    ];
    if let Some(kernel) = &args.kernel {
        words.push(format!("--kernel {}", kernel.display()));
    }
    if let Some(until) = &args.until {
        words.push(format!("--until '{until}'"));
    }
    if let Some(storage) = &args.storage {
        words.push(format!("--storage {storage}"));
    }
    words.extend(args.with.iter().map(|t| format!("--with '{t}'")));
    if let Some(path) = &args.forecast {
        words.push(format!("--forecast {}", path.display()));
    }
    words.extend(args.without.iter().map(|t| format!("--without '{t}'")));
    if args.policy == TunePolicy::Lab {
        words.push("--policy lab".to_owned());
    }
    if args.tries != 24 {
        words.push(format!("--tries {}", args.tries));
    }
    if args.enough != 95 {
        words.push(format!("--enough {}", args.enough));
    }
    if let Some(n) = args.leave_out {
        words.push(format!("--leave-out {n}"));
    }
    if let Some(n) = args.ensemble {
        words.push(format!("--ensemble {n}"));
    }
    if let Some(n) = args.jobs {
        words.push(format!("--jobs {n}"));
    }
    words.push(format!("--out {}", dir.display()));
    words.join(" ")
}

/// The experiment that was named, or one of the image that was.
fn experiment(args: &Tune) -> Result<Experiment> {
    if args.what.extension().is_some_and(|e| e == "toml") {
        if args.kernel.is_some() || args.until.is_some() || args.storage.is_some() {
            bail!(
                "{}: an experiment's file names its kernel, storage and first light itself; drop \
                 --kernel, --until and --storage, or name an image",
                args.what.display()
            );
        }
        return Ok(Experiment::read(&args.what)?);
    }
    Ok(Experiment::quick(&Quick {
        root: args.what.clone(),
        kernel: args.kernel.clone(),
        modules: args.modules.clone(),
        first_light: args.until.clone(),
        storage: args.storage.clone(),
    })?)
}

/// What would be tried, as far as it is known before the first boot.
fn plan(
    experiment: &Experiment,
    settings: &Settings,
    with: &[String],
    out: &mut Out,
) -> Result<()> {
    let candidates = search::candidates(experiment, with)?;
    let options = lab::Options::plain(&settings.out, 1);
    let forecast = lab::forecast(experiment, &options);
    let plan = views::TunePlan {
        machine: experiment.base.platform.to_string(),
        candidates: candidates.iter().map(ToString::to_string).collect(),
        ensemble: settings.ensemble,
        wall_s_each: forecast.boots.first().map_or(60.0, |b| b.wall_s),
    };
    match out.json {
        true => out.text(&views::json::text(&views::json::tune_plan(&plan))),
        false => out.text(&views::terminal::tune_plan(&plan)),
    }
}
