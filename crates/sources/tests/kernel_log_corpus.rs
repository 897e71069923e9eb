//! The kernel logs of `corpus/kernel-log`, and what must come out of them.
//!
//! Each folder there is a case: `input`, `ABOUT` (where it comes from), and
//! `expected`, which FIRSTLIGHT_BLESS=1 rewrites.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

mod common;

use common::{assert_conserved, read, show, workspace};
use std::path::Path;

fn check(case: &Path) {
    let input = std::fs::read(case.join("input")).unwrap();
    let source =
        firstlight_sources::sniff(&input).unwrap_or_else(|| panic!("{case:?}: no source knows it"));
    assert_eq!(source.name(), "kernel-log", "{case:?}");
    let record = read(source, &input);
    assert_conserved(&record);
    let found = show(&record);
    let golden = case.join("expected");
    if std::env::var_os("FIRSTLIGHT_BLESS").is_some() {
        std::fs::write(&golden, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert!(
        found == expected,
        "{} differs (FIRSTLIGHT_BLESS=1 rewrites it); it is now:\n{found}",
        golden.display()
    );
    assert!(case.join("ABOUT").exists(), "{case:?} has no ABOUT");
}

#[test]
fn corpus() {
    let folder = workspace().join("corpus/kernel-log");
    let cases = std::fs::read_dir(&folder).unwrap();
    let mut cases: Vec<_> = cases.map(|c| c.unwrap().path()).collect();
    cases.sort();
    assert!(!cases.is_empty(), "{} is empty", folder.display());
    for case in cases {
        check(&case);
    }
}
