//! The program: static, stripped, with its debug information in a file of its own.

use super::agents::{self, Agent};
use super::base::{Release, TARGET};
use super::files::quietly;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The most that the program may have, in bytes.
const LIMIT: u64 = 15_000_000;

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
    eprintln!("==> firstlight for {TARGET}");
    let folders = agents::folders(&release.source);
    let c_flags: Vec<String> = folders
        .iter()
        .map(|(from, to)| format!("-ffile-prefix-map={from}={to}"))
        .collect();
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
            agents::remapped(&release.source).join(" "),
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
    let built = release.build.join(TARGET).join("dist/firstlight");
    let debug = release.dist.join(format!(
        "firstlight-{}-{TARGET}.debug",
        release.version.number
    ));
    let stripped = release.build.join("firstlight");
    let objcopy = |args: &[&str]| quietly(Command::new("objcopy").args(args));
    let (from, debug_text, to) = (
        built.display().to_string(),
        debug.display().to_string(),
        stripped.display().to_string(),
    );
    objcopy(&[
        "--only-keep-debug",
        "--compress-debug-sections=zlib",
        &from,
        &debug_text,
    ])?;
    objcopy(&[
        "--strip-all",
        &format!("--add-gnu-debuglink={debug_text}"),
        &from,
        &to,
    ])?;
    let bytes = fs::metadata(&stripped)?.len();
    if bytes > LIMIT {
        bail!("firstlight has {bytes} bytes, more than {LIMIT}");
    }
    Ok(stripped)
}
