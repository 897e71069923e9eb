//! The program for other processors, run by QEMU's emulators of one program.

use super::bench::{Bench, Outcome, has, skip};
use crate::release::{self, quietly};
use anyhow::{Result, bail};
use std::process::Command;

/// Captures in the corpus: compressed, and read by most sources.
const INPUTS: [&str; 2] = [
    "corpus/captures/v1-debian.tar.zst",
    "corpus/captures/v1-debian-all.tar.zst",
];

/// Builds each, and compares what it says of captures with what the program for x86-64 says.
pub(super) fn check(bench: &Bench) -> Result<Outcome> {
    let (built, missing) = release::foreign(&bench.release)?;
    let mut ran = 0;
    let mut skipped = missing;
    for (foreign, program) in &built {
        if !has(foreign.emulator) {
            let why = "is not here (package qemu-user-static)";
            skipped.push(format!("{} {why}", foreign.emulator));
            continue;
        }
        for verb in ["show", "blame", "advise"] {
            for input in INPUTS {
                let input = bench.release.source.join(input);
                let native = quietly(
                    Command::new(&bench.programs.program)
                        .args([verb, "--json"])
                        .arg(&input),
                )?;
                let emulated = quietly(
                    Command::new(foreign.emulator)
                        .arg(program)
                        .args([verb, "--json"])
                        .arg(&input),
                )?;
                if native.is_empty() || native != emulated {
                    bail!("{}: `{verb}` says something else", foreign.arch);
                }
            }
        }
        ran += 1;
    }
    match (ran, skipped.is_empty()) {
        (1.., true) => Ok(Outcome::Passed),
        _ => skip(skipped.join("; ")),
    }
}
