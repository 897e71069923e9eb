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
use analysis::{ExactPair, Judgement, Options};
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

    let how = match last {
        Some(_) => "1. Boot a minimal Debian: it must be identical to the boot of the last demo",
        None => "1. Boot a minimal Debian twice: both boots must be identical",
    };
    say(out, how)?;
    let file = dir.join(EXPERIMENT);
    write(&file, proof::DEMO)?;
    let (first, exact) = exact_boot(dir, last.as_deref())?;
    if let Some(difference) = exact.iter().find_map(|p| p.difference.as_ref()) {
        bail!("the two boots differ: {difference}");
    }
    let baseline = proof::record(&dir.join(&first.capture), &input::say)?;

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
    let mut result = proof::compare(&outcome, dir, &Judgement::default(), &input::say)?;
    result.exact = exact;

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
    let digests = proof::digests(&outcome.trials);
    write(&dir.join(DIGESTS), &digests)?;
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

/// The first trial, and what proves that its boot is exact: the same boot in the last demo,
/// which left `digests`, or a second one now.
fn exact_boot(dir: &Path, digests: Option<&str>) -> Result<(lab::Trial, Vec<ExactPair>)> {
    let experiment = Experiment::read(&dir.join(EXPERIMENT))?;
    if let Some(digests) = digests {
        let mut trials = boot(&experiment, &options(dir, 2, false))?.trials;
        if let Some(pair) = proof::booted_before(&trials[0], digests) {
            return Ok((trials.swap_remove(0), vec![pair]));
        }
    }
    let mut twice = boot(&experiment, &options(dir, 1, true))?;
    let exact = proof::compare(&twice, dir, &Judgement::default(), &input::say)?.exact;
    Ok((twice.trials.swap_remove(0), exact))
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
