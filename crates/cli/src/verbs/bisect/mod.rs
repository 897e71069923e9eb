//! `firstlight bisect`: which difference makes the boot slower.

pub mod args;

use crate::input;
use crate::out::Out;
use crate::progress;
use crate::shown::Shown;
use analysis::Allowance;
use anyhow::{Context, Result, bail};
use args::{Bisect, BisectRun, BisectVerb, InLab, Search};
use bisect::{Found, Outcome, See, Settings, Trace};
use lab::bisect::{Differences, base, history};
use lab::search::Local;
use lab::{Experiment, Loader, Platform};
use record::Nanos;
use std::path::{Path, PathBuf};
use views::{BisectPlan, Bisected};

pub fn run(args: &Bisect, out: &mut Out) -> Result<()> {
    let (mut root, mut has_device_tree) = (None, false);
    let (kind, ends, differences, lab, search) = match &args.verb {
        BisectVerb::Cmdline(a) => {
            let differences = Differences::cmdline(&line(&a.first)?, &line(&a.second)?)?;
            let ends = ["first", "second"].map(str::to_owned);
            ("cmdline", ends, differences, &a.lab, &a.search)
        }
        BisectVerb::Config(a) => {
            let differences = Differences::config(&a.first, &a.second, a.make.clone())?;
            let ends = shown([&a.first, &a.second]);
            ("config", ends, differences, &a.lab, &a.search)
        }
        BisectVerb::Devicetree(a) => {
            let differences = Differences::devicetree(&a.first, &a.second)?;
            has_device_tree = true;
            let ends = shown([&a.first, &a.second]);
            ("devicetree", ends, differences, &a.lab, &a.search)
        }
        BisectVerb::Packages(a) => {
            let differences = Differences::packages(&a.first, &a.second, a.make.clone())?;
            let ends = shown([&a.first, &a.second]);
            ("packages", ends, differences, &a.lab, &a.search)
        }
        BisectVerb::Image(a) => {
            let differences = Differences::image(&a.first, &a.second)?;
            root = Some((a.first.as_path(), a.until.as_deref()));
            let ends = shown([&a.first, &a.second]);
            ("image", ends, differences, &a.lab, &a.search)
        }
        BisectVerb::Run(a) => return on_commits(a, out),
    };
    let plan = plan(kind, ends, &differences);
    let base = match (has_device_tree, &lab.experiment) {
        (true, None) => lab::bisect::arm_base()?,
        _ => experiment(lab, root)?,
    };
    let is_known = matches!(
        base.base.platform,
        Platform::Arm9 { .. }
            | Platform::ArmVirt {
                loader: Loader::None,
                ..
            }
    );
    if has_device_tree && !is_known {
        bail!(
            "--experiment: device trees can only be exchanged on `arm9`, and on `arm-virt` without \
             a loader; name such a machine"
        );
    }
    in_lab(plan, &differences, &base, (lab, search), out)
}

fn shown(paths: [&PathBuf; 2]) -> [String; 2] {
    paths.map(|p| p.display().to_string())
}

fn plan(kind: &'static str, ends: [String; 2], differences: &Differences) -> BisectPlan {
    BisectPlan {
        kind,
        ends,
        names: differences.names().to_vec(),
    }
}

/// A command line, from its file if there is one.
fn line(text: &str) -> Result<String> {
    match Path::new(text).is_file() {
        true => std::fs::read_to_string(text).with_context(|| format!("{text}: cannot be read")),
        false => Ok(text.to_owned()),
    }
}

/// What both systems share: the user's experiment, or a small PC, with this root if there is
/// one.
fn experiment(args: &InLab, root: Option<(&Path, Option<&str>)>) -> Result<Experiment> {
    if let Some(path) = &args.experiment {
        return Ok(Experiment::read(path)?.unrecorded());
    }
    let (root, until) = root.map_or((None, None), |(root, until)| (Some(root), until));
    let root = root.map(std::path::absolute).transpose()?;
    Ok(base(root.as_deref(), until)?)
}

/// How the search goes: in exact boots, or in real time.
fn settings(args: &Search, is_exact: bool) -> Settings {
    let (first, most, part) = match is_exact {
        true => (2, 6, 0.005),
        false => (4, 40, 0.01),
    };
    Settings {
        first,
        most: args.most.map_or(most, usize::from),
        see: match args.see {
            Some(Allowance::Percent(percent)) => See::Part(percent / 100.0),
            Some(Allowance::Time(Nanos(ns))) => See::Ns(ns),
            None => See::Part(part),
        },
        error: args.error / 100.0,
    }
}

