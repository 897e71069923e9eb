//! Builds from two copies of the source in folders of other names: equal bytes.

use super::bench::{Bench, Outcome, skip};
use crate::release::{self, Release, quietly};
use anyhow::{Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of the release's commit in the folder `name` below `work`.
fn copy(bench: &Bench, work: &Path, name: &str) -> Result<PathBuf> {
    let folder = work.join(name);
    fs::create_dir(&folder)?;
    let tar = work.join("source.tar");
    quietly(
        Command::new("git")
            .current_dir(&bench.release.source)
            .args(["archive", "--output"])
            .arg(&tar)
            .arg(&bench.release.version.commit),
    )?;
    quietly(
        Command::new("tar")
            .arg("-xf")
            .arg(&tar)
            .arg("-C")
            .arg(&folder),
    )?;
    Ok(folder)
}

/// The agent, built in two folders.
pub(super) fn agent(bench: &Bench) -> Result<Outcome> {
    let Some(agent) = release::AGENTS.iter().find(|a| a.arch == "x86_64") else {
        bail!("there is no agent for x86_64");
    };
    let way = match agent.way() {
        Ok(way) => way,
        Err(why) => return skip(why),
    };
    let work = tempfile::tempdir()?;
    let mut built = Vec::new();
    for name in ["one", "another-folder"] {
        let folder = copy(bench, work.path(), name)?;
        let program = release::agent(&folder, &folder.join("build"), way)?;
        built.push(fs::read(program)?);
    }
    match built.as_slice() {
        [a, b] if a == b => Ok(Outcome::Passed),
        _ => bail!("two builds of the agent in two folders differ"),
    }
}

/// The program of this release, built again in another folder.
pub(super) fn program(bench: &Bench) -> Result<Outcome> {
    if std::env::var_os(release::BUILT).is_some() {
        return skip(format!(
            "{} names a program, so none is built",
            release::BUILT
        ));
    }
    // Beside the release, because /tmp may be memory.
    let work = tempfile::tempdir_in(&bench.kept)?;
    let source = copy(bench, work.path(), "another-folder")?;
    let again = Release {
        dist: work.path().join("dist"),
        build: source.join("build"),
        source,
        ..bench.release.clone()
    };
    fs::create_dir(&again.dist)?;
    let program = release::program(&again)?;
    match fs::read(program)? == fs::read(&bench.programs.program)? {
        true => Ok(Outcome::Passed),
        false => bail!("two builds of the program in two folders differ"),
    }
}
