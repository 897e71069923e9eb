//! The program: static, stripped, with its debug information in a file of its own.

use super::agents;
use super::base::{FEATURES, GOAL, LIBRARY, Release, TARGET};
use super::files::quietly;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What keeps the program small, for lld: functions of equal code are kept once, and the
/// relocations of a static program that can lie anywhere take a bit instead of 24 bytes.
const LINKER: [&str; 2] = ["--icf=all", "--pack-dyn-relocs=relr"];

/// The path of a program that is built already, for a quick try of what follows.
pub const BUILT: &str = "FIRSTLIGHT_PROGRAM";

/// Builds `firstlight`; where the stripped program lies.
///
/// # Errors
/// If cargo or a linker's tool fails.
pub fn build(release: &Release) -> Result<PathBuf> {
    if let Some(built) = std::env::var_os(BUILT) {
        return split(release, &PathBuf::from(built));
    }
    eprintln!("==> firstlight for {TARGET}");
    let mut flags = agents::remapped(&release.source);
    flags.extend(LINKER.iter().map(|flag| format!("-Clink-arg={flag}")));
    let has_source = agents::has_source();
    match has_source {
        // Libraries in C count bits with a function that is in the compiler's library,
        // and not in Rust's where that is built from source.
        true => flags.push(format!("-Clink-arg={}", c_library()?)),
        false => eprintln!("x: without `rustup component add rust-src` the program is larger"),
    }
    let mut cargo = cargo(release, "build", TARGET, &flags);
    if has_source {
        cargo.env("RUSTC_BOOTSTRAP", "1").args(LIBRARY);
    }
    let built = built(release, &mut cargo, TARGET)?;
    split(release, &built)
}

/// The command of cargo that builds the program for a target: `build`, or what stands for it.
pub(super) fn cargo(release: &Release, verb: &str, target: &str, flags: &[String]) -> Command {
    let c_flags: Vec<String> = agents::folders(&release.source)
        .iter()
        .map(|(from, to)| format!("-ffile-prefix-map={from}={to}"))
        .collect();
    let words = target.replace('-', "_");
    let rust_flags = format!("CARGO_TARGET_{}_RUSTFLAGS", words.to_uppercase());
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(&release.source)
        .args([verb, "--locked", "--profile", "dist"])
        .args(["--package", "firstlight", "--bin", "firstlight"])
        .args(["--no-default-features", "--features", FEATURES])
        .args(["--target", target, "--target-dir"])
        .arg(&release.build)
        .env(rust_flags, flags.join(" "))
        .env(format!("CFLAGS_{words}"), c_flags.join(" "))
        .env("FIRSTLIGHT_COMMIT", &release.version.commit)
        .env("SOURCE_DATE_EPOCH", release.version.epoch.to_string())
        .stdin(Stdio::null());
    cargo
}

/// Runs that command; where the program lies.
pub(super) fn built(release: &Release, cargo: &mut Command, target: &str) -> Result<PathBuf> {
    let status = cargo.status().context("cargo could not be started")?;
    if !status.success() {
        bail!("firstlight for {target} could not be built: {status}");
    }
    Ok(release.build.join(target).join("dist/firstlight"))
}

/// Says if a stripped program is larger than it should be.
pub(super) fn weigh(program: &Path, target: &str) -> Result<()> {
    let bytes = fs::metadata(program)?.len();
    if bytes > GOAL {
        eprintln!("x: firstlight for {target} has {bytes} bytes, more than the goal of {GOAL}");
    }
    Ok(())
}

/// Where the C compiler has the functions that its code calls.
fn c_library() -> Result<String> {
    let path = quietly(Command::new("cc").arg("-print-libgcc-file-name"))?;
    Ok(String::from_utf8_lossy(&path).trim().to_owned())
}

/// Takes the debug information of a program into a file of its own; the stripped program.
fn split(release: &Release, built: &Path) -> Result<PathBuf> {
    fs::create_dir_all(&release.build)?;
    let debug = release.dist.join(format!(
        "firstlight-{}-{TARGET}.debug",
        release.version.number
    ));
    let stripped = release.build.join("firstlight");
    quietly(
        Command::new("objcopy")
            .args(["--only-keep-debug", "--compress-debug-sections=zlib"])
            .arg(built)
            .arg(&debug),
    )?;
    quietly(
        Command::new("objcopy")
            .arg("--strip-all")
            .arg(format!("--add-gnu-debuglink={}", debug.display()))
            .arg(built)
            .arg(&stripped),
    )?;
    weigh(&stripped, TARGET)?;
    Ok(stripped)
}
