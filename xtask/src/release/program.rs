//! The program: static, stripped, with its debug information in a file of its own.

use super::agents::{self, Agent};
use super::base::{Release, TARGET};
use super::files::quietly;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The size that the program should not exceed, in bytes.
const GOAL: u64 = 15_000_000;

/// What keeps the program small, for lld: functions of equal code are kept once, and the
/// relocations of a static program that can lie anywhere take a bit instead of 24 bytes.
const LINKER: [&str; 2] = ["--icf=all", "--pack-dyn-relocs=relr"];

/// The path of a program that is built already, for a quick try of what follows.
const BUILT: &str = "FIRSTLIGHT_PROGRAM";

/// The programs of a release.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `firstlight`, stripped.
    pub program: PathBuf,
    /// The agent for each kind of processor that could be built.
    pub agents: Vec<(&'static Agent, PathBuf)>,
    /// The kinds that could not, and why.
    pub missing: Vec<String>,
}

/// Builds `firstlight`; where the stripped program lies.
pub(super) fn build(release: &Release) -> Result<PathBuf> {
    if let Some(built) = std::env::var_os(BUILT) {
        return split(release, &PathBuf::from(built));
    }
    eprintln!("==> firstlight for {TARGET}");
    let folders = agents::folders(&release.source);
    let c_flags: Vec<String> = folders
        .iter()
        .map(|(from, to)| format!("-ffile-prefix-map={from}={to}"))
        .collect();
    let mut flags = agents::remapped(&release.source);
    flags.extend(LINKER.iter().map(|flag| format!("-Clink-arg={flag}")));
    let status = Command::new("cargo")
        .current_dir(&release.source)
        .args(["build", "--locked", "--profile", "dist"])
        .args([
            "--package",
            "firstlight",
            "--bin",
            "firstlight",
            "--target",
            TARGET,
        ])
        .arg("--target-dir")
        .arg(&release.build)
        .env(
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS",
            flags.join(" "),
        )
        .env("CFLAGS_x86_64_unknown_linux_musl", c_flags.join(" "))
        .env("FIRSTLIGHT_COMMIT", &release.version.commit)
        .env("SOURCE_DATE_EPOCH", release.version.epoch.to_string())
        .stdin(Stdio::null())
        .status()
        .context("cargo could not be started")?;
    if !status.success() {
        bail!("firstlight could not be built: {status}");
    }
    split(release, &release.build.join(TARGET).join("dist/firstlight"))
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
    let bytes = fs::metadata(&stripped)?.len();
    if bytes > GOAL {
        eprintln!("x: firstlight has {bytes} bytes, more than the goal of {GOAL}");
    }
    Ok(stripped)
}
