//! The interfaces of the published crates, against those of the last release.

use super::bench::{Bench, Outcome, has, skip};
use crate::release::quietly;
use anyhow::{Result, bail};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// What compares interfaces. No wheel has it, so it is compiled: ten minutes.
const VERSION: &str = "0.51.0";

/// A crate that asks for few others, so that it is soon compared.
const SMALL: (&str, &str) = ("firstlight-redact", "crates/redact/src/lib.rs");

/// A method of it, and the same under another name: a change that breaks its users.
const BREAK: (&str, &str) = ("pub fn counts(", "pub fn counted(");

/// Compares all published crates with the newest tag of a release. The first release has none
/// before it: then one crate is compared with the commit, with and without a change that
/// breaks it, so that the check is known to work when it is needed.
pub(super) fn check(bench: &Bench) -> Result<Outcome> {
    let Some(program) = program(bench) else {
        return skip("cargo-semver-checks cannot be compiled");
    };
    let tagged = quietly(
        Command::new("git")
            .current_dir(&bench.release.source)
            .args(["describe", "--tags", "--match", "v[0-9]*", "--abbrev=0"]),
    );
    let run = |source: &PathBuf, words: &[&str], revision: &str| {
        quietly(
            Command::new(&program)
                .current_dir(source)
                .args(["semver-checks", "--baseline-rev", revision])
                .args(words),
        )
    };
    if let Ok(tag) = tagged {
        let tag = String::from_utf8_lossy(&tag).trim().to_owned();
        let words = ["--workspace", "--exclude", "xtask"];
        return run(&bench.release.source, &words, &tag).map(|_| Outcome::Passed);
    }
    eprintln!("x: no release is tagged yet; one crate is compared with the commit");
    let work = tempfile::tempdir_in(&bench.kept)?;
    let source = work.path().join("source");
    quietly(
        Command::new("git")
            .args(["clone", "--quiet", "--shared"])
            .arg(&bench.release.source)
            .arg(&source),
    )?;
    let words = ["--package", SMALL.0];
    run(&source, &words, "HEAD")?;
    let file = source.join(SMALL.1);
    let text = fs::read_to_string(&file)?;
    let broken = text.replace(BREAK.0, BREAK.1);
    if broken == text {
        bail!("`{}` is not in {}", BREAK.0, SMALL.1);
    }
    fs::write(&file, broken)?;
    match run(&source, &words, "HEAD") {
        Ok(_) => bail!("a method without its old name is taken as compatible"),
        Err(why) if format!("{why:#}").contains("requires new major version") => {
            Ok(Outcome::Passed)
        }
        Err(why) => Err(why),
    }
}

/// The program: the one that is installed, else one that is compiled and kept.
fn program(bench: &Bench) -> Option<PathBuf> {
    let installed = PathBuf::from("cargo-semver-checks");
    if has("cargo-semver-checks") {
        return Some(installed);
    }
    let folder = bench.kept.join("semver");
    let own = folder.join("bin/cargo-semver-checks");
    let made = own.is_file()
        || quietly(
            Command::new("cargo")
                .args(["install", "cargo-semver-checks", "--locked", "--quiet"])
                .args(["--version", VERSION, "--root"])
                .arg(&folder),
        )
        .is_ok();
    made.then_some(own)
}
