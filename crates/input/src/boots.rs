//! Several boots, as they are named on the command line.

use crate::error::{On, Result, refuse};
use crate::looks::Looks;
use crate::{Input, Reading, STDIN, Say, say_left_out};
use agent::capture::MANIFEST;
use analysis::BootTimes;
use inspect::table;
use sources::SNIFF_BYTES;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{Read, Seek};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// How far below a folder captures are looked for: `VARIANT/PERTURBATION/capture`.
const DEPTH: usize = 3;

/// What each trial of the lab has in its folder.
const TRIAL: &str = "trial.json";
/// Its folder with the evidence.
const CAPTURE: &str = "capture";

/// The most captures that are taken of a folder.
const MOST: usize = 10_000;

/// The boots of all `paths`; without any, this machine's last one.
///
/// # Errors
/// One of them cannot be read.
pub fn of(paths: &[PathBuf], reading: &Reading, say: &Say) -> Result<Vec<BootTimes>> {
    if paths.is_empty() {
        let record = crate::boot::boot(paths, reading, say)?;
        return Ok(vec![BootTimes::of(&record, &reading.options())]);
    }
    let mut all = Vec::new();
    for path in paths {
        all.extend(of_path(path, reading, say)?);
    }
    Ok(all)
}

/// The boots on standard input: a table, or what any other file may be.
fn of_standard_input(reading: &Reading, say: &Say) -> Result<Vec<BootTimes>> {
    let (mut file, shown) = crate::file(Path::new(STDIN))?;
    let mut head = Vec::new();
    Read::by_ref(&mut file)
        .take(SNIFF_BYTES as u64)
        .read_to_end(&mut head)
        .on(|| format!("{}: cannot be read", shown.display()))?;
    file.rewind()?;
    // A first line with several columns is that of a table.
    let first = head.split(|b| *b == b'\n').next().unwrap_or_default();
    let has_columns = first.iter().any(|b| b",;\t".contains(b));
    match Looks::of(&head) {
        Looks::Unknown if has_columns || !first.contains(&b' ') => {
            let read = table::read_open(file, &shown.display().to_string())?;
            say_left_out(&shown, &table::left_out(&read, &[]), say);
            Ok(table::boots(&read))
        }
        _ => of_read(crate::read_named(file, &shown)?, reading),
    }
}

fn of_path(path: &Path, reading: &Reading, say: &Say) -> Result<Vec<BootTimes>> {
    if path == Path::new(STDIN) {
        return of_standard_input(reading, say);
    }
    if table::is_one(path) {
        let read = table::read(path)?;
        say_left_out(path, &table::left_out(&read, &[]), say);
        return Ok(table::boots(&read));
    }
    let mut captures = Vec::new();
    if path.is_dir() && !path.join(MANIFEST).is_file() {
        several_variants(path)?;
        below(path, DEPTH, &mut captures)?;
        captures.sort_by_cached_key(|p| numbered(p));
    }
    if captures.len() > MOST {
        let shown = path.display();
        refuse!("{shown}: has more than {MOST} captures; name some of them");
    }
    // A capture, a raw file, or a folder with the logs of one boot.
    if captures.is_empty() {
        if path.is_dir() && !path.join(MANIFEST).is_file() {
            return of_logs(path, reading, say);
        }
        captures.push(path.to_owned());
    }
    let boot = |path: PathBuf| -> Result<Vec<BootTimes>> {
        // A trial that left no capture, or failed, has no times, and is a boot.
        if path.join(TRIAL).is_file() || is_of_failed_trial(&path) {
            return Ok(vec![BootTimes::default()]);
        }
        of_input(&path, reading)
    };
    let all = captures.into_iter().map(boot);
    let all: Vec<Vec<BootTimes>> = all.collect::<Result<_>>()?;
    Ok(all.into_iter().flatten().collect())
}

/// Whether this is the capture of a trial that failed: where it was stopped says nothing.
fn is_of_failed_trial(capture: &Path) -> bool {
    let trial = capture.parent().map(|folder| folder.join(TRIAL));
    let bytes = trial
        .filter(|_| capture.file_name() == Some(OsStr::new(CAPTURE)))
        .and_then(|path| std::fs::read(path).ok());
    let trial: Option<serde_json::Value> = bytes.and_then(|b| serde_json::from_slice(&b).ok());
    trial.is_some_and(|t| t.get("failure").is_some_and(serde_json::Value::is_object))
}

/// The boots of a capture or a raw file: a log may hold several, one after the other.
fn of_input(path: &Path, reading: &Reading) -> Result<Vec<BootTimes>> {
    of_read(crate::read(path)?, reading)
}

fn of_read(input: Input, reading: &Reading) -> Result<Vec<BootTimes>> {
    let inputs = [input];
    let count = crate::several::boots(&inputs[0]);
    let chosen: Vec<Option<NonZeroUsize>> = match reading.boot {
        None if count > 1 => (1..=count).map(NonZeroUsize::new).collect(),
        boot => vec![boot],
    };
    let times = chosen.into_iter().map(|boot| {
        let reading = Reading {
            boot,
            ..reading.clone()
        };
        let record = crate::record_from(&inputs, &reading)?;
        Ok(BootTimes::of(&record, &reading.options()))
    });
    times.collect()
}

/// The boots of a folder of logs. They are of one boot if they can be; else files whose names
/// have the same number are (`run_1_time.txt`, `run_1_blame.txt`), if any can, else each file.
fn of_logs(folder: &Path, reading: &Reading, say: &Say) -> Result<Vec<BootTimes>> {
    let of = |paths: &[PathBuf]| -> Result<Vec<BootTimes>> {
        match paths {
            [one] => of_input(one, reading),
            _ => {
                let record = crate::boot::boot(paths, reading, say)?;
                Ok(vec![BootTimes::of(&record, &reading.options())])
            }
        }
    };
    let files = crate::folder::files(folder, say)?;
    if is_one(&files)
        && let Ok(all) = of(&files)
    {
        return Ok(all);
    }
    let mut groups: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    for file in &files {
        if let Some(number) = number(file) {
            groups.entry(number).or_default().push(file.clone());
        }
    }
    let numbered: usize = groups.values().map(Vec::len).sum();
    if numbered == files.len() && groups.values().all(|g| is_one(g)) {
        let all: Result<Vec<Vec<BootTimes>>> = groups.values().map(|g| of(g)).collect();
        if let Ok(all) = all {
            return Ok(all.into_iter().flatten().collect());
        }
    }
    let all: Result<Vec<Vec<BootTimes>>> = files.iter().map(|f| of_input(f, reading)).collect();
    Ok(all?.into_iter().flatten().collect())
}

/// Whether files can be the evidence of one boot, by their formats: of a log there is one.
fn is_one(files: &[PathBuf]) -> bool {
    const LOGS: [&str; 3] = ["kernel-log", "serial", "console"];
    let is_log = |f: &&PathBuf| match crate::read(f) {
        Ok(Input::Raw(raw)) => LOGS.contains(&raw.source.name()),
        _ => false,
    };
    files.iter().filter(is_log).count() <= 1
}

/// The first number in a file's name.
fn number(file: &Path) -> Option<u64> {
    let name = file.file_name()?.to_str()?;
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit());
    digits.get(..end.unwrap_or(digits.len()))?.parse().ok()
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
        [first, ..] => refuse!(
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
        let has_none = path.join(TRIAL).is_file() && !path.join(CAPTURE).is_dir();
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
    let entries = std::fs::read_dir(folder).on(|| format!("{shown}: cannot be read"))?;
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
