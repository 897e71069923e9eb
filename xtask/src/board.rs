//! The long tests of boards: many faults, kills, and labgrid in an environment of its own.
//!
//! What cannot be installed is skipped, and said.

use crate::runner::{self, Summary};
use crate::{root, step};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::{Command, Stdio};

/// The package that holds labgrid's places; it names the version of labgrid.
const PACKAGE: &str = "python/firstlight_labgrid";

/// Each package, and the test program or, without one, the library with the long tests.
const TESTS: [(&str, Option<&str>); 2] = [
    ("firstlight-analysis", None),
    ("firstlight", Some("board_long")),
];

/// Runs the tests that have one of `filter` in their names; all if it is empty.
///
/// # Errors
/// If the program cannot be built.
pub fn test(filter: &[String]) -> Result<Summary> {
    let mut summary = Summary::default();
    let venv = root().join("target/board/venv");
    let python = venv.join("bin/python");
    let installed = (python.is_file() || quiet("python3", &["-m", "venv", &text(&venv)]))
        && quiet(
            &text(&python),
            &[
                "-m",
                "pip",
                "install",
                "--quiet",
                &text(&root().join(PACKAGE)),
            ],
        );
    let build = [
        "build",
        "--locked",
        "--package",
        "firstlight",
        "--bin",
        "firstlight",
    ];
    step("cargo", &build, &[])?;
    for (package, program) in TESTS {
        let mut command = Command::new("cargo");
        command.args(["test", "--locked", "--package", package]);
        match program {
            Some(program) => command.args(["--test", program]),
            None => command.arg("--lib"),
        };
        command
            .args(["--", "--ignored", "--test-threads=1", "--show-output"])
            .args(filter)
            .current_dir(root())
            .stdin(Stdio::null());
        if installed {
            // The tests run in the folder of their package.
            let python = std::path::absolute(&python).context("target/board")?;
            command.env("FIRSTLIGHT_LABGRID_PYTHON", python);
        }
        let output = command.output().context("cargo could not be started")?;
        let said = String::from_utf8_lossy(&output.stdout);
        let of_program = runner::read("board", &said);
        if !output.status.success() {
            eprintln!("{said}\n{}", String::from_utf8_lossy(&output.stderr));
            if of_program.failed.is_empty() {
                summary
                    .failed
                    .push(format!("board: {package}: {}", output.status));
            }
        }
        summary.add(of_program);
    }
    if !installed {
        let why = "board: labgrid: pip cannot install it: no network, or no python3-venv";
        summary.skipped.push(why.to_owned());
    }
    Ok(summary)
}

/// Runs a program; whether it did its work.
fn quiet(program: &str, args: &[&str]) -> bool {
    let status = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|s| s.success())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
