//! What the agent captures of a boot in the lab, on each architecture: every phase
//! on one clock, up to first light, and an export that Perfetto answers from.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{ask_perfetto, export, json, workspace};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Whether all of these programs are there; says what is missing.
fn are_there(tools: &[&str]) -> bool {
    for tool in tools {
        let found = std::env::var_os("PATH")
            .is_some_and(|p| std::env::split_paths(&p).any(|d| d.join(tool).is_file()));
        if !found {
            eprintln!("skipped: a capture of the exact lab, because there is no {tool}");
            return false;
        }
    }
    true
}

/// Runs a tool; gives what it says.
fn run(tool: &Path, args: &[&Path]) -> String {
    let out = Command::new(tool).args(args).output().unwrap();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{}: {errors}", tool.display());
    String::from_utf8(out.stdout).unwrap()
}

/// The files of an image by their inodes, as debugfs lists folders.
fn inodes(image: &Path, files: &[&str]) -> BTreeMap<String, u64> {
    let of = |file: &str| {
        let ask = format!("stat {file}");
        let out = Command::new("debugfs")
            .args(["-R", &ask])
            .arg(image)
            .output()
            .unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        let number = text.strip_prefix("Inode: ").unwrap();
        let number = number.split_whitespace().next().unwrap();
        number.parse().unwrap()
    };
    files.iter().map(|f| ((*f).to_owned(), of(f))).collect()
}

/// Boots `experiments/capture/NAME.toml` once, and asks of its capture what is to be in it.
fn a_boot(name: &str, phases: &[&str]) {
    let scratch = tempfile::tempdir().unwrap();
    let from = workspace().join("experiments/capture");
    let file = scratch.path().join("boot.toml");
    std::fs::copy(from.join(format!("{name}.toml")), &file).unwrap();
    let image = scratch.path().join(format!("{name}.ext4"));
    let cache = lab::artifacts::Cache::open().unwrap();
    let busybox = cache.busybox(name, &mut |_| {}).unwrap();
    run(&from.join("make-root"), &[&busybox, &image]);

    let out = scratch.path().join("out");
    let (file, dir) = (file.to_str().unwrap(), out.to_str().unwrap());
    let words = [
        "lab",
        "run",
        file,
        "--no-recording-cost",
        "--out",
        dir,
        "--json",
    ];
    let trial = &json(&words)["trials"][0];
    assert!(trial["failure"].is_null(), "{trial}");
    let capture = trial["capture"].as_str().unwrap();

    // Every phase, one after the other, up to first light.
    let show = json(&["show", "--json", capture]);
    assert_eq!(show["zero"], "power-on");
    assert_eq!(show["first_light"]["at_ns"], trial["first_light_ns"]);
    let rows = show["phases"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, phases);
    assert_eq!(rows[0]["start_ns"], 0);
    for pair in rows.windows(2) {
        assert_eq!(pair[0]["end_ns"], pair[1]["start_ns"]);
    }
    assert_eq!(rows.last().unwrap()["end_ns"], show["first_light"]["at_ns"]);

    // On one clock: the others are related to it. A kernel that counts ticks before
    // it has a better clock leaves an error of one, of at most 10 ms.
    let clocks = show["clocks"].as_array().unwrap();
    assert_eq!(clocks[0]["is_boots"], true);
    assert_eq!(clocks[0]["kind"], "virtual");
    for name in ["printk", "monotonic"] {
        let clock = clocks.iter().find(|c| c["name"] == name).unwrap();
        let error = clock["error_ns"].as_i64().unwrap();
        assert!((0..=10_010_000).contains(&error), "{clock}");
    }
    assert!(
        show["notes"]
            .as_array()
            .unwrap()
            .iter()
            .all(|n| n["severity"] != "data_loss")
    );

    // Storage was asked, and files came into memory in the order of need.
    let io = json(&["io", "--json", capture]);
    assert!(io["reads"].as_u64().unwrap() > 0);

    let trace = export(capture, "perfetto", scratch.path());
    let longest = "select s.name, s.dur, s.ts from slice s \
                   where category = 'initcall' order by dur desc, ts limit 1";
    let files = "select s.name, s.ts from slice s where category = 'file' order by ts";
    let wrong = "select count(*) from stats where severity = 'error' and value > 0";
    let Some(answers) = ask_perfetto(&trace, &[longest, files, wrong]) else {
        return;
    };
    let one = [
        "blame", "--json", "--kind", "initcall", "--top", "1", capture,
    ];
    let row = &json(&one)["rows"][0];
    assert_eq!(
        answers[0],
        json!([[row["name"], row["wall_ns"], row["start_ns"]]])
    );
    assert_eq!(answers[2], json!([[0]]));
    let wanted = [
        "/sbin/init",
        "/bin/busybox",
        "/etc/first.conf",
        "/usr/share/second.txt",
    ];
    let inodes = inodes(&image, &wanted);
    let userspace = rows.last().unwrap()["start_ns"].as_i64().unwrap();
    let first = |file: &str| {
        let wanted = format!("inode {} on ", inodes[file]);
        let answers: &Vec<Value> = answers[1].as_array().unwrap();
        let found = answers.iter().find(|row| {
            let (name, at) = (row[0].as_str().unwrap(), row[1].as_i64().unwrap());
            name.starts_with(&wanted) && at >= userspace
        });
        found.unwrap_or_else(|| unreachable!("{file}: {answers:?}"))[1].as_i64()
    };
    let reads = wanted.map(first);
    assert!(reads.is_sorted(), "{reads:?}");
}

#[test]
fn a_pc_is_captured_from_power_on_to_first_light() {
    if are_there(&[
        "qemu-system-x86_64",
        "apt-get",
        "dpkg-deb",
        "mke2fs",
        "debugfs",
    ]) {
        let phases = [
            "firmware",
            "loader",
            "decompression",
            "kernel",
            "initrd",
            "userspace",
        ];
        a_boot("amd64", &phases);
    }
}

#[test]
fn a_64_bit_board_is_captured_from_power_on_to_first_light() {
    if are_there(&[
        "qemu-system-aarch64",
        "apt-get",
        "dpkg-deb",
        "mke2fs",
        "debugfs",
    ]) {
        a_boot(
            "arm64",
            &["firmware", "loader", "kernel", "initrd", "userspace"],
        );
    }
}
