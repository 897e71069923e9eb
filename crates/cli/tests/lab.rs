//! The exact lab, for real: Debian's kernel in QEMU, booted twice.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{firstlight, json};

#[test]
fn two_boots_of_the_same_inputs_are_the_same_to_the_byte() {
    // Named one by one, so that a machine without them says what it skips.
    for tool in ["qemu-system-x86_64", "apt-get", "dpkg-deb"] {
        let found = std::env::var_os("PATH")
            .is_some_and(|p| std::env::split_paths(&p).any(|d| d.join(tool).is_file()));
        if !found {
            eprintln!("skipped: the exact lab, because there is no {tool}");
            return;
        }
    }
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("smoke");
    let dir = out.to_str().unwrap();
    let run = ["lab", "run", "experiments/smoke.toml", "--check-exact"];
    let lab = json(&[&run[..], &["--out", dir, "--json"]].concat());
    assert_eq!(lab["clock"], "virtual");
    let exact = &lab["exact"][0];
    assert_eq!(exact["same"], true, "{exact}");
    assert_eq!(exact["digests"][0], exact["digests"][1]);

    // The capture of a trial is a capture like any other.
    let capture = lab["trials"][0]["capture"].as_str().unwrap();
    let show = json(&["show", "--json", capture]);
    assert_eq!(show["zero"], "power-on");
    assert_eq!(
        show["first_light"]["at_ns"],
        lab["trials"][0]["first_light_ns"]
    );
    let phases: Vec<&str> = show["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    assert_eq!(phases, ["firmware", "decompression", "kernel", "initrd"]);

    // Virtual time is never compared with wall time.
    let log = scratch.path().join("dmesg");
    std::fs::write(&log, "[    0.000000] Linux version 6.1.0\n").unwrap();
    let mixed = firstlight(&["diff", capture, "--against", log.to_str().unwrap()]);
    assert_eq!(mixed.status.code(), Some(2));
    let mixed = firstlight(&["show", capture, log.to_str().unwrap()]);
    assert_eq!(mixed.status.code(), Some(2));
}

#[test]
fn the_doctor_says_of_each_thing_how_to_get_it() {
    let doctor = json(&["lab", "doctor", "--json"]);
    let checks = doctor["checks"].as_array().unwrap();
    assert!(checks.iter().any(|c| c["name"] == "qemu-system-x86_64"));
    for check in checks {
        assert!(check["ok"] == true || !check["advice"].is_null(), "{check}");
    }
}

#[test]
fn an_experiment_that_is_wrong_says_where() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("bad.toml");
    std::fs::write(
        &path,
        "firstlight_experiment = 1\n[base]\nmachine = \"pdp11\"\n",
    )
    .unwrap();
    let dir = scratch.path().join("out");
    let out = firstlight(&[
        "lab",
        "run",
        path.to_str().unwrap(),
        "--out",
        dir.to_str().unwrap(),
    ]);
    assert_eq!(out.status.code(), Some(2));
    let text = String::from_utf8(out.stderr).unwrap();
    assert!(
        text.contains("bad.toml") && text.lines().count() == 1,
        "{text}"
    );
}
