//! `firstlight capture serial` as a user runs it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{firstlight, json, valid, workspace};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn serial(out: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    command
        .args(["capture", "serial"])
        .args(args)
        .arg("-o")
        .arg(out);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn write(child: &mut Child, text: &str) {
    let stdin = child.stdin.as_mut().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    stdin.flush().unwrap();
}

fn finish(mut child: Child) -> (Output, String) {
    drop(child.stdin.take());
    let out = child.wait_with_output().unwrap();
    let said = String::from_utf8(out.stderr.clone()).unwrap();
    (out, said)
}

fn milestone<'a>(show: &'a Value, name: &str) -> Option<&'a Value> {
    let all = show["milestones"].as_array().unwrap();
    all.iter().find(|m| m["name"] == name)
}

const BOOT: &str = "[   91.4] reboot: Restarting system\r\nU-Boot SPL 2026.01\r\n\
    Starting kernel ...\r\n[    0.000000] Linux version 6.12.0\r\n\
    [\x1b[0;32m  OK  \x1b[0m] Reached target Basic\r\nboard login: ";

const ASK: [&str; 7] = [
    "-",
    "--reset-on",
    "^U-Boot SPL",
    "--mark",
    "ok=  OK  \\] R",
    "--end-on",
    "login: $",
];

#[test]
fn a_capture_holds_the_boot_with_its_marks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boot.tar.zst");
    let mut child = serial(&path, &[&ASK[..], &["--json"]].concat())
        .spawn()
        .unwrap();
    write(&mut child, BOOT);
    let (out, said) = finish(child);
    assert!(out.status.success(), "{said}");
    let done: Value = serde_json::from_slice(&out.stdout).unwrap();
    valid(&done, "capture");
    assert_eq!(done["serial"]["ended"], "pattern");
    assert_eq!(done["serial"]["lines"], 6);
    assert_eq!(done["serial"]["bytes"], BOOT.len());
    let names: Vec<&Value> = done["serial"]["marks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| &m["name"])
        .collect();
    assert_eq!(names, ["reset", "ok", "first-light"]);

    let show = json(&["show", "--json", path.to_str().unwrap()]);
    assert_eq!(show["zero"], "power-on");
    let light = show["first_light"]["at_ns"].as_i64().unwrap();
    assert_eq!(
        milestone(&show, "ok").unwrap()["origin"]["source"],
        "serial.log"
    );
    assert!(milestone(&show, "ok").unwrap()["at_ns"].as_i64().unwrap() <= light);
    // The end of the boot before is no part of this one.
    let before = show["notes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|n| n["kind"] == "before_boot");
    assert_eq!(before.unwrap()["count"], 1);

    // What came over the line is kept as it came.
    let tar = zstd::decode_all(std::fs::File::open(&path).unwrap()).unwrap();
    let mut tar = tar::Archive::new(&tar[..]);
    let mut raw = Vec::new();
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.path().unwrap().ends_with("serial.raw") {
            std::io::copy(&mut entry, &mut raw).unwrap();
        }
    }
    assert_eq!(String::from_utf8(raw).unwrap(), BOOT);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn what_is_printed_can_be_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = serial(&folder.path().join("boot.tar"), &ASK)
        .spawn()
        .unwrap();
    write(&mut child, BOOT);
    let (out, said) = finish(child);
    assert!(out.status.success(), "{said}");
    assert!(
        said.contains("first-light") && said.contains("boot.tar: 6 lines"),
        "{said}"
    );
    let text = String::from_utf8(out.stdout.clone()).unwrap();
    assert!(!text.contains('\x1b'), "{text}");
    let texts: Vec<&str> = text
        .lines()
        .map(|l| l.split_once("] ").unwrap().1)
        .collect();
    assert_eq!(texts[4], "[  OK  ] Reached target Basic");

    let log = folder.path().join("log.txt");
    std::fs::write(&log, &out.stdout).unwrap();
    let show = json(&["show", "--json", log.to_str().unwrap()]);
    assert_eq!(show["sources"][0]["format"], "serial");
    assert_eq!(show["sources"][0]["units"], 6);
    assert!(milestone(&show, "U-Boot SPL").is_some());
    assert!(milestone(&show, "base-time-reset").is_some());
}

