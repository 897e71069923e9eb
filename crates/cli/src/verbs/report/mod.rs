//! `firstlight report`: one page to look at.

use crate::args::{Images, Inputs, Reading};
use crate::input::{self, Input, names, redacted};
use crate::out::Out;
use crate::verbs::redact;
use crate::{beside, progress};
use ::redact::Redactor;
use analysis::{BoardReport, ChartLimits, Experiment, Options, Owners, Picture, Place};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use inspect::{board_run, experiment, published};
use record::Record;
use std::io::Write;
use std::path::{Path, PathBuf};
use views::ForecastTruth;
use views::html::{Line, Page, Side};
use views::json::{self, Document};

/// The arguments of `report`.
#[derive(Debug, Args)]
pub struct Report {
    #[command(flatten)]
    pub inputs: Inputs,
    /// Compare with a second boot: a capture, or its raw files
    #[arg(long, value_name = "NEW", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub against: Vec<PathBuf>,
    #[command(flatten)]
    pub images: Images,
    /// Page to write
    #[arg(short, long, value_name = "FILE", default_value = "boot.html", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Replace addresses, names, identifiers and secrets on the page, so that it can be sent
    #[arg(long)]
    pub redact: bool,
}

/// How many rows of each table show the line that is their evidence.
const LINES_OF_EACH: usize = 2_000;

pub fn run(args: &Report, out: &mut Out) -> Result<()> {
    let Inputs { inputs, reading } = &args.inputs;
    let (page, redactor) = match args.redact {
        true => redacted_page(args)?,
        false => (
            of_paths(inputs, &args.against, reading, &args.images)?,
            None,
        ),
    };
    beside::write(&args.out, |f| Ok(f.write_all(page.as_bytes())?))?;
    if let Some(redactor) = redactor {
        return redact::show(&redactor, &args.out, out);
    }
    if out.json {
        let done = json::Report {
            page: args.out.display().to_string(),
            schema: json::Report::SCHEMA,
        };
        return out.text(&json::text(&done));
    }
    out.text(&format!("{}\n", args.out.display()))
}

/// The page of a boot, of two boots, of the folder of an experiment or of a run on a board, of
/// such a run beside the lab's forecasts of it, or of published results.
pub fn of_paths(
    paths: &[PathBuf],
    against: &[PathBuf],
    reading: &Reading,
    images: &Images,
) -> Result<String> {
    if let ([dir], []) = (paths, against) {
        if let Some(results) = published::read(dir)? {
            let results: Vec<_> = results.into_iter().map(Into::into).collect();
            let title = names::one(dir);
            return Ok(views::html::published(&title, &results));
        }
        if board_run::is_board_run(dir) {
            return of_board(dir, None, reading, images);
        }
        if experiment::is_experiment(dir) {
            return of_experiment(dir, reading, images);
        }
    }
    if let ([one], [other]) = (paths, against) {
        // Whichever is named first: virtual time is the forecast.
        for (lab, board) in [(one, other), (other, one)] {
            if experiment::is_experiment(lab) && board_run::is_board_run(board) {
                return of_board(board, Some(lab), reading, images);
            }
        }
        let is_run = |dir: &Path| experiment::is_experiment(dir) || board_run::is_board_run(dir);
        if let Some(run) = [one, other].into_iter().find(|dir| is_run(dir)) {
            bail!(
                "{0}: a run of the lab is compared only with a run of the same variants on a board; \
                 name a capture of each, such as {0}/trials/baseline/0/capture",
                run.display()
            );
        }
    }
    // Files and captures of one side are one boot together.
    let mut sides = vec![paths];
    sides.extend((!against.is_empty()).then_some(against));
    let mut titles = names::of_boots(&sides).into_iter();
    let boots = sides.iter().map(|paths| input::of_one_boot(paths));
    let boots = boots.collect::<Result<Vec<_>>>()?;
    page_of(&boots, &mut titles, reading, images)
}

/// The page of a boot or of two without what identifies, and what was replaced.
fn redacted_page(args: &Report) -> Result<(String, Option<Redactor>)> {
    let Inputs { inputs, reading } = &args.inputs;
    let mut sides = vec![&inputs[..]];
    sides.extend((!args.against.is_empty()).then_some(&args.against[..]));
    let boots = sides.iter().map(|paths| input::of_one_boot(paths));
    let boots = boots.collect::<Result<Vec<_>>>()?;
    let (boots, mut redactor) = redacted::all(boots)?;
    let titles = names::of_boots(&sides);
    let titles: Vec<String> = titles
        .iter()
        .map(|t| redacted::text(&mut redactor, t))
        .collect();
    let page = page_of(&boots, &mut titles.into_iter(), reading, &args.images)?;
    Ok((page, Some(redactor)))
}