fn in_lab(
    plan: BisectPlan,
    differences: &Differences,
    base: &Experiment,
    (lab, search): (&InLab, &Search),
    out: &mut Out,
) -> Result<()> {
    if search.dry_run {
        return dry_run(&plan, out);
    }
    if plan.names.is_empty() {
        bail!("{} and {} do not differ", plan.ends[0], plan.ends[1]);
    }
    let dir = search
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("firstlight-bisect"));
    let settings = settings(search, base.base.mode.is_exact());
    let mut shown = Shown::new(true);
    let mut trials = Local {
        out: dir.clone(),
        hosts: lab.hosts.hosts(lab.jobs)?,
        on: &mut |event| shown.event(&event),
    };
    let mut boots = lab::bisect::InLab {
        base,
        differences,
        out: dir,
        trials: &mut trials,
        judge: &mut proof::Captures::new(&input::say),
    };
    let found = bisect::sets(&mut boots, plan.names.len(), &settings, &mut |t| {
        said("difference", t)
    });
    progress::clear();
    report(plan, &settings, found?, out)
}

fn on_commits(args: &BisectRun, out: &mut Out) -> Result<()> {
    let here = Path::new(".");
    let (good, commits) = history::commits(here, &args.good, &args.bad)?;
    let short = |id: &str| id.get(..12).unwrap_or(id).to_owned();
    let bad = commits.last().map_or(String::new(), |c| short(&c.id));
    let names = commits
        .iter()
        .map(|c| format!("{} {}", short(&c.id), c.subject));
    let plan = BisectPlan {
        kind: "run",
        ends: [short(&good.id), bad],
        names: names.collect(),
    };
    if args.search.dry_run {
        return dry_run(&plan, out);
    }
    let dir = match &args.search.out {
        Some(dir) => dir.clone(),
        None => history::common_dir(here)?.join("firstlight-bisect"),
    };
    let settings = settings(&args.search, false);
    let all = std::iter::once(good).chain(commits).collect();
    let mut judge = proof::Captures::new(&input::say);
    let mut script = history::Script::new(here, &dir, all, args.script.clone(), &mut judge)?;
    let found = bisect::ordered(&mut script, plan.names.len(), &settings, &mut |t| {
        said("commit", t)
    });
    let finished = script.finish();
    let found = found?;
    finished?;
    report(plan, &settings, found, out)
}

/// Shows on standard error how far the search is; `noun` is what a difference is called.
fn said(noun: &str, trace: Trace<'_>) {
    progress::clear();
    match trace {
        Trace::Open { count } => {
            let open = views::counted(count, noun);
            anstream::eprintln!("firstlight: {open} in question");
        }
        Trace::Booted { set, times: [] } => {
            let differences = views::counted(set.len(), noun);
            anstream::eprintln!("firstlight: no time with {differences}");
        }
        Trace::Booted { set, times } => {
            let last = times.last().map_or(Nanos::ZERO, |t| Nanos(*t));
            let differences = views::counted(set.len(), noun);
            anstream::eprintln!(
                "firstlight: boot {} with {differences}: {last}",
                times.len()
            );
        }
    }
}

fn dry_run(plan: &BisectPlan, out: &mut Out) -> Result<()> {
    match out.json {
        true => out.text(&views::json::text(&views::json::bisect_plan(plan))),
        false => out.text(&views::terminal::bisect_plan(plan, &out.style)),
    }
}

fn report(plan: BisectPlan, settings: &Settings, found: Found, out: &mut Out) -> Result<()> {
    let is_clear = matches!(found.outcome, Outcome::Found { .. } | Outcome::NoDifference);
    let bisected = Bisected {
        kind: plan.kind,
        ends: plan.ends,
        names: plan.names,
        error: settings.error,
        found,
    };
    let text = match out.json {
        true => views::json::text(&views::json::bisect(&bisected)),
        false => views::terminal::bisect(&bisected, &out.style),
    };
    out.text(&text)?;
    out.exit_code(if is_clear { 0 } else { 2 });
    Ok(())
}
