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

/// Where the cases lie, beside the project.
const CASES: &str = "../shared/samples/strangers";

/// Numbers are published with few digits.
const ROUNDING: f64 = 0.02;

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
}

pub fn run(args: &[String]) -> Result<()> {
    let cases = match args.first() {
        Some(folder) => PathBuf::from(folder),
        // A worktree lies one folder deeper.
        None => [root().join(CASES), root().join("..").join(CASES)]
            .into_iter()
            .find(|p| p.is_dir())
            .unwrap_or_else(|| root().join(CASES)),
    };
    if !cases.is_dir() {
        println!("skipped: there are no cases in {}", cases.display());
        return Ok(());
    }
    let program = match std::env::var_os("FIRSTLIGHT") {
        Some(program) => PathBuf::from(program),
        None => {
            step(
                "cargo",
                &["build", "--release", "--bin", "firstlight", "--locked"],
                &[],
            )?;
            root().join("target/release/firstlight")
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
        "{:<34} {:>4} {:>5} {:>10} {:>10} {:>21}  in range",
        "case", "read", "place", "real s", "expected s", "range s"
    );
    for row in rows {
        let place = row.first.map_or_else(|| "-".to_owned(), |p| p.to_string());
        let read = if row.read { "yes" } else { "no" };
        let fits = match (row.named.is_empty(), row.in_range()) {
            (true, _) => "-",
            (false, true) => "yes",
            (false, false) => "no",
        };
        let range = format!("{:.3} to {:.3}", row.range.0, row.range.1);
        println!(
            "{:<34} {read:>4} {place:>5} {:>10.3} {:>10.3} {range:>21}  {fits}{}",
            row.name,
            row.real,
            row.expected,
            if row.harmful {
                "  harmful advice above the cure"
            } else {
                ""
            },
        );
    }
    let named: Vec<&Row> = rows.iter().filter(|r| !r.named.is_empty()).collect();
    let count = |wanted: &dyn Fn(&Row) -> bool| rows.iter().filter(|r| wanted(r)).count();
    println!(
        "\n{} cases: {} read, the cure among the first three findings in {}, named at all in {}, \
         harmful advice above it in {}",
        rows.len(),
        count(&|r| r.read),
        count(&|r| r.first.is_some_and(|p| p <= 3)),
        named.len(),
        count(&|r| r.harmful),
    );
    println!(
        "the real saving is in the range in {} of {}; median error of the expected saving {:.0} %; \
         median width of the range {:.2} x the expected saving",
        named.iter().filter(|r| r.in_range()).count(),
        named.len(),
        100.0 * median(named.iter().map(|r| r.error()).collect()),
        median(
            named
                .iter()
                .map(|r| (r.range.1 - r.range.0) / r.expected)
                .collect()
        ),
    );
    println!("goals: all read, 80 %, 95 %, none; 90 %; 25 %; 1.00");
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
    use super::{Row, median};

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
    }
}
