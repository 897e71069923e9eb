//! What the storage profiles promise, read inside a guest.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{firstlight, json, workspace};

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

/// The server of the modelled device reads an image in the same guest; what is asked of
/// the device counts, and not once more what the server asks for it.
#[test]
fn a_requests_data_counts_once() {
    let tools = ["qemu-system-x86_64", "apt-get", "dpkg-deb", "mke2fs"];
    if let Some(tool) = tools.iter().find(|t| !has(t)) {
        eprintln!("skipped: there is no {tool}");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let (file, out) = (scratch.path().join("card.toml"), scratch.path().join("out"));
    let reader = workspace().join("experiments/findings/reader");
    let text = format!(
        "firstlight_experiment = 1\n[base]\nmachine = \"pc\"\nmemory_mb = 512\nstorage = \"sd-card\"\n\
         kernel = \"debian\"\nroot = {{ tree = {reader:?}, filesystem = \"ext4\", busybox = true }}\n\
         cmdline = [\"nokaslr\", \"panic=-1\", \"tsc=reliable\", \"quiet\", \"cryptomgr.notests\"]\n\
         first_light = \"kmsg:reader: done\"\nrecord = [\"block\"]\nensemble = 1\n\
         [[variant]]\nname = \"plain\"\ntreatments = [\"kernel=uncompressed\"]\n"
    );
    std::fs::write(&file, text).unwrap();
    let done = firstlight(&[
        "lab",
        "run",
        file.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let capture = out.join("trials/plain/0/capture");
    let io = json(&["io", "--json", capture.to_str().unwrap()]);
    let devices = io["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 1, "{devices:?}");
    assert_eq!(devices[0]["device"], "43:0");
    assert_eq!(io["read_bytes"], devices[0]["read_bytes"]);
    // The card is read from end to end, once.
    let mib = io["read_bytes"].as_u64().unwrap() >> 20;
    assert!((12..15).contains(&mib), "{mib} MiB");
    let notes = io["notes"].as_array().unwrap();
    let own = notes.iter().find(|n| n["kind"] == "own_device").unwrap();
    assert!(own["count"].as_u64().unwrap() > 100, "{own}");
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
