//! What the storage profiles promise, read inside a guest.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::json;

/// What may be off, in parts: of any row, and of reads that overlap.
struct Kept {
    file: &'static str,
    emulator: &'static str,
    overlapping: f64,
}

const FILES: [Kept; 2] = [
    Kept {
        file: "experiments/storage/profiles.toml",
        emulator: "qemu-system-x86_64",
        overlapping: 0.05,
    },
    // The server takes longer for a request than is promised between two of them.
    Kept {
        file: "experiments/storage/profiles-arm-virt-64.toml",
        emulator: "qemu-system-aarch64",
        overlapping: 0.25,
    },
];

fn has(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin".into(), "/sbin".into()];
    let mut folders = std::env::split_paths(&path).chain(more);
    folders.any(|d| d.join(tool).is_file())
}

#[test]
fn a_guest_finds_what_profiles_promise() {
    for kept in FILES {
        let tools = [kept.emulator, "apt-get", "dpkg-deb", "mke2fs"];
        if let Some(tool) = tools.iter().find(|t| !has(t)) {
            eprintln!("skipped: {}, because there is no {tool}", kept.file);
            continue;
        }
        holds(&kept);
    }
}

fn holds(kept: &Kept) {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("out");
    let done = json(&[
        "lab",
        "classics",
        kept.file,
        "--json",
        "--out",
        out.to_str().unwrap(),
    ]);
    let mut rows = 0;
    for row in done["values"].as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        let ms = |key: &str| row[key].as_f64().map(|ns| ns / 1e6);
        let measured = ms("measured_ns").unwrap();
        // A device without any time promises nothing.
        let Some(promised) = ms("published_ns") else {
            continue;
        };
        let most = match name.contains("at once") {
            true => kept.overlapping,
            false => 0.05,
        };
        let off = measured / promised - 1.0;
        assert!(off.abs() < most, "{name}: {measured} ms of {promised} ms");
        rows += 1;
    }
    assert_eq!(rows, 11);
}
