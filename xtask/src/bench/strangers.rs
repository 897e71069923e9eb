//! Boots that strangers published with the change that they made and what it brought: whether
//! the program reads them, names the cure, and foretells its saving.
//!
//! The texts belong to others and are kept outside the project. A case is a folder with
//! `before/` and `case.json`. A cure counts as named only by the title, the names or the
//! treatment of a finding: what evidence quotes is no answer.

use crate::{root, step};
use anyhow::{Context, Result};
use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the samples lie, beside the project or one folder above a worktree.
const SAMPLES: [&str; 2] = ["../shared/samples", "../../shared/samples"];

/// A range wider than this many times the expected saving helps nobody to decide.
const WIDEST: f64 = 2.0;

/// Numbers are published with few digits.
const ROUNDING: f64 = 0.02;

/// A cure counts if it is among this many findings.
const TOP: usize = 3;

/// The goal for the median error of the expected saving; a case with a greater one is marked.
const ERROR: f64 = 0.25;

/// What the program says of one case.
struct Row {
    name: String,
    read: bool,
    /// The places among the findings of those that name the cure, from one.
    named: Vec<usize>,
    /// The place of the first that names the main cure.
    first: Option<usize>,
    harmful: bool,
    real: f64,
    expected: f64,
    range: (f64, f64),
}

impl Row {
    fn in_range(&self) -> bool {
        let (low, high) = self.range;
        low * (1.0 - ROUNDING) <= self.real && self.real <= high * (1.0 + ROUNDING)
    }

    fn error(&self) -> f64 {
        (self.expected / self.real - 1.0).abs()
    }

    fn width(&self) -> f64 {
        (self.range.1 - self.range.0) / self.expected
    }

    /// What is wrong with it, in the order of how much it matters.
    fn misses(&self) -> Vec<&'static str> {
        let named = !self.named.is_empty();
        let all = [
            (!self.read, "not read"),
            (self.harmful, "harmful advice above the cure"),
            (self.read && !named, "not named"),
            (
                named && self.first.is_none_or(|p| p > TOP),
                "not among the first three",
            ),
            (named && !self.in_range(), "outside the range"),
            (named && self.error() > ERROR, "expected saving off"),
            (named && self.width() > WIDEST, "range too wide"),
        ];
        all.into_iter().filter(|m| m.0).map(|m| m.1).collect()
    }
}

/// Where the published samples are.
fn samples() -> PathBuf {
    if let Some(samples) = std::env::var_os("FIRSTLIGHT_SAMPLES") {
        return PathBuf::from(samples);
    }
    let [near, far] = SAMPLES.map(|s| root().join(s));
    if far.is_dir() && !near.is_dir() {
        far
    } else {
        near
    }
}

pub fn run(args: &[String]) -> Result<()> {
    let cases = match args.first() {
        Some(folder) => PathBuf::from(folder),
        None => samples().join("strangers"),
    };
    if !cases.is_dir() {
        println!(
            "skipped: there are no cases in {}; give a folder, or set FIRSTLIGHT_SAMPLES",
            cases.display()
        );
        return Ok(());
    }
    let program = match std::env::var_os("FIRSTLIGHT") {
        Some(program) => PathBuf::from(program),
        None => {
            // What is said is the same in every profile, and this one builds in a tenth of the time.
            step("cargo", &["build", "--bin", "firstlight", "--locked"], &[])?;
            root().join("target/debug/firstlight")
        }
    };
    let mut folders: Vec<PathBuf> = std::fs::read_dir(&cases)?
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.join("case.json").is_file())
        .collect();
    folders.sort();
    let rows: Result<Vec<Option<Row>>> = folders.iter().map(|f| case(f, &program)).collect();
    let rows: Vec<Row> = rows?.into_iter().flatten().collect();
    print(&rows);
    Ok(())
}

/// Asks the program about one case; `None` for a control, which has no cure.
fn case(folder: &Path, program: &Path) -> Result<Option<Row>> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let text = std::fs::read_to_string(folder.join("case.json"))?;
    let case: Value = serde_json::from_str(&text).with_context(|| name.to_string())?;
    let cure = &case["cure"];
    let real = case["saving_s"].as_f64().filter(|s| *s > 0.0);
    let (Some(real), true) = (real, cure["control"].is_null()) else {
        return Ok(None);
    };
    let (main, any) = (pattern(&cure["match"])?, pattern(&cure["match_any"])?);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder.join("before"))?
        .flatten()
        .map(|e| e.path())
        .collect();
    files.sort();
    let output = Command::new(program)
        .args(["advise", "--json"])
        .args(&files)
        .output()
        .with_context(|| program.display().to_string())?;
    let advice: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    let findings = advice.as_ref().and_then(|a| a["findings"].as_array());
    let findings: Vec<&Value> = findings.into_iter().flatten().collect();
    let says = |finding: &Value, pattern: &Regex| {
        let names = finding["names"].as_array().into_iter().flatten();
        let mut words = names
            .chain([&finding["title"], &finding["treatment"]])
            .filter_map(Value::as_str);
        words.any(|w| pattern.is_match(w.as_bytes()))
    };
    let place = |at: usize| at + 1;
    let named: Vec<usize> = (0..findings.len())
        .filter(|at| says(findings[*at], &any))
        .collect();
    let first = (0..findings.len())
        .find(|at| says(findings[*at], &main))
        .map(place);
    let harmful = match cure["harmful"].as_str() {
        Some(text) => {
            let harm = regex(text)?;
            let above = first.map_or(findings.len(), |f| f - 1);
            let treatments = findings[..above]
                .iter()
                .filter_map(|f| f["treatment"].as_str());
            treatments.into_iter().any(|t| harm.is_match(t.as_bytes()))
        }
        None => false,
    };
    let seconds = |value: &Value| value.as_f64().unwrap_or(0.0) / 1e9;
    let sum = |of: &dyn Fn(&Value) -> f64| named.iter().map(|at| of(findings[*at])).sum();
    Ok(Some(Row {
        name: name.into_owned(),
        read: advice.is_some(),
        first,
        harmful,
        real,
        expected: sum(&|f| seconds(&f["saving_ns"])),
        range: (
            sum(&|f| seconds(&f["saving_range_ns"][0])),
            sum(&|f| seconds(&f["saving_range_ns"][1])),
        ),
        named: named.into_iter().map(place).collect(),
    }))
}

