//! `firstlight report`: one page to look at.

pub mod experiment;
pub mod published;

use crate::args::{Images, Inputs, Reading, Report};
use crate::beside;
use crate::input::{self, Input};
use crate::out::Out;
use crate::owners;
use analysis::{ChartLimits, Experiment, Options, Owners, Picture, Place};
use anyhow::{Context, Result, bail};
use record::Record;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use views::html::{Line, Page, Side};

/// How many rows of each table show the line that is their evidence.
const LINES_OF_EACH: usize = 2_000;

pub fn run(args: &Report, out: &mut Out) -> Result<()> {
    let Inputs { inputs, reading } = &args.inputs;
    let page = of_paths(inputs, &args.beside, reading, &args.images)?;
    beside::write(&args.out, |f| Ok(f.write_all(page.as_bytes())?))?;
    if out.json {
        let done = serde_json::json!({"schema": "firstlight.report/1", "page": args.out});
        return out.text(&views::json::text(&done));
    }
    out.text(&format!("{}\n", args.out.display()))
}

/// The page of a boot, of two captures, of an experiment's folder, or of
/// published results.
pub fn of_paths(
    paths: &[PathBuf],
    beside: &[PathBuf],
    reading: &Reading,
    images: &Images,
) -> Result<String> {
    if let ([dir], []) = (paths, beside) {
        if let Some(results) = published::read(dir)? {
            let title = dir.display().to_string();
            return Ok(views::html::published(&title, &results));
        }
        if experiment::is_experiment(dir) {
            return of_experiment(dir, reading, images);
        }
    }
    let read = |paths: &[PathBuf]| {
        paths
            .iter()
            .map(|p| input::read(p))
            .collect::<Result<Vec<_>>>()
    };
    let (inputs, beside_inputs) = (read(paths)?, read(beside)?);
    let captures = inputs
        .iter()
        .filter(|i| matches!(i, Input::Capture(_)))
        .count();
    let first = if beside.is_empty() {
        paths
    } else {
        paths.get(..1).unwrap_or_default()
    };
    let mut titles = first.iter().chain(beside).map(|p| p.display().to_string());
    // Raw files are one boot together; each capture is a boot by itself.
    let boots: Vec<Vec<Input>> = match (captures, inputs.len()) {
        _ if !beside.is_empty() => vec![inputs, beside_inputs],
        (2, 2) => inputs.into_iter().map(|i| vec![i]).collect(),
        (0 | 1, _) => vec![inputs],
        _ => bail!("{captures} captures; a page shows one boot, or compares two captures"),
    };
    let records = boots.iter().map(|b| input::record_from(b, reading));
    let records = records.collect::<Result<Vec<_>>>()?;
    let mut shown = records.iter().zip(&boots).map(|(record, inputs)| Shown {
        title: titles.next().unwrap_or_default(),
        record,
        inputs,
    });
    let (Some(a), b) = (shown.next(), shown.next()) else {
        bail!("nothing to show");
    };
    page_with(&a, b.as_ref(), None, &reading.options(), images)
}

/// The page of an experiment: every trial, and the boots of the baseline and of
/// the best variant.
fn of_experiment(dir: &Path, reading: &Reading, images: &Images) -> Result<String> {
    let shown = dir.display();
    let compared = experiment::read(dir)?;
    let mut names = vec![compared.baseline.as_str()];
    names.extend(experiment::shown_variant(&compared));
    let mut boots = Vec::new();
    for name in names {
        let Some(capture) = experiment::capture(dir, &compared, name) else {
            continue;
        };
        let inputs = vec![input::read(&capture)?];
        let record = input::record_from(&inputs, reading)
            .with_context(|| format!("the trial in {}", capture.display()))?;
        boots.push((name.to_owned(), inputs, record));
    }
    let mut shown_boots = boots.iter().map(|(name, inputs, record)| Shown {
        title: name.clone(),
        record,
        inputs,
    });
    let (Some(a), b) = (shown_boots.next(), shown_boots.next()) else {
        bail!(
            "{shown}: none of its trials has a capture; expected {shown}/trials/VARIANT/K/capture: \
             run the experiment again"
        );
    };
    let experiment = Some(compared.clone());
    page_with(&a, b.as_ref(), experiment, &reading.options(), images)
}

/// A boot to show.
pub struct Shown<'r> {
    /// What the reader calls it.
    pub title: String,
    /// The boot.
    pub record: &'r Record,
    /// What the record was made of, for the lines of its evidence; may be empty.
    pub inputs: &'r [Input],
}

/// The page of a boot, alone or beside another one.
pub fn page(
    a: &Shown<'_>,
    b: Option<&Shown<'_>>,
    experiment: Option<Experiment>,
    options: &Options,
) -> Result<String> {
    page_with(a, b, experiment, options, &Images::default())
}

/// The same, with images of what the boots read.
fn page_with(
    a: &Shown<'_>,
    b: Option<&Shown<'_>>,
    experiment: Option<Experiment>,
    options: &Options,
    images: &Images,
) -> Result<String> {
    let (of_a, of_b) = owners::of_boots(a.record, b.map(|b| b.record), images)?;
    let comparison = match b {
        Some(b) => {
            let compared = analysis::compare_with(a.record, b.record, options);
            Some(compared.with_context(|| format!("{} and {}", a.title, b.title))?)
        }
        None => None,
    };
    Ok(views::html::page(&Page {
        title: a.title.clone(),
        baseline: side(a, &of_a, options),
        best: b.map(|b| side(b, &of_b, options)),
        comparison,
        experiment,
    }))
}

fn side<'r>(shown: &Shown<'r>, owners: &'r Owners, options: &Options) -> Side<'r> {
    let limits = ChartLimits::default();
    let picture = analysis::picture(shown.record, Some(owners), options, limits);
    Side {
        title: shown.title.clone(),
        lines: lines(&picture, shown.inputs),
        picture,
    }
}

/// The evidence of what the page's tables show, in the words of the sources.
fn lines(picture: &Picture<'_>, inputs: &[Input]) -> Vec<Line> {
    let boot = &picture.boot;
    let rows = boot.longest.iter();
    let rows = rows.flat_map(|(_, b)| b.rows.iter().take(LINES_OF_EACH).map(|r| &r.origin));
    let marks = boot.phases.milestones.iter().map(|m| &m.origin);
    let findings = boot.findings.iter().flat_map(|f| &f.evidence);
    let notes = boot.ledger.notes.iter().filter_map(|n| n.first.as_ref());
    let deferrals = picture.deferrals.iter().take(LINES_OF_EACH);
    let places: BTreeSet<&Place> = rows
        .chain(marks)
        .chain(findings.map(|e| &e.place))
        .chain(notes)
        .chain(deferrals.map(|d| &d.origin))
        .collect();
    let line = |place: &Place| {
        Some(Line {
            text: input::line(inputs, place)?,
            place: place.clone(),
        })
    };
    places.into_iter().filter_map(line).collect()
}
