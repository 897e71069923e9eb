//! `firstlight demo`: the whole loop on a real Debian.
//!
//! Boot it, explain it, apply what the findings of that boot recommend, boot
//! again, and measure the difference.

use crate::args::{Demo, Images, Reading};
use crate::beside;
use crate::input;
use crate::out::Out;
use crate::progress;
use crate::verbs::{report, show};
use analysis::Options;
use anyhow::{Context, Result, bail};
use lab::{Event, Experiment};
use std::io::Write as _;
use std::path::Path;

/// The file in the output folder that says that the folder is the demo's.
const EXPERIMENT: &str = "experiment.toml";

/// Where the digests of the last demo stand, for the next one to compare.
const DIGESTS: &str = "digests.txt";

/// Boots of each variant: one as it is, the others with a neutral perturbation each.
const ENSEMBLE: u32 = 3;

pub fn run(args: &Demo, out: &mut Out) -> Result<()> {
    let dir = &args.out;
    let last = make_room(dir)?;
    let json = out.json;

    say(
        out,
        "1. Boot a minimal Debian twice: both boots must be identical",
    )?;
    let file = dir.join(EXPERIMENT);
    write(&file, proof::DEMO)?;
    let first = boot(&Experiment::read(&file)?, &options(dir, 1, true))?;
    let compared = compare(&first, dir)?;
    if let Some(difference) = compared.exact.iter().find_map(|p| p.difference.as_ref()) {
        bail!("the two boots differ: {difference}");
    }
    let baseline = proof::record(&dir.join(&first.trials[0].capture), &input::say)?;

    say(out, "2. Explain this boot")?;
    if !json {
        show::print(&baseline, &Options::default(), out)?;
    }

    let findings = analysis::findings(&baseline);
    let tried = proof::recommended(&findings);
    say(out, "3. Apply the largest findings, boot again and compare")?;
    for (finding, treatment) in &tried {
        let expected = finding.expected;
        say_line(
            out,
            &format!(
                "{:<24} expected saving {expected:>8}   {treatment}",
                finding.id
            ),
        )?;
    }
    write(&file, &proof::with_variants(&tried, args.each))?;
    let experiment = Experiment::read(&file)?;
    let outcome = boot(&experiment, &options(dir, ENSEMBLE, false))?;
    let mut result = compare(&outcome, dir)?;
    result.exact = compared.exact;

    let results = views::json::text(&views::json::lab(&result));
    beside::write(&dir.join(inspect::experiment::RESULT), |f| {
        Ok(f.write_all(results.as_bytes())?)
    })?;
    let page = dir.join("boot.html");
    let html = report::of_paths(
        std::slice::from_ref(dir),
        &[],
        &Reading::default(),
        &Images::default(),
    )?;
    beside::write(&page, |f| Ok(f.write_all(html.as_bytes())?))?;
    let digests = digests(&outcome, dir)?;
    if json {
        return out.text(&results);
    }
    out.text(&views::terminal::lab(&result, &out.style))?;
    say(out, "4. Open the results")?;
    say_line(out, &format!("page:      {}", page.display()))?;
    say_line(out, &format!("captures:  {}", dir.join("trials").display()))?;
    say_line(
        out,
        &format!("repeat:    firstlight lab run {} --out DIR", file.display()),
    )?;
    match last {
        Some(last) if last == digests => say_line(out, "The digests equal those of the last demo."),
        Some(_) => say_line(
            out,
            "The digests differ from those of the last demo because an input has changed.",
        ),
        None => Ok(()),
    }
}

/// Boots what is missing of `experiment`, and prints the first light of each boot as
/// soon as it has ended.
fn boot(experiment: &Experiment, options: &lab::Options) -> Result<lab::Outcome> {
    let (mut planned, mut ended) = (0, 0);
    let outcome = lab::run(experiment, options, &mut |event| match event {
        Event::Planned {
            trials,
            reused,
            jobs,
        } => {
            planned = trials - reused;
            progress::done(&format!("  {planned} boots, {jobs} at a time"), true);
        }
        Event::Finished {
            trial,
            reused: false,
        } => {
            ended += 1;
            let record = proof::record(&options.out.join(&trial.capture), &input::say);
            let how = match record.ok().and_then(|r| proof::first_light(&r)) {
                Some(at) => format!("first light at {at}"),
                None => trial.failure.map_or_else(String::new, |f| f.detail),
            };
            let id = trial.id.to_string();
            let took = format!("({:.0} s on this host)", trial.wall_s);
            progress::done(
                &format!("  [{ended}/{planned}] {id:<20} {how}  {took}"),
                true,
            );
        }
        Event::Console {
            trial, last_line, ..
        } => progress::say(format!("{trial}: {last_line}")),
        Event::Note { text } => progress::done(&format!("  {text}"), true),
        Event::PowerOn { .. } | Event::Finished { .. } => {}
    });
    progress::clear();
    Ok(outcome?)
}

/// What the trials say.
fn compare(outcome: &lab::Outcome, dir: &Path) -> Result<analysis::Experiment> {
    let judgement = analysis::Judgement::default();
    Ok(proof::compare(outcome, dir, &judgement, &input::say)?)
}

fn options(dir: &Path, ensemble: u32, check_exact: bool) -> lab::Options {
    lab::Options {
        check_exact,
        // The demonstration is about the boot, not about what recording costs.
        ..lab::Options::plain(dir, ensemble)
    }
}

/// Makes the output folder empty, and gives the digests of the demo that it held.
/// A folder of anything else is left alone.
fn make_room(dir: &Path) -> Result<Option<String>> {
    let shown = dir.display();
    let last = std::fs::read_to_string(dir.join(DIGESTS)).ok();
    if dir.exists() {
        let empty = std::fs::read_dir(dir)
            .with_context(|| format!("{shown}: cannot be read"))?
            .next()
            .is_none();
        if !empty && !dir.join(EXPERIMENT).is_file() {
            bail!("{shown}: already exists and is not a demo's folder; choose another with --out");
        }
        std::fs::remove_dir_all(dir).with_context(|| format!("{shown}: cannot be emptied"))?;
    }
    std::fs::create_dir_all(dir).with_context(|| format!("{shown}: cannot be made"))?;
    Ok(last)
}

/// The digests of all trials, kept for the next demo.
fn digests(outcome: &lab::Outcome, dir: &Path) -> Result<String> {
    let lines = outcome
        .trials
        .iter()
        .map(|t| format!("{}  {}\n", t.digest, t.id));
    let digests: String = lines.collect();
    write(&dir.join(DIGESTS), &digests)?;
    Ok(digests)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("{}: cannot be written", path.display()))
}

fn say(out: &mut Out, what: &str) -> Result<()> {
    if out.json {
        return Ok(());
    }
    out.text(&format!("\n== {what}\n\n"))?;
    out.flush()
}

fn say_line(out: &mut Out, what: &str) -> Result<()> {
    if out.json {
        return Ok(());
    }
    out.text(&format!("  {what}\n"))?;
    out.flush()
}