fn pattern(text: &Value) -> Result<Regex> {
    let text = text
        .as_str()
        .context("a case without a pattern of its cure")?;
    regex(text)
}

fn regex(text: &str) -> Result<Regex> {
    let mut builder = RegexBuilder::new(text);
    Ok(builder.unicode(false).case_insensitive(true).build()?)
}

fn print(rows: &[Row]) {
    println!(
        "{:<34} {:>5} {:>10} {:>10} {:>21}  misses",
        "case", "place", "real s", "expected s", "range s"
    );
    for row in rows {
        let place = row.first.map_or_else(|| "-".to_owned(), |p| p.to_string());
        let range = format!("{:.3} to {:.3}", row.range.0, row.range.1);
        println!(
            "{:<34} {place:>5} {:>10.3} {:>10.3} {range:>21}  {}",
            row.name,
            row.real,
            row.expected,
            row.misses().join(", "),
        );
    }
    println!();
    for line in score(rows) {
        println!("{line}");
    }
}

/// The score, one line for each goal.
fn score(rows: &[Row]) -> Vec<String> {
    let named: Vec<&Row> = rows.iter().filter(|r| !r.named.is_empty()).collect();
    let count = |wanted: &dyn Fn(&Row) -> bool| rows.iter().filter(|r| wanted(r)).count();
    let share = |what: &str, met: usize, of: usize, least: usize| {
        let verdict = if met * 100 >= of * least {
            "met"
        } else {
            "missed"
        };
        format!("{what:<48} {met:>4} of {of:<4} goal {least} %: {verdict}")
    };
    let middle = |what: &str, value: f64, most: f64| {
        let verdict = if value <= most { "met" } else { "missed" };
        format!("{what:<48} {value:>12.2} goal {most}: {verdict}")
    };
    let all = rows.len();
    let top = |r: &Row| r.first.is_some_and(|p| p <= TOP);
    vec![
        share("read", count(&|r| r.read), all, 100),
        share(
            "the cure among the first three findings",
            count(&top),
            all,
            80,
        ),
        share("the cure named at all", named.len(), all, 95),
        share(
            "no harmful advice above it",
            count(&|r| !r.harmful),
            all,
            100,
        ),
        share(
            "the real saving in the range",
            named.iter().filter(|r| r.in_range()).count(),
            named.len(),
            90,
        ),
        middle(
            "median error of the expected saving",
            median(named.iter().map(|r| r.error()).collect()),
            ERROR,
        ),
        middle(
            "median width of the range / expected saving",
            median(named.iter().map(|r| r.width()).collect()),
            1.0,
        ),
    ]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, median, score};

    #[test]
    fn a_saving_is_judged_by_its_range_and_its_error() {
        let row = |real, range| Row {
            name: String::new(),
            read: true,
            named: vec![1],
            first: Some(1),
            harmful: false,
            real,
            expected: 2.0,
            range,
        };
        assert!(row(1.0, (0.5, 1.5)).in_range());
        assert!(row(1.52, (0.5, 1.5)).in_range());
        assert!(!row(1.6, (0.5, 1.5)).in_range());
        assert!((row(4.0, (0.0, 0.0)).error() - 0.5).abs() < 1e-9);
        assert!((median(vec![3.0, 1.0]) - 2.0).abs() < 1e-9);
        assert!((median(vec![5.0, 1.0, 3.0]) - 3.0).abs() < 1e-9);

        assert!(row(2.0, (1.5, 2.5)).misses().is_empty());
        assert_eq!(
            row(9.0, (1.0, 8.0)).misses(),
            ["outside the range", "expected saving off", "range too wide"]
        );
        let unnamed = Row {
            named: vec![],
            first: None,
            ..row(2.0, (0.0, 0.0))
        };
        assert_eq!(unnamed.misses(), ["not named"]);
        let late = Row {
            first: Some(4),
            ..row(2.0, (1.5, 2.5))
        };
        assert_eq!(late.misses(), ["not among the first three"]);
        let lines = score(&[row(2.0, (1.5, 2.5)), unnamed]);
        assert!(lines[0].ends_with("2 of 2    goal 100 %: met"), "{lines:?}");
        assert!(
            lines[1].ends_with("1 of 2    goal 80 %: missed"),
            "{lines:?}"
        );
        assert!(lines[5].ends_with("0.00 goal 0.25: met"), "{lines:?}");
    }
}
