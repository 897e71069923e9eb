//! The long tests of boards: many faults, kills, and labgrid in an environment of its own.
//!
//! What cannot be installed is skipped, and said. Each test runs alone, and its time is
//! printed.

use crate::runner::{self, Summary};
use crate::{root, venv};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// The package that holds labgrid's places; it names the version of labgrid.
const PACKAGE: &str = "python/firstlight_labgrid";

/// The simulations draw millions of samples: without optimization that takes many minutes.
const OPTIMIZED: [&str; 2] = [
    "--config",
    "profile.dev.package.firstlight-analysis.opt-level=2",
];

/// Each package, and the test program or, without one, the library with the long tests.
const TESTS: [(&str, Option<&str>); 3] = [
    ("firstlight-analysis", None),
    ("firstlight", Some("board_long")),
    ("firstlight", Some("board_machine")),
];

/// Runs the tests that have one of `filter` in their names; all if it is empty.
///
/// # Errors
/// If cargo cannot be started.
pub fn test(filter: &[String]) -> Result<Summary> {
    let mut summary = Summary::default();
    let python = venv::with("board", PACKAGE);
    for (package, program) in TESTS {
        let run = |args: &[&str]| cargo_test(package, program, python.as_deref().ok(), args);
        let listed = run(&["--ignored", "--list"])?;
        if !listed.status.success() {
            eprintln!("{}", String::from_utf8_lossy(&listed.stderr));
            let failed = format!("board: {package}: the tests could not be built");
            summary.failed.push(failed);
            continue;
        }
        let listed = String::from_utf8_lossy(&listed.stdout);
        for name in listed.lines().filter_map(|l| l.strip_suffix(": test")) {
            if !filter.is_empty() && !filter.iter().any(|f| name.contains(f.as_str())) {
                continue;
            }
            let begun = Instant::now();
            let output = run(&["--ignored", "--exact", "--show-output", name])?;
            eprintln!("    {:>6.1} s  {name}", begun.elapsed().as_secs_f64());
            let said = String::from_utf8_lossy(&output.stdout);
            let of_test = runner::read("board", &said);
            if !output.status.success() {
                eprintln!("{said}\n{}", String::from_utf8_lossy(&output.stderr));
                if of_test.failed.is_empty() {
                    let failed = format!("board: {name}: {}", output.status);
                    summary.failed.push(failed);
                }
            }
            summary.add(of_test);
        }
    }
    if let Err(why) = python {
        summary.skipped.push(format!("board: labgrid: {why}"));
    }
    Ok(summary)
}

/// Runs the tests of a program of a package, with these arguments for the program.
fn cargo_test(
    package: &str,
    program: Option<&str>,
    python: Option<&Path>,
    args: &[&str],
) -> Result<Output> {
    let mut command = Command::new("cargo");
    command.args(["test", "--locked"]);
    match program {
        Some(program) => command.args(["--workspace", "--test", program]),
        None => command
            .args(["--package", package, "--lib"])
            .args(OPTIMIZED),
    };
    command
        .arg("--")
        .args(args)
        .current_dir(root())
        .stdin(Stdio::null());
    if let Some(python) = python {
        // The tests run in the folder of their package.
        let python = std::path::absolute(python).context("target/board")?;
        command.env("FIRSTLIGHT_LABGRID_PYTHON", python);
    }
    command.output().context("cargo could not be started")
}