/// The page of a boot, or of two, whose titles come in the same order.
fn page_of(
    boots: &[Vec<Input>],
    titles: &mut dyn Iterator<Item = String>,
    reading: &Reading,
    images: &Images,
) -> Result<String> {
    let records = boots.iter().map(|b| input::record_from(b, reading));
    let records = records.collect::<Result<Vec<_>>>()?;
    let mut shown = records.iter().zip(boots).map(|(record, inputs)| Shown {
        title: titles.next().unwrap_or_default(),
        record,
        inputs,
    });
    let (Some(a), b) = (shown.next(), shown.next()) else {
        bail!("nothing to show");
    };
    page_with(&a, b.as_ref(), Of::default(), &reading.options(), images)
}

/// The page of an experiment: every trial, and the boots of the baseline and of
/// the best variant.
fn of_experiment(dir: &Path, reading: &Reading, images: &Images) -> Result<String> {
    let compared = experiment::read(dir)?;
    let mut names = vec![compared.baseline.as_str()];
    names.extend(experiment::shown_variant(&compared));
    let of_name = |name: &str| Some((name.to_owned(), experiment::capture(dir, &compared, name)?));
    let captures = names.into_iter().filter_map(of_name).collect();
    let of = Of {
        experiment: Some(compared),
        ..Of::default()
    };
    of_run(dir, captures, of, reading, images)
}

/// The page of a run on a board: every boot, and those of the baseline and of the best variant
/// that are nearest to their medians. With the folder of the same variants in the lab, its
/// forecasts as well.
fn of_board(dir: &Path, lab: Option<&Path>, reading: &Reading, images: &Images) -> Result<String> {
    let run = board_run::read(dir)?;
    let truth = lab.map(|lab| -> Result<ForecastTruth> {
        let (forecast, board) = (::input::results(lab)?, ::input::results(dir)?);
        let truth = proof::truth((lab, &forecast), (dir, &board))?;
        Ok(ForecastTruth::of(&run.outcome.board, &truth))
    });
    let truth = truth.transpose()?;
    let mut names = vec![run.baseline.as_str()];
    names.extend(board_run::shown_variant(&run));
    let of_name = |name: &str| Some((name.to_owned(), board_run::capture(dir, &run, name)?));
    let captures = names.into_iter().filter_map(of_name).collect();
    let of = Of {
        board: Some(run),
        truth,
        ..Of::default()
    };
    of_run(dir, captures, of, reading, images)
}

/// The page of a run whose baseline and best variant have these captures.
fn of_run(
    dir: &Path,
    captures: Vec<(String, PathBuf)>,
    of: Of,
    reading: &Reading,
    images: &Images,
) -> Result<String> {
    let mut boots = Vec::new();
    for (name, capture) in captures {
        let inputs = vec![input::read(&capture)?];
        let record = input::record_from(&inputs, reading)
            .with_context(|| format!("the trial in {}", capture.display()))?;
        boots.push((name, inputs, record));
    }
    let mut shown_boots = boots.iter().map(|(name, inputs, record)| Shown {
        title: name.clone(),
        record,
        inputs,
    });
    let (Some(a), b) = (shown_boots.next(), shown_boots.next()) else {
        bail!(
            "{0}: none of its trials has a capture; expected {0}/trials/VARIANT/K/capture: run the \
             experiment again",
            dir.display()
        );
    };
    page_with(&a, b.as_ref(), of, &reading.options(), images)
}

/// What boots on a page belong to, if to anything.
#[derive(Default)]
struct Of {
    experiment: Option<Experiment>,
    board: Option<BoardReport>,
    truth: Option<ForecastTruth>,
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
    let of = Of {
        experiment,
        ..Of::default()
    };
    page_with(a, b, of, options, &Images::default())
}

/// The same, with images of what the boots read.
fn page_with(
    a: &Shown<'_>,
    b: Option<&Shown<'_>>,
    of: Of,
    options: &Options,
    images: &Images,
) -> Result<String> {
    let (of_a, of_b) = inspect::owners::of_boots(
        a.record,
        b.map(|b| b.record),
        images.chosen(),
        &progress::mapping,
    )?;
    progress::clear();
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
        experiment: of.experiment,
        board: of.board,
        truth: of.truth,
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
    let line = |place: &Place| {
        Some(Line {
            text: input::line(inputs, place)?,
            place: place.clone(),
        })
    };
    let places = picture.evidence(LINES_OF_EACH);
    places.into_iter().filter_map(line).collect()
}
