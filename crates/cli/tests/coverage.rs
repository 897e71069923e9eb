//! `experiments/coverage.toml`: each technique of the documents that Firstlight implements,
//! and whether what a row names exists. `docs/coverage.md` is made from it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{firstlight, workspace};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// How many rows there are: none may be dropped.
const ROWS: usize = 148;

/// What a figure can rest on.
const BASES: [&str; 3] = ["measured", "modeled", "computed"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Coverage {
    firstlight_coverage: u32,
    documents: BTreeMap<String, String>,
    row: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    number: usize,
    document: String,
    technique: String,
    verb: Option<String>,
    treatment: Option<String>,
    experiment: Option<String>,
    published: Option<String>,
    measured: Option<String>,
    /// What the figure in `measured` rests on: words of [`BASES`], with commas.
    basis: Option<String>,
    state: State,
    reason: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum State {
    Works,
    Partial,
    Absent,
    Impossible,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Partial => "partial",
            Self::Absent => "absent",
            Self::Impossible => "impossible",
        }
    }
}

fn coverage() -> Coverage {
    let text = fs::read_to_string(workspace().join("experiments/coverage.toml")).unwrap();
    toml::from_str(&text).unwrap()
}

#[test]
fn rows_are_complete_and_honest() {
    let all = coverage();
    assert_eq!(all.firstlight_coverage, 1);
    assert_eq!(all.row.len(), ROWS);
    for (row, number) in all.row.iter().zip(1..) {
        assert_eq!(row.number, number);
        assert!(all.documents.contains_key(&row.document), "row {number}");
        // Only what works needs no reason; what works can at least be measured.
        assert_eq!(
            row.reason.is_none(),
            row.state == State::Works,
            "row {number}"
        );
        assert!(
            row.state != State::Works || row.verb.is_some(),
            "row {number}"
        );
        // Whoever reads a figure sees what it rests on.
        let basis = row.basis.as_deref().unwrap_or_default();
        let figure = row.measured.as_deref().unwrap_or_default();
        let has_figure = figure.contains(|c: char| c.is_ascii_digit());
        assert!(
            !basis.is_empty() || row.experiment.is_none() || !has_figure,
            "row {number}: what do its figures rest on?"
        );
        let known = |word: &str| word.is_empty() || BASES.contains(&word);
        assert!(basis.split(", ").all(known), "row {number}: {basis}");
        let texts = [&row.verb, &row.treatment, &row.experiment, &row.published];
        let texts = texts.into_iter().chain([&row.measured, &row.reason]);
        for text in texts.flatten() {
            assert!(
                !text.trim().is_empty() && !text.contains('|'),
                "row {number}"
            );
        }
    }
}

#[test]
fn what_a_row_names_exists() {
    let all = coverage();
    let mut verbs: Vec<&str> = all.row.iter().filter_map(|r| r.verb.as_deref()).collect();
    verbs.sort_unstable();
    verbs.dedup();
    for verb in verbs {
        let words: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        let help = firstlight(&words);
        let said = String::from_utf8_lossy(&help.stdout).into_owned();
        let usage = said
            .lines()
            .any(|l| l.contains("Usage: ") && l.contains(verb));
        assert!(help.status.success() && usage, "no verb `{verb}`: {said}");
    }
    for row in &all.row {
        if let Some(treatment) = &row.treatment {
            let parsed = treat::FileTreatment::parse(treatment);
            assert!(parsed.is_ok(), "row {}: {:?}", row.number, parsed.err());
        }
        if let Some(experiment) = &row.experiment {
            assert!(
                workspace().join(experiment).is_file(),
                "row {}: no {experiment}",
                row.number
            );
        }
    }
}

/// Every figure in tenths of a millisecond that a row calls measured stands in a table of results.
#[test]
fn measured_figures_stand_in_the_results() {
    let mut folders = vec![workspace().join("experiments")];
    let mut results = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry.file_name() == "RESULTS.md" {
                results += &fs::read_to_string(entry.path()).unwrap();
            }
        }
    }
    // Figures with a point, as tenths.
    let figures = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
        let exact = words.filter(|w| w.contains('.'));
        let exact = exact.filter_map(|w| w.trim_end_matches('.').parse::<f64>().ok());
        exact.map(|figure| format!("{figure:.1}")).collect()
    };
    let known: BTreeSet<String> = figures(&results.replace(',', "")).into_iter().collect();
    for row in coverage().row {
        let measured = row.measured.unwrap_or_default().replace(',', "");
        let in_ms = measured.match_indices(" ms");
        let of_ms =
            in_ms.filter_map(|(at, _)| figures(measured.get(..at)?.rsplit(' ').next()?).pop());
        for figure in of_ms {
            assert!(known.contains(&figure), "row {}: {figure} ms", row.number);
        }
    }
}

/// What made the results that are no classics: `experiments/made-by.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MadeBy {
    firstlight_made_by: u32,
    /// By the path of the experiment.
    result: BTreeMap<String, Made>,
}

/// What made a result, each by its SHA-256.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Made {
    /// The experiment, as it was then.
    experiment: String,
    /// The emulator with its parts; none if nothing was booted.
    emulator: Option<String>,
    /// What was booted, by the name of the run; or the programs that made the files.
    artifacts: BTreeMap<String, String>,
}

