//! The program for other processors: static with musl, compiled and linked by Zig's C
//! compiler, which brings musl for all of them. Debian has no such compiler.

use super::base::{LIBRARY, Release};
use super::{agents, program};
use crate::venv::{self, quiet, text};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// From PyPI. Other versions of the compiler make other bytes.
const TOOLS: [&str; 2] = ["cargo-zigbuild==0.24.1", "ziglang==0.15.2"];

/// Names of the only processors that are wanted, with commas between, for a quick try.
const ONLY: &str = "FIRSTLIGHT_PROGRAMS";

/// A processor that the program is sent out for, beside x86-64.
#[derive(Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Its name, as in [`agents::AGENTS`].
    pub arch: &'static str,
    /// Its target, whose library is built from source.
    pub target: &'static str,
    /// Debian's name for it.
    pub debian: &'static str,
    /// What runs its programs on this host: Debian's `qemu-user-static`.
    pub emulator: &'static str,
}

/// All of them.
pub const FOREIGN: [Foreign; 3] = [
    Foreign {
        arch: "aarch64",
        target: "aarch64-unknown-linux-musl",
        debian: "arm64",
        emulator: "qemu-aarch64-static",
    },
    Foreign {
        arch: "armv7",
        target: "armv7-unknown-linux-musleabihf",
        debian: "armhf",
        emulator: "qemu-arm-static",
    },
    Foreign {
        arch: "riscv64",
        target: "riscv64gc-unknown-linux-musl",
        debian: "riscv64",
        emulator: "qemu-riscv64-static",
    },
];

/// The programs that were built, and the reasons why others were not.
pub type Built = (Vec<(&'static Foreign, PathBuf)>, Vec<String>);

/// Builds the program for each; those that cannot be built with the reason.
///
/// # Errors
/// If cargo fails.
pub fn build(release: &Release) -> Result<Built> {
    let (mut built, mut missing) = (Vec::new(), Vec::new());
    let tools = tools(release);
    let only = std::env::var(ONLY).ok();
    for foreign in &FOREIGN {
        let is_wanted = |only: &String| only.split(',').any(|name| name == foreign.arch);
        let why = match (&tools, only.as_ref().is_none_or(is_wanted)) {
            (_, false) => format!("{ONLY} leaves it out"),
            (Err(why), _) => (*why).to_owned(),
            (Ok(folder), true) => {
                built.push((foreign, one(release, foreign, folder)?));
                continue;
            }
        };
        missing.push(format!("firstlight for {}: {why}", foreign.arch));
    }
    Ok((built, missing))
}

/// The folder of the tools, which are installed into an environment of their own.
fn tools(release: &Release) -> Result<PathBuf, &'static str> {
    if !agents::has_source() {
        return Err("run `rustup component add rust-src`");
    }
    let venv = release.source.join("target/release-zig");
    let python = venv::make(&venv)?;
    let install = ["-m", "pip", "install", "--quiet", TOOLS[0], TOOLS[1]];
    match quiet(&text(&python), &install) {
        true => Ok(venv.join("bin")),
        false => Err("pip cannot install Zig: no network, or no wheels for this machine"),
    }
}

fn one(release: &Release, foreign: &Foreign, tools: &Path) -> Result<PathBuf> {
    let target = foreign.target;
    eprintln!("==> firstlight for {target}");
    let mut flags = agents::remapped(&release.source);
    // Zig brings the C library's first and last object files, which rustup has for few targets.
    flags.push("-Clink-self-contained=no".to_owned());
    let mut path = vec![tools.to_owned()];
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let mut cargo = program::cargo(release, "zigbuild", target, &flags);
    cargo
        .args(LIBRARY)
        .args(["--config", "profile.dist.strip=true"])
        .env("PATH", std::env::join_paths(path)?)
        .env("RUSTC_BOOTSTRAP", "1");
    let program = program::built(release, &mut cargo, target)?;
    program::weigh(&program, target)?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::super::agents::AGENTS;
    use super::FOREIGN;

    #[test]
    fn each_processor_of_a_program_has_an_agent_too() {
        for foreign in &FOREIGN {
            assert!(
                AGENTS.iter().any(|a| a.arch == foreign.arch),
                "{}",
                foreign.arch
            );
        }
    }
}
