//! `firstlight demo`: the whole loop on a real Debian.
//!
//! Boot it, explain it, apply what the findings of that boot recommend, boot
//! again, and measure the difference.

use crate::args::{Demo, Images, Reading};
use crate::beside;
use crate::out::Out;
use crate::progress;
use crate::verbs::{lab as lab_verb, report, show};
use analysis::{Finding, Options};
use anyhow::{Context, Result, bail};
use lab::search::in_lab;
use lab::{Event, Experiment};
use record::Nanos;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use treat::Treatment;

/// What is booted; the variants are added when the findings are known.
const BASE: &str = include_str!("demo.toml");

/// The file in the output folder that says that the folder is the demo's.
const EXPERIMENT: &str = "experiment.toml";

/// Where the digests of the last demo stand, for the next one to compare.
const DIGESTS: &str = "digests.txt";

/// At most this many findings are tried, the largest expected saving first.
const TRIED: usize = 3;

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
    write(&file, BASE)?;
    let first = boot(&Experiment::read(&file)?, &options(dir, 1, true))?;
    let compared = lab_verb::compare(&first, dir)?;
    if let Some(difference) = compared.exact.iter().find_map(|p| p.difference.as_ref()) {
        bail!("the two boots differ: {difference}");
    }
    let baseline = lab_verb::record(&dir.join(&first.trials[0].capture))?;

    say(out, "2. Explain this boot")?;
    if !json {
        show::print(&baseline, &Options::default(), out)?;
    }

    let findings = analysis::findings(&baseline);
    let tried = tried(&findings);
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
    write(&file, &with_variants(&tried, args.each))?;
    let experiment = Experiment::read(&file)?;
    let outcome = boot(&experiment, &options(dir, ENSEMBLE, false))?;
    let mut result = lab_verb::compare(&outcome, dir)?;
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
            let how = match first_light(&trial, &options.out) {
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

/// When a trial reached first light; `None` if it did not.
fn first_light(trial: &lab::Trial, dir: &Path) -> Option<Nanos> {
    let record = lab_verb::record(&dir.join(&trial.capture)).ok()?;
    let phases = analysis::phases_with(&record, &Options::default());
    phases.first_light.map(|f| f.at)
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

/// The findings that the lab can follow, each kind once, and how.
fn tried(findings: &[Finding]) -> Vec<(&Finding, Treatment)> {
    let mut tried: Vec<(&Finding, Treatment)> = Vec::new();
    for finding in findings {
        let treatment = finding.treatment.as_deref().and_then(in_lab);
        let is_new = tried.iter().all(|(f, _)| f.id != finding.id);
        if let (Some(treatment), true) = (treatment, is_new) {
            tried.push((finding, treatment));
        }
    }
    tried.truncate(TRIED);
    tried
}

/// The experiment with one variant that applies all findings; with `each`, also a
/// variant for every finding alone.
fn with_variants(tried: &[(&Finding, Treatment)], each: bool) -> String {
    let mut text = BASE.to_owned();
    let mut variant = |name: &str, why: &str, treatments: &[&Treatment]| {
        let list: Vec<String> = treatments.iter().map(|t| format!("\"{t}\"")).collect();
        write!(
            text,
            "\n# {why}.\n[[variant]]\nname = \"{name}\"\ntreatments = [{}]\n",
            list.join(", ")
        )
        .ok();
    };
    if each || tried.len() == 1 {
        for (finding, treatment) in tried {
            variant(finding.id, &finding.title, &[treatment]);
        }
    }
    if tried.len() > 1 {
        let all: Vec<&Treatment> = tried.iter().map(|(_, treatment)| treatment).collect();
        variant("all", "All of them together", &all);
    }
    text
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{Experiment, Treatment, tried, with_variants};
    use analysis::Finding;
    use record::{ClockKind, Recorder};

    fn finding(id: &'static str, treatment: Option<&str>) -> Finding {
        let mut rec = Recorder::new();
        let source = rec.source("boot.log", "kernel-log");
        let clock = rec.clock("printk", ClockKind::Printk, 1_000);
        let origin = record::Origin { source, offset: 0 };
        let line = "alg: self-tests for sha1 (sha1-generic) passed";
        rec.message(clock, Some(1), None, line, origin);
        let name = rec.name("crypto_algapi_init");
        let span = rec.span_of(clock, record::SpanKind::Initcall, name, origin);
        rec.span(span.start(Some(0)).end(Some(700_000_000)));
        let some = analysis::findings(&rec.finish()).swap_remove(0);
        Finding {
            id,
            treatment: treatment.map(str::to_owned),
            ..some
        }
    }

    #[test]
    fn the_lab_can_boot_what_is_tried() {
        let findings = [
            finding("unpack", Some("kernel=uncompressed")),
            finding("flush", Some("journald=volatile")),
            finding("flush", Some("mask=other.service")),
            finding("probes", None),
            finding("options", Some("fstab=/:+noatime")),
            finding("tests", Some("cmdline+=cryptomgr.notests")),
        ];
        let tried = tried(&findings);
        let wanted = [
            "kernel=uncompressed",
            "mask=systemd-journal-flush.service",
            "cmdline+=cryptomgr.notests",
        ];
        let wanted = wanted.map(|t| Treatment::parse(t).unwrap());
        assert!(tried.iter().map(|(_, t)| t).eq(&wanted));
        let parsed = |each| {
            let text = with_variants(&tried, each);
            Experiment::parse("experiment.toml", &text).unwrap()
        };
        let names =
            |e: &Experiment| -> Vec<String> { e.variants.iter().map(|v| v.name.clone()).collect() };
        let experiment = parsed(false);
        assert_eq!(names(&experiment), ["baseline", "all"]);
        assert_eq!(experiment.variants[1].treatments, wanted);
        let experiment = parsed(true);
        assert_eq!(
            names(&experiment),
            ["baseline", "unpack", "flush", "tests", "all"]
        );
        assert_eq!(experiment.variants[4].treatments, wanted);
    }
}
