//! Several boots, as they are named on the command line.

use crate::args::Reading;
use crate::input;
use agent::capture::MANIFEST;
use analysis::BootTimes;
use anyhow::{Context, Result, bail};
use inspect::table;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// How far below a folder captures are looked for: `VARIANT/PERTURBATION/capture`.
const DEPTH: usize = 3;

/// What each trial of the lab has in its folder.
const TRIAL: &str = "trial.json";

/// The most captures that are taken of a folder.
const MOST: usize = 10_000;

/// The boots of all `paths`; without any, this machine's last one.
pub fn of(paths: &[PathBuf], reading: &Reading) -> Result<Vec<BootTimes>> {
    if paths.is_empty() {
        let record = input::boot(paths, reading)?;
        return Ok(vec![BootTimes::of(&record, &reading.options())]);
    }
    let mut all = Vec::new();
    for path in paths {
        all.extend(of_path(path, reading)?);
    }
    Ok(all)
}

fn of_path(path: &Path, reading: &Reading) -> Result<Vec<BootTimes>> {
    if table::is_one(path) {
        let read = table::read(path)?;
        if !read.left_out.is_empty() {
            let left_out = read.left_out.join(", ");
            anstream::eprintln!("firstlight: {}: no times: {left_out}", path.display());
        }
        return Ok(read.boots);
    }
    let mut captures = Vec::new();
    if path.is_dir() && !path.join(MANIFEST).is_file() {
        several_variants(path)?;
        below(path, DEPTH, &mut captures)?;
        captures.sort_by_cached_key(|p| numbered(p));
    }
    if captures.len() > MOST {
        let shown = path.display();
        bail!("{shown}: has more than {MOST} captures; name some of them");
    }
    // A capture, a raw file, or a folder with the logs of one boot.
    if captures.is_empty() {
        captures.push(path.to_owned());
    }
    let boot = |path: PathBuf| -> Result<BootTimes> {
        // A trial that left no capture has no times, and is a boot.
        if path.join(TRIAL).is_file() {
            return Ok(BootTimes::default());
        }
        let record = input::boot(&[path], reading)?;
        Ok(BootTimes::of(&record, &reading.options()))
    };
    captures.into_iter().map(boot).collect()
}

/// Boots of several variants are no boots of one system.
fn several_variants(folder: &Path) -> Result<()> {
    let shown = folder.display();
    let is_run = |f: &Path| f.join("trials.jsonl").is_file();
    let trials = match folder.file_name() {
        _ if is_run(folder) => folder.join("trials"),
        Some(name) if name == "trials" && folder.parent().is_some_and(is_run) => folder.to_owned(),
        _ => return Ok(()),
    };
    let mut names = entries(&trials)?;
    names.retain(|path| path.is_dir());
    let names: Vec<_> = names.iter().filter_map(|p| p.file_name()).collect();
    let names: Vec<_> = names.iter().map(|n| n.to_string_lossy()).collect();
    match names.as_slice() {
        [] | [_] => Ok(()),
        [first, ..] => bail!(
            "{shown}: has {} variants; name the folder of one, such as {}",
            names.len(),
            trials.join(&**first).display()
        ),
    }
}

/// The captures in `folder` and below.
fn below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    for path in entries(folder)? {
        if found.len() > MOST {
            break;
        }
        let has_none = path.join(TRIAL).is_file() && !path.join("capture").is_dir();
        let is_packed = path.extension().is_some_and(|e| e == "tar" || e == "zst");
        if has_none || path.join(MANIFEST).is_file() || (is_packed && path.is_file()) {
            found.push(path);
        } else if depth > 0 && path.is_dir() && !path.is_symlink() {
            below(&path, depth - 1, found)?;
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let shown = folder.display();
    let entries = std::fs::read_dir(folder).with_context(|| format!("{shown}: cannot be read"))?;
    let mut all: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    all.sort();
    Ok(all)
}

/// A path's parts, of which those that are numbers stand by their value.
fn numbered(path: &Path) -> Vec<(u64, String)> {
    let part = |p: &OsStr| {
        let text = p.to_string_lossy().into_owned();
        (text.parse().unwrap_or(u64::MAX), text)
    };
    path.iter().map(part).collect()
}
