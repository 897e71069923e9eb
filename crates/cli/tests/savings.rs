//! What no finding of any input may say: more than the boot took, a range out of order, or a
//! measured saving where nothing has a time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Scratch, firstlight, workspace};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The JSON of a verb; `None` if it refuses the input.
fn ask(verb: &str, file: &str) -> Option<Value> {
    let output = firstlight(&[verb, "--json", file]);
    serde_json::from_slice(&output.stdout).ok()
}

/// The files below a folder, without what is expected of them.
fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap();
    for path in entries.map(|e| e.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true => files(&path, into),
            false if name.ends_with("expected") || name.ends_with(".md") => {}
            false => into.push(path),
        }
    }
}

/// Of one finding: the least, the expected and the most that it saves.
fn saving(finding: &Value) -> Option<(i64, i64, i64)> {
    let range = finding["saving_range_ns"].as_array()?;
    Some((
        range[0].as_i64()?,
        finding["saving_ns"].as_i64()?,
        range[1].as_i64()?,
    ))
}

#[test]
fn no_finding_saves_more_than_the_boot_took() {
    let corpus = workspace().join("corpus");
    let mut all = Vec::new();
    for folder in [
        "bootchart",
        "bootstage",
        "captures",
        "console",
        "kernel-log",
        "systemd",
    ] {
        files(&corpus.join(folder), &mut all);
    }
    for folder in [
        "cbmem",
        "cloud-init",
        "loader-console",
        "openrc",
        "serial",
        "strace",
        "systemd-bootchart",
        "ti-report",
    ] {
        files(&corpus.join(folder), &mut all);
    }
    all.sort();
    let mut judged = 0;
    for path in &all {
        let file = path.to_str().unwrap();
        let (Some(advice), Some(shown)) = (ask("advise", file), ask("show", file)) else {
            continue;
        };
        let phases = shown["phases"].as_array().unwrap();
        let start = phases.first().and_then(|p| p["start_ns"].as_i64());
        let end = phases.last().and_then(|p| p["end_ns"].as_i64());
        // Without a clock there is no boot to compare with, and nothing was measured.
        let length = end.zip(start).map(|(end, start)| end - start.min(0));
        let last = shown["last_ns"].as_i64().unwrap();
        for finding in advice["findings"].as_array().unwrap() {
            let id = finding["id"].as_str().unwrap();
            let Some((least, expected, most)) = saving(finding) else {
                continue;
            };
            judged += 1;
            assert!(
                0 <= least && least <= expected && expected <= most,
                "{file}, {id}: {least} {expected} {most}"
            );
            if let Some(length) = length {
                assert!(most <= length.max(last), "{file}, {id}: {most} of {length}");
            }
        }
    }
    assert!(judged > 40, "only {judged} findings");
}

#[test]
fn without_times_nothing_is_measured() {
    let logs = workspace().join("corpus/kernel-log");
    let mut all = Vec::new();
    files(&logs, &mut all);
    let scratch = Scratch::new();
    let mut judged = 0;
    for (number, path) in all.iter().enumerate() {
        let bytes = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        // What stands in brackets at the beginning of a line is its time.
        let bare: String = text
            .lines()
            .filter_map(|l| l.strip_prefix('[')?.split_once("] "))
            .map(|(_, words)| format!("{words}\n"))
            .collect();
        if bare.is_empty() {
            continue;
        }
        let file = scratch.file(&format!("{number}.log"), bare.as_bytes());
        let Some(advice) = ask("advise", &file) else {
            continue;
        };
        for finding in advice["findings"].as_array().unwrap() {
            judged += 1;
            let model = finding["model"].as_str().unwrap();
            // The kernel prints the duration of its calls in words, too.
            let in_words = ["initcall", "probe", "deferred"].iter().any(|w| {
                let evidence = finding["evidence"].as_array().unwrap().iter();
                evidence
                    .clone()
                    .any(|e| e["text"].as_str().unwrap().contains(w))
            });
            assert!(
                !model.starts_with("measured") || finding["saving_ns"].is_null() || in_words,
                "{}: {finding}",
                path.display()
            );
        }
    }
    assert!(judged > 0, "no findings without times");
}
