//! What `lab classics` wrote: published results, each beside what it is here.

use anyhow::{Context, Result, bail};
use inspect::experiment::{MOST_BYTES, RESULT};
use serde::Deserialize;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use views::{Classic, ClassicResult, ClassicValue};

/// What such a result says of itself.
const SCHEMA: &str = "firstlight.classics.result/1";

#[derive(Deserialize)]
struct Schema {
    schema: String,
}

/// `firstlight.classics.result/1`.
#[derive(Deserialize)]
struct Stored {
    id: String,
    title: String,
    source: String,
    machine: String,
    here: String,
    why: String,
    values: Vec<Value>,
    failures: Vec<String>,
}

#[derive(Deserialize)]
struct Value {
    name: String,
    published_ns: Option<i64>,
    measured_ns: Option<i64>,
    published_ratio: Option<f64>,
    measured_ratio: Option<f64>,
    basis: Option<String>,
    partial: Option<String>,
}

/// Whether a folder holds one published result.
#[cfg(feature = "serve")]
pub fn is_result(dir: &Path) -> bool {
    text(dir).is_ok_and(|text| text.is_some_and(|text| is_one(&text)))
}

/// The published results in a folder: its own, or one in each of its folders.
/// `None`: it holds none.
pub fn read(dir: &Path) -> Result<Option<Vec<ClassicResult>>> {
    if let Some(own) = text(dir)? {
        return match is_one(&own) {
            true => Ok(Some(vec![result(dir, &own)?])),
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
            results.push(result(&folder, &text)?);
        }
    }
    Ok(Some(results).filter(|r| !r.is_empty()))
}

fn is_one(text: &str) -> bool {
    serde_json::from_str::<Schema>(text).is_ok_and(|s| s.schema == SCHEMA)
}

/// The text of a folder's result; `None` if there is none.
fn text(dir: &Path) -> Result<Option<String>> {
    let path = dir.join(RESULT);
    if !path.is_file() {
        return Ok(None);
    }
    let mut text = String::new();
    let file = File::open(&path).and_then(|f| f.take(MOST_BYTES).read_to_string(&mut text));
    file.with_context(|| format!("{}: cannot be read", path.display()))?;
    Ok(Some(text))
}

fn result(dir: &Path, text: &str) -> Result<ClassicResult> {
    let shown = dir.join(RESULT).display().to_string();
    let stored: Stored = serde_json::from_str(text)
        .with_context(|| format!("{shown}: not what `firstlight lab classics` writes"))?;
    if stored.values.is_empty() {
        bail!("{shown}: holds no figure; run the result again");
    }
    let values = stored.values.into_iter().map(|v| ClassicValue {
        name: v.name,
        published_ms: v.published_ns.map(|ns| ns as f64 / 1e6),
        measured_ns: v.measured_ns,
        published_ratio: v.published_ratio,
        measured_ratio: v.measured_ratio,
        basis: v.basis,
        partial: v.partial,
    });
    let values: Vec<ClassicValue> = values.collect();
    Ok(ClassicResult {
        classic: Classic {
            id: stored.id,
            title: stored.title,
            source: stored.source,
            here: stored.here,
            why: stored.why,
            published: values
                .iter()
                .filter_map(|v| Some((v.name.clone(), v.published_ms?)))
                .collect(),
            missing: Vec::new(),
        },
        machine: stored.machine,
        values,
        failures: stored.failures,
    })
}
