//! The agent, for each kind of processor: one static program below 1 MB.

use super::base::Release;
use super::files::place;
use anyhow::{Context, Result, bail};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The most that an agent may have, in bytes.
const LIMIT: u64 = 1_000_000;

/// A kind of processor that the agent is sent out for.
#[derive(Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its name, as the lab asks for it: `firstlight-agent-ARCH`.
    pub arch: &'static str,
    /// A target with musl, and its linker is the compiler's.
    musl: &'static str,
    /// A target with glibc and the linker that Debian packages for it.
    glibc: Option<Glibc>,
}

#[derive(Debug, PartialEq, Eq)]
struct Glibc {
    target: &'static str,
    linker: &'static str,
    packages: &'static str,
    flags: &'static [&'static str],
}

/// All kinds.
pub const AGENTS: &[Agent] = &[
    Agent {
        arch: "x86_64",
        musl: "x86_64-unknown-linux-musl",
        glibc: None,
    },
    Agent {
        arch: "aarch64",
        musl: "aarch64-unknown-linux-musl",
        glibc: None,
    },
    Agent {
        arch: "armv7",
        musl: "armv7-unknown-linux-musleabihf",
        glibc: Some(Glibc {
            target: "armv7-unknown-linux-gnueabihf",
            linker: "arm-linux-gnueabihf-gcc",
            packages: "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross",
            // Every ARMv7 processor runs Thumb code, which is smaller.
            flags: &["-Ctarget-feature=+thumb-mode"],
        }),
    },
    Agent {
        arch: "armv5",
        musl: "armv5te-unknown-linux-musleabi",
        glibc: Some(Glibc {
            target: "armv5te-unknown-linux-gnueabi",
            linker: "arm-linux-gnueabi-gcc",
            packages: "gcc-arm-linux-gnueabi libc6-dev-armel-cross",
            // Its code is the largest: what occurs twice is called, and a program that
            // aborts unwinds nothing.
            flags: &[
                "-Cllvm-args=-enable-machine-outliner=always",
                "-Cforce-unwind-tables=no",
                // A panic ends it without its sentence: 49 KB less, and under the limit.
                "-Zunstable-options",
                "-Cpanic=immediate-abort",
            ],
        }),
    },
    Agent {
        arch: "riscv64",
        musl: "riscv64gc-unknown-linux-musl",
        glibc: Some(Glibc {
            target: "riscv64gc-unknown-linux-gnu",
            linker: "riscv64-linux-gnu-gcc",
            packages: "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross",
            flags: &[],
        }),
    },
];

/// How an agent is built on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    target: &'static str,
    flags: &'static [&'static str],
    /// The standard library is built too, for size, or because rustup has none.
    own_library: bool,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let library = match self.target.contains("musl") {
            true => "static musl",
            false => "static glibc",
        };
        let own = match self.own_library {
            true => ", standard library built from source",
            false => "",
        };
        write!(f, "{} ({library}{own})", self.target)
    }
}

impl Agent {
    /// The name of its file.
    #[must_use]
    pub fn file(&self) -> String {
        format!("firstlight-agent-{}", self.arch)
    }

    /// How it can be built here.
    ///
    /// # Errors
    /// What is missing, in a clause.
    pub fn way(&self) -> Result<Way, String> {
        if has_library(self.musl) {
            return Ok(Way {
                target: self.musl,
                flags: &[],
                own_library: false,
            });
        }
        let Some(glibc) = &self.glibc else {
            return Err(format!("run `rustup target add {}`", self.musl));
        };
        if !has_libc(glibc.linker) {
            return Err(format!("run `apt-get install {}`", glibc.packages));
        }
        if !has_source() {
            return Err("run `rustup component add rust-src`".to_owned());
        }
        Ok(Way {
            target: glibc.target,
            flags: glibc.flags,
            own_library: true,
        })
    }
}

/// Names of the only agents that are wanted, with commas between, for a quick try.
const ONLY: &str = "FIRSTLIGHT_AGENTS";

