//! The agent for each kind of processor: built, small, and able to run.
#![cfg(target_os = "linux")]
// A test that cannot go on should stop, and says what it skips.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use firstlight_lab::LabError;
use firstlight_lab::artifacts::{Arch, agent_program};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// One static program under 1 MB: it goes onto targets with little flash.
const LIMIT: usize = 1_000_000;

/// Where the compiler has neither musl for an architecture nor the source of its own
/// library, glibc comes along: its own part is half of the program, tables for character
/// sets among it. So it does on ARMv5, whose code is less compact.
const LIMIT_WITH_GLIBC: usize = 1 << 20;

/// The agent for `arch`, and its limit, unless this machine cannot build it.
fn agent(arch: Arch) -> Option<(Vec<u8>, usize)> {
    let mut said = Vec::new();
    match agent_program(arch, &mut |line| said.push(line)) {
        Ok(bytes) => {
            println!("{arch}: {} bytes {said:?}", bytes.len());
            let larger = arch == Arch::Armv5 || said.iter().any(|l| l.contains("larger than"));
            Some((bytes, if larger { LIMIT_WITH_GLIBC } else { LIMIT }))
        }
        Err(LabError::NoAgentTools { why, .. }) => {
            println!("skipped: the agent for {arch}: {why}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// What runs programs for `arch` here, if anything does.
fn emulator(arch: Arch) -> Option<Option<PathBuf>> {
    if std::env::consts::ARCH == arch.as_str() {
        return Some(None);
    }
    let name = match arch {
        Arch::X86_64 => "qemu-x86_64-static",
        Arch::Aarch64 => "qemu-aarch64-static",
        Arch::Armv7 | Arch::Armv5 => "qemu-arm-static",
        Arch::Riscv64 => "qemu-riscv64-static",
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|f| f.join(name))
        .find(|p| p.is_file());
    if found.is_none() {
        println!("skipped: running the agent for {arch}: there is no {name} here");
    }
    found.map(Some)
}

#[test]
fn the_agent_is_one_small_program_that_runs() {
    for arch in Arch::ALL {
        let Some((bytes, limit)) = agent(arch) else {
            continue;
        };
        assert!(bytes.len() < limit, "{arch}: {} bytes", bytes.len());
        let Some(emulator) = emulator(arch) else {
            continue;
        };
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let program = folder.path().join("firstlight-agent");
        fs::write(&program, &bytes).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = match emulator {
            Some(emulator) => {
                let mut command = Command::new(emulator);
                command.arg(&program);
                command
            }
            None => Command::new(&program),
        };
        let output = command.args(["collect", "-o", "boot.tar"]);
        let output = output.current_dir(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arch}: {said}");
        let tar = fs::read(folder.path().join("boot.tar")).unwrap();
        let members = agent::capture::read_tar(&*tar, agent::capture::Limits::default()).unwrap();
        let manifest = agent::capture::manifest(&members).unwrap();
        let readings = manifest.clocks.iter().map(|c| c.readings.len());
        assert!(readings.sum::<usize>() > 0, "{arch}: {manifest:?}");
    }
}
