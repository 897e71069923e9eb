//! `./x bench history`: change points in simulated histories, and Apache Otava on the same
//! series, where pip can install it.

use crate::{root, step};
use anyhow::Result;
use std::process::Command;

/// How many histories of each kind, and how many of them Otava is given: it needs a second
/// for a few.
const HISTORIES: &str = "1000";
const BESIDE: &str = "60";

pub fn run() -> Result<()> {
    let example = ["--package", "firstlight-analysis", "--example", "histories"];
    let build = [&["build", "--release", "--locked"][..], &example].concat();
    step("cargo", &build, &[])?;
    let program = root().join("target/release/examples/histories");
    let run = |args: &[&str]| step(&program.to_string_lossy(), args, &[]);
    run(&[HISTORIES])?;
    run(&["places", BESIDE])?;
    run(&["lengths", BESIDE])?;
    run(&["online", BESIDE])?;
    let folder = root().join("target/bench/history");
    let series = folder.join("series");
    std::fs::create_dir_all(&series)?;
    run(&["write", &series.to_string_lossy(), BESIDE])?;
    // Both on the same tables.
    run(&[BESIDE])?;
    let python = folder.join("venv/bin/python");
    if !python.exists() {
        let venv = folder.join("venv");
        let made = Command::new("python3")
            .args(["-m", "venv"])
            .arg(&venv)
            .status();
        let pip = Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "apache-otava"])
            .status();
        let is_there = |s: std::io::Result<std::process::ExitStatus>| s.is_ok_and(|s| s.success());
        if !is_there(made) || !is_there(pip) {
            println!("skipped: Apache Otava (pip could not install it)");
            return Ok(());
        }
    }
    let script = root().join("xtask/src/bench/beside_otava.py");
    let args = [script.to_string_lossy(), series.to_string_lossy()];
    step(
        &python.to_string_lossy(),
        &[&args[0], &args[1], BESIDE],
        &[],
    )
}
