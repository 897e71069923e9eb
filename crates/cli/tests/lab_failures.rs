//! Boots that fail for real: each has one clear sentence, and nothing half-written
//! is taken for a result.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{firstlight, json};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether boots can be tried; says what is missing.
fn possible() -> bool {
    for tool in ["qemu-system-arm", "apt-get", "dpkg-deb", "mke2fs"] {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let more = ["/usr/sbin".into(), "/sbin".into()];
        if !std::env::split_paths(&path)
            .chain(more)
            .any(|d| d.join(tool).is_file())
        {
            eprintln!("skipped: boots that fail, because there is no {tool}");
            return false;
        }
    }
    true
}

/// An experiment of one boot, in the file `name`.
fn experiment(folder: &Path, name: &str, root: &str, more: &str) -> PathBuf {
    let file = folder.join(name);
    let text = format!(
        "firstlight_experiment = 1\n[base]\nmachine = \"arm-virt\"\narch = \"armhf\"\n\
         memory_mb = 512\nstorage = \"none\"\nkernel = \"debian\"\nroot = \"{root}\"\n\
         limit_wall_s = 200\nensemble = 1\n{more}"
    );
    std::fs::write(&file, text).unwrap();
    file
}

/// The words of every boot's command line.
const WORDS: &str = "\"console=ttyAMA0\", \"panic=-1\", \"quiet\", \"cryptomgr.notests\"";

/// The only boot of an experiment.
fn boot(file: &Path) -> Value {
    let out = file.with_extension("out");
    let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    json(&["lab", "run", file, "--out", out, "--json"])["trials"][0].clone()
}

/// What failed in it.
fn failure(file: &Path) -> Value {
    let trial = boot(file);
    assert!(trial["first_light_ns"].is_null(), "{trial}");
    trial["failure"].clone()
}

#[test]
fn a_panic_and_a_silent_guest_are_results_and_init_ends_a_boot_without_systemd() {
    if !possible() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let more = format!("first_light = \"init\"\ncmdline = [{WORDS}, \"rdinit=/none\"]\n");
    let said = failure(&experiment(scratch.path(), "panic.toml", "none", &more)).to_string();
    assert!(said.contains("Kernel panic - not syncing"), "{said}");

    // An init that the kernel itself can run on any processor does not exist: it is
    // busybox for this one, if a classic has brought it.
    let cache = std::env::var_os("FIRSTLIGHT_CACHE").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/firstlight"),
        PathBuf::from,
    );
    let Ok(busybox) = std::fs::read(cache.join("busybox/busybox-armhf")) else {
        eprintln!("skipped: a guest that never ends, because the cache has no busybox-armhf");
        return;
    };
    let tree = scratch.path().join("tree");
    // The agent makes the others that it needs.
    for folder in ["bin", "sbin", "dev", "proc"] {
        std::fs::create_dir_all(tree.join(folder)).unwrap();
    }
    let init = b"#!/bin/busybox sh\nwhile :; do /bin/busybox sleep 1000; done\n";
    for (name, content) in [("bin/busybox", &busybox[..]), ("sbin/init", init)] {
        std::fs::write(tree.join(name), content).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(tree.join(name), mode).unwrap();
    }
    let image = scratch.path().join("idle.img");
    std::fs::File::create(&image)
        .unwrap()
        .set_len(16 << 20)
        .unwrap();
    let mut mke2fs = Command::new("mke2fs");
    mke2fs.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    let made = mke2fs.args(["-q", "-F", "-t", "ext4", "-b", "4096", "-d"]);
    assert!(made.args([&tree, &image]).status().unwrap().success());
    let more =
        format!("first_light = \"file:/never\"\nlimit_virtual_s = 20\ncmdline = [{WORDS}]\n");
    let said = failure(&experiment(scratch.path(), "idle.toml", "idle.img", &more)).to_string();
    assert!(
        said.contains("stopped after 20 s of virtual time (limit_virtual_s)"),
        "{said}"
    );

    // Without systemd nobody calls the agent, and the boot ends with its init all the same.
    let more = format!("first_light = \"init\"\nlimit_virtual_s = 40\ncmdline = [{WORDS}]\n");
    let trial = boot(&experiment(
        scratch.path(),
        "busybox.toml",
        "idle.img",
        &more,
    ));
    assert!(trial["first_light_ns"].is_number(), "{trial}");
}

#[test]
fn an_image_larger_than_the_machine_has_room_for_is_refused() {
    if !possible() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let image = scratch.path().join("big.img");
    std::fs::File::create(&image)
        .unwrap()
        .set_len(600 << 20)
        .unwrap();
    let more = format!("first_light = \"init\"\ncmdline = [{WORDS}]\n");
    let file = experiment(scratch.path(), "big.toml", "big.img", &more);
    let out = scratch.path().join("out");
    let done = firstlight(&[
        "lab",
        "run",
        file.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(done.status.code(), Some(2));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        said.contains("supports roots up to 512 MiB; make it smaller"),
        "{said}"
    );
    assert!(!out.join("trials").exists());
}

#[test]
fn the_classics_are_listed_with_what_was_published() {
    let list = json(&["lab", "classics", "--list", "--json"]);
    common::valid(&list, "classics");
    let rows = list["rows"].as_array().unwrap();
    assert!(rows.len() >= 20, "{}", rows.len());
    for row in rows {
        let figures = row["published"]["values"].as_object().unwrap();
        // Some documents publish a claim without a figure. Then the source says so.
        let says_none = row["source"].as_str().unwrap().contains("without figures");
        assert_eq!(figures.is_empty(), says_none, "{row}");
    }
    let done = firstlight(&["lab", "classics", "no-such-thing", "--out", "x"]);
    assert_eq!(done.status.code(), Some(2));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        said.contains("there is no classic `no-such-thing`"),
        "{said}"
    );
}
