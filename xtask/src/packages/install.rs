//! `cargo install firstlight`, as people type it, from a registry on this disk.

use super::bench::{Bench, Outcome, expect_words};
use crate::release::{self, quietly};
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Makes a registry of the crates that the program needs: those of others as `Cargo.lock` names
/// them, and ours as `cargo package` packs them. Installs from it alone, and reads a capture.
pub(super) fn check(bench: &Bench) -> Result<Outcome> {
    let source = &bench.release.source;
    // Beside the release, because /tmp may be memory.
    let work = tempfile::tempdir_in(&bench.kept)?;
    let registry = work.path().join("registry");
    let vendor = ["vendor", "--locked", "--versioned-dirs", "--quiet"];
    quietly(
        Command::new("cargo")
            .current_dir(source)
            .args(vendor)
            .arg(&registry),
    )?;
    let packed = work.path().join("packed");
    quietly(
        Command::new("cargo")
            .current_dir(source)
            .args(["package", "--workspace", "--locked", "--no-verify"])
            .args(["--allow-dirty", "--target-dir"])
            .arg(&packed),
    )?;
    for entry in fs::read_dir(packed.join("package"))?.flatten() {
        if entry.path().extension().is_some_and(|e| e == "crate") {
            add(&entry.path(), &registry)?;
        }
    }
    // Where it installs, cargo reads no configuration of folders.
    let place = format!("source.disk.directory=\"{}\"", registry.display());
    let instead = "source.crates-io.replace-with=\"disk\"";
    quietly(
        Command::new("cargo")
            .current_dir(work.path())
            .args(["install", "firstlight", "--locked", "--offline", "--root"])
            .arg(work.path().join("root"))
            .args(["--config", instead, "--config", &place])
            .env("CARGO_TARGET_DIR", work.path().join("target")),
    )?;
    let capture = source.join("corpus/captures/v1-debian.tar.zst");
    let program = work.path().join("root/bin/firstlight");
    let said = quietly(Command::new(program).arg("show").arg(capture))?;
    expect_words(&said, "First light")?;
    Ok(Outcome::Passed)
}

/// Unpacks a crate into a registry of folders, with its checksum, which `Cargo.lock` has too.
fn add(packed: &Path, registry: &Path) -> Result<()> {
    quietly(
        Command::new("tar")
            .arg("-xzf")
            .arg(packed)
            .arg("-C")
            .arg(registry),
    )?;
    let name = packed.file_stem().context("a crate has no name")?;
    let list = registry.join(name).join(".cargo-checksum.json");
    let sum = release::sum(packed)?;
    Ok(fs::write(
        list,
        format!("{{\"files\":{{}},\"package\":\"{sum}\"}}"),
    )?)
}
