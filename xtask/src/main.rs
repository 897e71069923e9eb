//! The project's own chores, behind `./x`.
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command-line tool"
)]

mod bench;
mod board;
mod cluster;
mod coverage;
mod fleet;
mod fuzz;
mod gate;
mod oracles;
mod packages;
mod policy;
mod release;
mod runner;
mod site;
mod stages;
mod ui;
mod venv;

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("test") => stages::test(rest),
        Some("lint") => stages::lint(),
        Some("bless") => bless(),
        Some("bench") => bench::run(rest),
        Some("fuzz") => fuzz::run(rest),
        Some("coverage") => coverage::run(),
        Some("docs") => site::build(),
        Some("release") => release::run(rest),
        _ => bail!("say one of test, lint, bless, bench, fuzz, coverage, docs, release"),
    }
}

/// The folder that the workspace lies in.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs a command in the workspace, showing it first and its time afterwards.
fn step(program: &str, args: &[&str], envs: &[(&str, &str)]) -> Result<()> {
    let line = format!("{program} {}", args.join(" "));
    eprintln!("\n==> {line}");
    let begun = Instant::now();
    let status = Command::new(program)
        .args(args)
        .envs(envs.iter().copied())
        .current_dir(root())
        .status()
        .with_context(|| format!("{program} could not be started"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    eprintln!("    {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// The boots that the corpus keeps, as `experiments/corpus.toml` makes them:
/// (variant, name in the corpus).
const CORPUS: [(&str, &str); 2] = [("baseline", "v1-debian"), ("all", "v1-debian-all")];

fn bless() -> Result<()> {
    ui::build()?;
    step("cargo", &["build", "--release", "--bins", "--locked"], &[])?;
    let run = [
        "lab",
        "run",
        "experiments/corpus.toml",
        "--out",
        "target/corpus",
    ];
    step("target/release/firstlight", &run, &[])?;
    for (variant, name) in CORPUS {
        let from = format!("target/corpus/trials/{variant}/0/capture");
        let to = format!("corpus/captures/{name}.tar.zst");
        // The manifest first, and no trace of who packed it or when.
        let tar = [
            "--zstd",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--mtime=@0",
            "--sort=name",
            "--mode=a=r",
            "-cf",
            &to,
            "-C",
            &from,
            "manifest.json",
            "--exclude=./manifest.json",
            ".",
        ];
        step("tar", &tar, &[])?;
    }
    let envs = [("FIRSTLIGHT_BLESS", "1"), ("TRYCMD", "overwrite")];
    step("cargo", &["test", "--workspace", "--locked"], &envs)?;
    ui::browser("target/release/firstlight", true)?;
    eprintln!("\nremade; read `git diff` before you commit it");
    Ok(())
}
