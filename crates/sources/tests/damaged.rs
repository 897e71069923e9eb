//! Every source on inputs that are cut short, that have a bit changed, or whose
//! bytes stand the other way round: nothing panics, and every unit is counted.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking"
)]

mod common;

use common::{assert_conserved, read, workspace};
use firstlight_sources::{SOURCES, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// How many cuts, and how many changed bits, each input gets.
const PLACES: usize = 200;

/// Inputs that are longer are shortened: what a source does begins early.
const MOST_BYTES: usize = 48 << 10;

/// What the corpus has no file of: systemd's answers, from a live system only.
const ANSWERS: [&str; 2] = [
    r#"{"firstlight_systemd_dbus": 1}
{"path": "/org/freedesktop/systemd1", "interface": "org.freedesktop.systemd1.Manager", "properties": {"UserspaceTimestampMonotonic": {"type": "t", "data": 1000000}, "FinishTimestampMonotonic": {"type": "t", "data": 9000000}}}
{"path": "/org/freedesktop/systemd1/unit/ssh_2eservice", "interface": "org.freedesktop.systemd1.Unit", "properties": {"Id": {"type": "s", "data": "ssh.service"}, "After": {"type": "as", "data": ["basic.target"]}, "InactiveExitTimestampMonotonic": {"type": "t", "data": 2300000}, "ActiveEnterTimestampMonotonic": {"type": "t", "data": 2345678}}}
"#,
    r#"{"__CURSOR":"s=0","_BOOT_ID":"0f","_PID":"1","__MONOTONIC_TIMESTAMP":"2300100","_SOURCE_MONOTONIC_TIMESTAMP":"2300000","MESSAGE_ID":"7d4958e842da4a758f6c1cdc7b36dcc5","UNIT":"ssh.service","MESSAGE":"Starting ssh.service"}
{"__CURSOR":"s=1","_BOOT_ID":"0f","_PID":"1","__MONOTONIC_TIMESTAMP":"2345800","_SOURCE_MONOTONIC_TIMESTAMP":"2345678","MESSAGE_ID":"39f53479d3a045ac8e11786248231fbf","UNIT":"ssh.service","MESSAGE":"Started ssh.service"}
"#,
];

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let aside = |e: &std::ffi::OsStr| e == "expected" || e == "zst" || e == "md";
        if path.is_dir() {
            files(&path, all);
        } else if path.extension().is_none_or(|e| !aside(e)) {
            all.push(path);
        }
    }
}

/// The corpus by the sources that know it best: for each the two smallest inputs.
fn inputs() -> BTreeMap<&'static str, Vec<(PathBuf, Vec<u8>)>> {
    let mut paths = Vec::new();
    files(&workspace().join("corpus"), &mut paths);
    let mut all: BTreeMap<&'static str, Vec<(PathBuf, Vec<u8>)>> = BTreeMap::new();
    let files = paths.into_iter().map(|path| {
        let bytes = std::fs::read(&path).unwrap();
        (path, bytes)
    });
    let answers = ANSWERS.map(|text| (PathBuf::new(), text.as_bytes().to_vec()));
    for (path, bytes) in files.chain(answers) {
        if let Some(source) = firstlight_sources::sniff(&bytes) {
            all.entry(source.name()).or_default().push((path, bytes));
        }
    }
    for of_source in all.values_mut() {
        of_source.sort_by_key(|(path, bytes)| (bytes.len(), path.clone()));
        of_source.truncate(2);
    }
    all
}

/// What is done to each input of each source.
fn each(what: impl Fn(&dyn Source, &[u8])) {
    for (name, inputs) in inputs() {
        let source = firstlight_sources::named(name).unwrap();
        for (_, bytes) in inputs {
            let bytes = bytes.get(..MOST_BYTES).unwrap_or(&bytes);
            what(source, bytes);
        }
    }
}

#[test]
fn the_corpus_has_an_input_of_every_source() {
    let inputs = inputs();
    let missing: BTreeSet<&str> = SOURCES
        .iter()
        .map(|s| s.name())
        .filter(|name| !inputs.contains_key(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn cut_at_two_hundred_places() {
    each(|source, bytes| {
        for i in 0..PLACES {
            let cut = bytes.len() * i / PLACES;
            assert_conserved(&read(source, &bytes[..cut]));
        }
    });
}

#[test]
fn a_bit_changed_at_two_hundred_places() {
    each(|source, bytes| {
        for i in 0..PLACES {
            let mut bytes = bytes.to_vec();
            let at = bytes.len() * i / PLACES;
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << (i % 8);
            }
            assert_conserved(&read(source, &bytes));
        }
    });
}

/// Numbers the other way round: as a file of a machine of the other byte order, that
/// says it is of this one, and as counts and lengths that are absurd.
#[test]
fn the_bytes_of_numbers_the_other_way_round() {
    each(|source, bytes| {
        for width in [2, 4, 8] {
            // All of it, and all but what the file is known by.
            for from in [0, 8, 64] {
                let mut bytes = bytes.to_vec();
                for number in bytes.get_mut(from..).unwrap_or_default().chunks_mut(width) {
                    number.reverse();
                }
                assert_conserved(&read(source, &bytes));
            }
        }
        for (at, value) in (0..bytes.len().min(4096)).step_by(37).zip(0_u8..) {
            let mut bytes = bytes.to_vec();
            let fill = if value % 2 == 0 { 0xff } else { 0x7f };
            let end = (at + 4).min(bytes.len());
            bytes[at..end].fill(fill);
            assert_conserved(&read(source, &bytes));
        }
    });
}
