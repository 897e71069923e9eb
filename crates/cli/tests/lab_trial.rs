//! Prepared trials: what is refused before anything boots.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::workspace;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What an experiment of one boot leaves when it is prepared; `None`, with the reason said:
/// this host has no emulator.
struct Prepared {
    folder: tempfile::TempDir,
}

impl Prepared {
    fn new(more: &[&str]) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        for tool in ["qemu-system-x86_64", "apt-get", "dpkg-deb"] {
            if !std::env::split_paths(&path).any(|d| d.join(tool).is_file()) {
                eprintln!("skipped: prepared trials, because there is no {tool}");
                return None;
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let prepared = Self { folder };
        let smoke = workspace().join("experiments/smoke.toml");
        let mut words = vec!["lab", "run", smoke.to_str().unwrap(), "--prepare"];
        words.extend(more);
        let done = prepared.firstlight(&words, None);
        assert!(done.status.success(), "{done:?}");
        Some(prepared)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program there, with the output folder `out`; `path`: before all programs.
    fn firstlight(&self, words: &[&str], path: Option<&Path>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
        command.args(words).current_dir(self.folder.path());
        if words[1] == "run" {
            command.args(["--out", "out"]);
        } else {
            // Nodes have a cache of their own.
            command.env("FIRSTLIGHT_CACHE", self.path("node"));
        }
        if let Some(first) = path {
            let rest = std::env::var("PATH").unwrap();
            command.env("PATH", format!("{}:{rest}", first.display()));
        }
        command.output().unwrap()
    }

    /// Runs the plan, which is refused, and gives the sentence.
    fn refused(&self, path: Option<&Path>) -> String {
        let plan = "out/jobs/baseline-0.json";
        let done = self.firstlight(&["lab", "trial", plan, "--out", "result.tar.zst"], path);
        assert_eq!(done.status.code(), Some(2), "{done:?}");
        assert!(!self.path("result.tar.zst").exists());
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    }
}

#[test]
fn another_emulator_input_or_plan_is_refused_in_one_sentence() {
    let Some(prepared) = Prepared::new(&[]) else {
        return;
    };
    // A program of the same version, which would say that it can boot anything.
    let bin = prepared.path("bin");
    fs::create_dir(&bin).unwrap();
    let version = Command::new("qemu-system-x86_64").arg("--version").output();
    let version = String::from_utf8(version.unwrap().stdout).unwrap();
    let fake = bin.join("qemu-system-x86_64");
    fs::write(&fake, format!("#!/bin/sh\ncat <<'END'\n{version}END\n")).unwrap();
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let said = prepared.refused(Some(&bin));
    assert!(said.contains("the trial needs the emulator"), "{said}");

    let inputs = prepared.path("out/jobs/sha256");
    let mut files: Vec<PathBuf> = fs::read_dir(&inputs)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    assert_eq!(files.len(), 2, "kernel and initramfs: {files:?}");
    let kept = fs::read(&files[0]).unwrap();
    let mut other = kept.clone();
    other[100] ^= 1;
    fs::write(&files[0], &other).unwrap();
    let said = prepared.refused(None);
    assert!(said.contains("do not have the SHA-256"), "{said}");
    fs::remove_file(&files[0]).unwrap();
    let said = prepared.refused(None);
    assert!(said.contains("is neither in"), "{said}");
    fs::write(&files[0], &kept).unwrap();

    let plan = prepared.path("out/jobs/baseline-0.json");
    let text = fs::read_to_string(&plan).unwrap();
    for (from, to, words) in [
        (
            "console=ttyS0",
            "console=ttyS1",
            "was changed after it was made",
        ),
        (
            "\"firstlight_plan\": 1",
            "\"firstlight_plan\": 2",
            "has version 2",
        ),
        (
            "\"firstlight_plan\"",
            "\"other\"",
            "not the plan of a trial",
        ),
        ("\"limits\"", "\"limit\"", "the plan is damaged"),
    ] {
        fs::write(&plan, text.replace(from, to)).unwrap();
        let said = prepared.refused(None);
        assert!(said.contains(words), "{said}");
    }
    for cut in [0, 1, text.len() / 2, text.len() - 2] {
        fs::write(&plan, &text[..cut]).unwrap();
        let said = prepared.refused(None);
        assert!(said.contains("not the plan of a trial"), "{said}");
    }
}

#[test]
fn a_command_that_brings_no_result_or_another_one_ends_the_run() {
    let Some(prepared) = Prepared::new(&[]) else {
        return;
    };
    let smoke = workspace().join("experiments/smoke.toml");
    let smoke = smoke.to_str().unwrap();
    for (command, words) in [
        ("true {plan} {out}", "left no result"),
        (
            "echo from afar >&2; exit 7 # {plan} {out}",
            "last output: from afar",
        ),
        ("cp {plan} {out}", "damaged or not ours"),
        ("true {plan}", "lacks `{out}`"),
    ] {
        let done = prepared.firstlight(&["lab", "run", smoke, "--submit", command], None);
        assert_eq!(done.status.code(), Some(2), "{done:?}");
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn the_jobs_of_ci_systems_name_every_plan() {
    let Some(prepared) = Prepared::new(&["--ensemble", "3", "--check-exact"]) else {
        return;
    };
    let smoke = workspace().join("experiments/smoke.toml");
    let of = |ci: &str| {
        let words = [
            "lab",
            "run",
            smoke.to_str().unwrap(),
            "--ensemble",
            "3",
            "--matrix",
            ci,
        ];
        let done = prepared.firstlight(&words, None);
        assert!(done.status.success(), "{done:?}");
        serde_json::from_slice::<Value>(&done.stdout).unwrap()
    };
    let github = of("github");
    let trials: Vec<_> = github["include"].as_array().unwrap().iter().collect();
    let names: Vec<_> = trials
        .iter()
        .map(|t| t["trials"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["baseline-0", "baseline-1", "baseline-2"]);
    for name in names {
        assert!(prepared.path(&format!("out/jobs/{name}.json")).is_file());
    }
    let gitlab = of("gitlab");
    assert_eq!(
        gitlab["trial"]["parallel"]["matrix"][2]["TRIALS"][0],
        "baseline-2"
    );
    assert!(prepared.path("out/jobs/baseline-0-again.json").is_file());
}
