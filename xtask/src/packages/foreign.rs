//! The program for other processors, run by QEMU's emulators of one program.

use super::bench::{Bench, Outcome, has, skip};
use super::linted;
use crate::release::{self, Programs, Release, quietly};
use anyhow::{Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Captures in the corpus: compressed, and read by most sources.
const INPUTS: [&str; 2] = [
    "corpus/captures/v1-debian.tar.zst",
    "corpus/captures/v1-debian-all.tar.zst",
];

/// Builds each, compares what it says of captures with what the program for x86-64 says, and
/// lints its package.
pub(super) fn check(bench: &Bench) -> Result<Outcome> {
    let (foreign, mut skipped) = release::foreign(&bench.release)?;
    if foreign.is_empty() {
        return skip(skipped.join("; "));
    }
    for (kind, program) in &foreign {
        match has(kind.emulator) {
            true => says_the_same(bench, kind.emulator, program)?,
            false => skipped.push(format!("{} is not here", kind.emulator)),
        }
    }
    let work = tempfile::tempdir_in(&bench.kept)?;
    let release = Release {
        dist: work.path().join("dist"),
        ..bench.release.clone()
    };
    fs::create_dir(&release.dist)?;
    for (agent, file) in &bench.programs.agents {
        fs::copy(file, release.dist.join(agent.file()))?;
    }
    let programs = Programs {
        foreign,
        ..bench.programs.clone()
    };
    release.package(&programs)?;
    for (kind, program) in &programs.foreign {
        let bytes = fs::metadata(program)?.len();
        let deb = release
            .dist
            .join(release::deb_name(bench.version(), kind.debian));
        let packed = fs::metadata(&deb)?.len();
        eprintln!("    {}: {bytes} bytes, its .deb {packed}", kind.arch);
        if has("lintian") {
            linted(&deb)?;
        }
    }
    match skipped.is_empty() {
        true => Ok(Outcome::Passed),
        false => skip(skipped.join("; ")),
    }
}

fn says_the_same(bench: &Bench, emulator: &str, program: &Path) -> Result<()> {
    for verb in ["show", "blame", "advise"] {
        for input in INPUTS {
            let input = bench.release.source.join(input);
            let mut native = Command::new(&bench.programs.program);
            let mut emulated = Command::new(emulator);
            emulated.arg(program);
            let [native, emulated] =
                [&mut native, &mut emulated].map(|c| quietly(c.args([verb, "--json"]).arg(&input)));
            let (native, emulated) = (native?, emulated?);
            if native.is_empty() || native != emulated {
                bail!("{}: `{verb}` says something else", program.display());
            }
        }
    }
    Ok(())
}
