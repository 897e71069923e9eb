//! The agent as a program.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use firstlight_agent::capture::{Limits, manifest, read_tar};
use std::fs::{self, File};
use std::process::{Command, Output};

const AGENT: &str = env!("CARGO_BIN_EXE_firstlight-agent");

fn agent(arguments: &[&str]) -> Output {
    Command::new(AGENT).args(arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder of this test run.
fn folder(name: &str) -> tempfile::TempDir {
    let mut named = tempfile::Builder::new();
    named.prefix(name);
    named.tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[cfg(all(
    target_env = "gnu",
    target_pointer_width = "64",
    target_endian = "little"
))]
#[test]
fn the_program_needs_no_shared_library() {
    let elf = fs::read(AGENT).unwrap();
    let half = |at: usize| usize::from(u16::from_le_bytes([elf[at], elf[at + 1]]));
    // e_phoff, e_phentsize, e_phnum of the ELF header.
    let table = u32::from_le_bytes(elf[32..36].try_into().unwrap()) as usize;
    let kinds: Vec<_> = (0..half(56)).map(|i| elf[table + i * half(54)]).collect();
    assert!(kinds.contains(&1), "it has segments: {kinds:?}");
    assert!(!kinds.contains(&3), "it asks for an interpreter: {kinds:?}");
}

#[test]
fn a_capture_of_this_machine_can_be_read_back() {
    let folder = folder("collect-tar");
    let tar = folder.path().join("boot.tar");
    let output = agent(&["collect", "-o", tar.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let members = read_tar(File::open(&tar).unwrap(), Limits::default()).unwrap();
    let manifest = manifest(&members).unwrap();
    let listed: Vec<_> = manifest.sources.iter().map(|s| s.file.as_str()).collect();
    let held: Vec<_> = members.iter().skip(1).map(|m| m.0.as_str()).collect();
    assert_eq!(listed, held);
    assert!(held.contains(&"proc/version"), "{held:?}");
    assert!(
        manifest
            .clocks
            .iter()
            .any(|c| c.name == "monotonic" && !c.readings.is_empty())
    );
    // What is missing is said.
    if !held.contains(&"kmsg") {
        assert!(stderr(&output).contains("cannot read the kernel log: "));
    }

    let again = agent(&["collect", "-o", tar.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        stderr(&again).contains("is not empty"),
        "{}",
        stderr(&again)
    );
}

#[test]
fn a_capture_can_be_a_folder() {
    let folder = folder("collect-folder");
    let at = folder.path();
    let output = agent(&["collect", "-o", at.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let version = fs::read(at.join("proc/version")).unwrap();
    assert_eq!(version, fs::read("/proc/version").unwrap());
    assert!(at.join("manifest.json").is_file());

    let again = agent(&["collect", "-o", at.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(2));
}

#[test]
fn a_wrong_word_is_named() {
    for (arguments, message) in [
        (&["there"][..], "unexpected argument \"there\""),
        // Outside a trial, these must not restart the machine.
        (&["init"], "`init` runs only as process 1; set init="),
        (
            &["finish"],
            "run `finish` only in a boot that the agent started",
        ),
        (
            &["collect"],
            "the destination of the capture is missing; write `firstlight-agent collect -o OUT`",
        ),
        (
            &["collect", "-o", "port:ttyS0"],
            "-o: `port:ttyS0` is invalid",
        ),
        (
            &["collect", "-o", "/dev/null/x"],
            "`/dev/null/x`: cannot write the capture",
        ),
    ] {
        let output = agent(arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}