#[test]
fn a_pattern_that_does_not_come_is_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boot.tar.zst");
    let out = serial(
        &path,
        &[
            "--exec",
            "echo here; exec sleep 100",
            "--end-on",
            "login",
            "--end-after",
            "300ms",
        ],
    )
    .output()
    .unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(
        said.contains("`login` was not seen within 300.0 ms; what came is in"),
        "{said}"
    );
    json(&["show", "--json", path.to_str().unwrap()]);

    // Nor if the line closes before, or the program fails.
    for (command, why) in [
        ("echo here", "ended before"),
        ("exit 3", "ended with exit code 3 before"),
    ] {
        let path = folder.path().join(format!("{}.tar", command.len()));
        let out = serial(&path, &["--exec", command, "--end-on", "login"])
            .output()
            .unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn ctrl_c_ends_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boot.tar.zst");
    let mut child = serial(&path, &["-"]).spawn().unwrap();
    write(&mut child, "one\ntw");
    let mut printed = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut printed).unwrap();
    assert!(printed.ends_with("] one\n"), "{printed}");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    // Its input stays open: it must end by itself.
    let status = child.wait().unwrap();
    assert!(status.success());
    let show = json(&["show", "--json", path.to_str().unwrap()]);
    // The header, one line, and a piece of another.
    assert!(show["sources"][1]["units"].as_u64().unwrap() >= 2);
    assert!(!folder.path().join("boot.tar.zst.part").exists());
}

#[test]
fn power_commands_run_at_the_start_and_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boot.tar");
    let switch = folder.path().join("switch");
    let on = format!("echo on >>{}", switch.display());
    let off = format!("echo off >>{}; echo to stderr", switch.display());
    let board = format!(
        "until grep -q on {}; do sleep 0.01; done; sleep 0.05; echo login:; exec sleep 100",
        switch.display()
    );
    std::fs::write(&switch, "").unwrap();
    let args = [
        "--exec",
        &board,
        "--power-on",
        &on,
        "--power-off",
        &off,
        "--end-on",
        "login:",
    ];
    let out = serial(&path, &args).output().unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    assert_eq!(std::fs::read_to_string(&switch).unwrap(), "on\noff\n");
    // What the commands print is no result.
    assert!(!String::from_utf8(out.stdout).unwrap().contains("to stderr"));
    let show = json(&["show", "--json", path.to_str().unwrap()]);
    assert_eq!(show["zero"], "power-on");
    assert!(show["first_light"]["at_ns"].as_i64().unwrap() > 0);

    let path = folder.path().join("failed.tar");
    let out = serial(&path, &["--exec", "sleep 100", "--power-cycle", "exit 9"])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(
        said.contains("`exit 9` ended with exit code 9; nothing was captured"),
        "{said}"
    );
    assert!(!path.exists() && !path.with_extension("tar.part").exists());
}

#[test]
fn what_cannot_be_done_is_said_before_it_is_begun() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken.tar");
    std::fs::write(&taken, "x").unwrap();
    let free = folder.path().join("free.tar");
    let case = |path: &Path, args: &[&str], what: &str| {
        let out = serial(path, args).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(what), "{args:?}: {said}");
        assert_eq!(
            said.lines()
                .filter(|l| l.starts_with("firstlight:"))
                .count(),
            1,
            "{said}"
        );
    };
    case(&taken, &["-"], "already exists");
    case(
        &folder.path().join("x.zip"),
        &["-"],
        "a name that ends in .tar",
    );
    case(&free, &["-", "--mark", "x"], "expected NAME=REGEX");
    case(&free, &["-", "--end-on", "(x"], "--end-on");
    case(&free, &["/dev/nowhere"], "/dev/nowhere: cannot open");
    case(&free, &["tcp:nowhere"], "write HOST:PORT");
    case(&free, &["/"], "is a directory");
    assert!(!free.exists() && !free.with_extension("tar.part").exists());
    let help = firstlight(&["capture", "serial", "--help"]);
    assert!(
        String::from_utf8(help.stdout)
            .unwrap()
            .contains("Examples:")
    );
    assert!(workspace().join("schemas/capture.json").exists());
}

/// A panic, and the boot of a fallback slot: its first light is not that of the boot that
/// was asked for.
#[test]
fn a_board_that_resets_again_is_not_fine() {
    let folder = tempfile::tempdir().unwrap();
    let boots = "U-Boot SPL 2026.01\r\nslot a\r\nKernel panic - not syncing\r\n\
        U-Boot SPL 2026.01\r\nslot b\r\nboard login: ";
    for (more, code) in [(&[][..], 2), (&["--resets", "2"], 0)] {
        let path = folder.path().join(format!("{code}.tar"));
        let mut child = serial(&path, &[&ASK[..], &["--json"], more].concat())
            .spawn()
            .unwrap();
        write(&mut child, boots);
        let (out, said) = finish(child);
        assert_eq!(out.status.code(), Some(code), "{said}");
        let done: Value = serde_json::from_slice(&out.stdout).unwrap();
        valid(&done, "capture");
        assert_eq!(done["serial"]["resets"], 2);
        assert_eq!(
            said.contains("the board was reset 2 times"),
            code == 2,
            "{said}"
        );
        assert!(path.exists(), "the capture is kept");
    }
}
