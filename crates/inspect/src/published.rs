//! What `lab classics` wrote: published results, each beside what it is here.

use crate::error::Error;
use crate::experiment::RESULT;
use crate::result;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What such a result says of itself.
const SCHEMA: &str = "firstlight.classics.result/1";

#[derive(Deserialize)]
struct Schema {
    schema: String,
}

/// A published result that was run here: `firstlight.classics.result/1`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Published {
    /// Its name.
    pub id: String,
    /// What was measured, in a line.
    pub title: String,
    /// Who published it, where and when.
    pub source: String,
    /// What it was run on.
    pub machine: String,
    /// How it is measured here.
    pub here: String,
    /// Why the figures here differ.
    pub why: String,
    /// Each published figure with the one here; at least one.
    pub values: Vec<Value>,
    /// Cases that never finished, in sentences.
    pub failures: Vec<String>,
    /// What made it, each by its SHA-256; empty: made before that was kept.
    #[serde(default)]
    pub made_by: BTreeMap<String, String>,
}

/// A published figure, and the one here.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Value {
    /// What was measured.
    pub name: String,
    /// As published, in nanoseconds.
    pub published_ns: Option<i64>,
    /// Here, in nanoseconds of virtual time.
    pub measured_ns: Option<i64>,
    /// The figures, if they are no times.
    pub count: Option<Count>,
    /// The published figure, relative to the first of its group.
    pub published_ratio: Option<f64>,
    /// The figure here, relative to the first of its group.
    pub measured_ratio: Option<f64>,
    /// `measured`, or `modeled` where a formula added a part.
    pub basis: Option<String>,
    /// In which way the published figure is not of the same thing.
    pub partial: Option<String>,
}

/// A figure that is no time.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Count {
    /// What it is counted in.
    pub unit: String,
    /// As published.
    pub published: Option<f64>,
    /// Here.
    pub measured: Option<f64>,
}

/// Whether a folder holds one published result.
#[must_use]
pub fn is_result(dir: &Path) -> bool {
    text(dir).is_ok_and(|text| text.is_some_and(|text| is_one(&text)))
}

/// The published results in a folder: its own, or one in each of its folders.
/// `None`: it holds none.
///
/// # Errors
/// One of them cannot be read, is none or has no figure.
pub fn read(dir: &Path) -> Result<Option<Vec<Published>>, Error> {
    if let Some(own) = text(dir)? {
        return match is_one(&own) {
            true => Ok(Some(vec![parsed(dir, &own)?])),
            false => Ok(None),
        };
    }
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Ok(None);
    };
    let mut folders: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    folders.sort();
    let mut results = Vec::new();
    for folder in folders {
        if let Some(text) = text(&folder)?.filter(|t| is_one(t)) {
            results.push(parsed(&folder, &text)?);
        }
    }
    Ok(Some(results).filter(|r| !r.is_empty()))
}

fn is_one(text: &str) -> bool {
    serde_json::from_str::<Schema>(text).is_ok_and(|s| s.schema == SCHEMA)
}

/// The text of a folder's result; `None` if there is none.
fn text(dir: &Path) -> Result<Option<String>, Error> {
    let path = dir.join(RESULT);
    path.is_file().then(|| result::text(&path)).transpose()
}

fn parsed(dir: &Path, text: &str) -> Result<Published, Error> {
    let shown = dir.join(RESULT).display().to_string();
    let stored: Published = serde_json::from_str(text).map_err(|e| {
        let why = format!("not what `firstlight lab classics` writes: {e}");
        Error::unusable(&shown, why)
    })?;
    if stored.values.is_empty() {
        return Err(Error::unusable(
            &shown,
            "holds no figure; run the result again",
        ));
    }
    Ok(stored)
}