/// The agents that were built, and the reasons why others were not.
type Built = (Vec<(&'static Agent, PathBuf)>, Vec<String>);

/// Builds all that can be built; the others with the reason.
pub(super) fn build(release: &Release) -> Result<Built> {
    let (mut built, mut missing) = (Vec::new(), Vec::new());
    let only = std::env::var(ONLY).ok();
    for agent in AGENTS {
        if let Some(only) = &only
            && !only.split(',').any(|name| name == agent.arch)
        {
            missing.push(format!("agent for {}: {ONLY} leaves it out", agent.arch));
            continue;
        }
        match agent.way() {
            Ok(way) => {
                eprintln!("==> agent for {}: {way}", agent.arch);
                let program = one(&release.source, &release.build, way)?;
                let bytes = fs::metadata(&program)?.len();
                if bytes > LIMIT {
                    bail!(
                        "the agent for {} has {bytes} bytes, more than {LIMIT}",
                        agent.arch
                    );
                }
                let to = release.dist.join(agent.file());
                place(&program, &to, 0o755)?;
                built.push((agent, to));
            }
            Err(why) => missing.push(format!("agent for {}: {why}", agent.arch)),
        }
    }
    Ok((built, missing))
}

/// Builds one agent from the checkout `source`, below `build`.
///
/// # Errors
/// If cargo fails.
pub fn one(source: &Path, build: &Path, way: Way) -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    if way.own_library {
        // Only so does a stable compiler build its own library.
        cargo
            .env("RUSTC_BOOTSTRAP", "1")
            .arg("-Zbuild-std=std,panic_abort")
            .arg("-Zbuild-std-features=optimize_for_size");
    }
    let mut flags = remapped(source);
    flags.extend(way.flags.iter().map(|f| (*f).to_owned()));
    let variable = format!(
        "CARGO_TARGET_{}_RUSTFLAGS",
        way.target.to_uppercase().replace('-', "_")
    );
    let status = cargo
        .current_dir(source)
        .args(["build", "--quiet", "--locked", "--profile", "agent"])
        .args([
            "--package",
            "firstlight-agent",
            "--bin",
            "firstlight-agent",
            "--target",
            way.target,
        ])
        .arg("--target-dir")
        .arg(build)
        .env(variable, flags.join(" "))
        .stdin(Stdio::null())
        .status()
        .context("cargo could not be started")?;
    if !status.success() {
        bail!("the agent for {} could not be built: {status}", way.target);
    }
    Ok(build.join(way.target).join("agent/firstlight-agent"))
}

/// Flags that keep the paths of this host out of programs.
pub(super) fn remapped(source: &Path) -> Vec<String> {
    folders(source)
        .into_iter()
        .map(|(from, to)| format!("--remap-path-prefix={from}={to}"))
        .collect()
}

/// Folders of this host, and what stands for each in programs.
pub(super) fn folders(source: &Path) -> Vec<(String, &'static str)> {
    let mut folders = vec![(source.display().to_string(), "/firstlight")];
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo"),
        PathBuf::from,
    );
    folders.push((cargo.join("registry/src").display().to_string(), "/crates"));
    // With the component rust-src, the compiler names the standard library's files here.
    if let Some(sysroot) = printed(&["--print", "sysroot"]) {
        folders.push((format!("{sysroot}/lib/rustlib/src/rust"), "/rust"));
    }
    folders
}

fn printed(args: &[&str]) -> Option<String> {
    let output = Command::new("rustc").args(args).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

fn has_library(target: &str) -> bool {
    printed(&["--print", "target-libdir", "--target", target])
        .is_some_and(|folder| Path::new(&folder).is_dir())
}

/// Whether the standard library's source is there.
pub(super) fn has_source() -> bool {
    printed(&["--print", "sysroot"]).is_some_and(|sysroot| {
        Path::new(&sysroot)
            .join("lib/rustlib/src/rust/library/Cargo.lock")
            .is_file()
    })
}

/// Whether a compiler is there, with a C library to link statically: it gives the name
/// back if it does not know the file.
fn has_libc(compiler: &str) -> bool {
    let output = Command::new(compiler)
        .arg("-print-file-name=libc.a")
        .stdin(Stdio::null())
        .output();
    output.is_ok_and(|o| Path::new(String::from_utf8_lossy(&o.stdout).trim()).is_absolute())
}