impl Made {
    fn is_complete(&self) -> bool {
        let is_digest = |text: &String| {
            text.len() == 64
                && text
                    .bytes()
                    .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        };
        !self.artifacts.is_empty()
            && self
                .emulator
                .iter()
                .chain(self.artifacts.values())
                .all(is_digest)
    }
}

/// SHA-256 of what an experiment says: of a TOML file without its comments.
fn digest(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let said = match path.extension().is_some_and(|e| e == "toml") {
        true => toml::from_str::<toml::Table>(&text).unwrap().to_string(),
        false => text,
    };
    lab::artifacts::hash_bytes(said.as_bytes())
}

/// No result is of another experiment than the one that stands here.
#[test]
fn results_are_made_by_the_experiments_of_today() {
    let made: MadeBy =
        toml::from_str(&fs::read_to_string(workspace().join("experiments/made-by.toml")).unwrap())
            .unwrap();
    assert_eq!(made.firstlight_made_by, 2);
    let results = fs::read_to_string(workspace().join("experiments/classics/RESULTS.md")).unwrap();
    let mut old = Vec::new();
    for classic in lab::classics::classics().unwrap() {
        let (_, section) = results
            .split_once(&format!("\n`{}`. ", classic.id))
            .unwrap();
        let section = section.split("\n## ").next().unwrap();
        let (_, line) = section.split_once("\nMade by: ").unwrap_or(("", ""));
        let (_, known) = line.split_once("experiment `").unwrap_or(("", ""));
        let (known, _) = known.split_once('`').unwrap_or(("", ""));
        if known.len() != 16 || !classic.digest.starts_with(known) {
            let digest = classic.digest.get(..16).unwrap();
            old.push(format!(
                "experiments/classics/{}.toml: experiment `{digest}`",
                classic.id
            ));
        }
    }
    let named: BTreeSet<String> = coverage()
        .row
        .into_iter()
        .filter_map(|r| r.experiment)
        .collect();
    let others = named
        .iter()
        .filter(|path| !path.starts_with("experiments/classics/") && !path.ends_with("RESULTS.md"));
    for path in others {
        let now = digest(&workspace().join(path));
        let known = made.result.get(path);
        // What is no experiment boots nothing.
        let boots = path.ends_with(".toml");
        let is_known =
            |k: &Made| k.experiment == now && k.is_complete() && k.emulator.is_some() == boots;
        if !known.is_some_and(is_known) {
            old.push(format!("[result.\"{path}\"] experiment = \"{now}\""));
        }
    }
    let unknown: Vec<_> = made
        .result
        .keys()
        .filter(|path| !named.contains(*path))
        .collect();
    assert!(unknown.is_empty(), "no row has {unknown:?}");
    assert!(
        old.is_empty(),
        "changed since their results were made, so boot them again and put the new figures and \
         digests in their place:\n{}",
        old.join("\n")
    );
}

/// `docs/coverage.md`.
fn page(all: &Coverage) -> String {
    let mut text = String::from(
        "# Coverage of the source documents\n\n\
         You know a technique from one of the documents that Firstlight implements, and want to\n\
         know what Firstlight does with it. A row *works* if you can measure the technique on your\n\
         own input, apply it as a treatment where there is something to change, and repeat its\n\
         proof in the lab. Every other row says what is missing.\n\n\
         *Basis* is what a figure rests on: *measured* on the clock of the lab's machine,\n\
         *modeled* where a formula added a part, or *computed* from other figures.\n\n\
         This page is generated from `experiments/coverage.toml`.\n\n",
    );
    let mut counts: BTreeMap<State, usize> = BTreeMap::new();
    for row in &all.row {
        *counts.entry(row.state).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(state, n)| format!("{n} {}", state.word()))
        .collect();
    writeln!(text, "{} rows: {}.", all.row.len(), counts.join(", ")).unwrap();
    for (id, title) in &all.documents {
        write!(
            text,
            "\n## {title}\n\n\
             | # | Technique | State | Verb | Treatment | Experiment | Published | Here | Basis |\n\
             |---:|---|---|---|---|---|---|---|---|\n"
        )
        .unwrap();
        let code = |of: &Option<String>| of.as_ref().map_or(String::new(), |t| format!("`{t}`"));
        let plain = |of: &Option<String>| of.clone().unwrap_or_default();
        for row in all.row.iter().filter(|r| r.document == *id) {
            let experiment = row.experiment.as_ref().map_or(String::new(), |path| {
                let name = path.strip_prefix("experiments/").unwrap_or(path);
                format!("[{name}](../{path})")
            });
            let state = match &row.reason {
                Some(reason) => format!("{}: {reason}", row.state.word()),
                None => row.state.word().to_owned(),
            };
            writeln!(
                text,
                "| {} | {} | {state} | {} | {} | {experiment} | {} | {} | {} |",
                row.number,
                row.technique,
                code(&row.verb),
                code(&row.treatment),
                plain(&row.published),
                plain(&row.measured),
                plain(&row.basis)
            )
            .unwrap();
        }
    }
    text
}

#[test]
fn the_page_is_made_from_the_file() {
    let path = workspace().join("docs/coverage.md");
    let made = page(&coverage());
    if std::env::var_os("FIRSTLIGHT_BLESS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == made,
        "docs/coverage.md is old: run `FIRSTLIGHT_BLESS=1 cargo test -p firstlight --test coverage`"
    );
}
