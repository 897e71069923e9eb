//! What the storage profiles promise, read inside a guest.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::json;

/// What serving costs beyond what is promised, as `docs/lab.md` states it: for each
/// request, and for each KiB.
const REQUEST_MS: f64 = 0.046;
const KIB_MS: f64 = 0.000_55;
/// The most that a request moves, as the lab sets it.
const MOST_REQUEST_KIB: f64 = 512.0;

/// How many requests a row makes, and how many KiB they move: from a name such as
/// `emmc: 400 x 4 KiB`.
fn work(name: &str) -> (f64, f64) {
    let (_, what) = name.split_once(": ").unwrap();
    let (count, size) = what.split_once(" x ").unwrap();
    let count: f64 = count.replace(',', "").parse().unwrap();
    let kib = match size {
        mib if mib.starts_with("1 MiB") => 1024.0,
        kib => {
            assert!(kib.starts_with("4 KiB"), "{name}");
            4.0
        }
    };
    (count * f64::max(kib / MOST_REQUEST_KIB, 1.0), count * kib)
}

#[test]
fn a_guest_finds_what_profiles_promise() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    for tool in ["qemu-system-x86_64", "apt-get", "dpkg-deb", "mke2fs"] {
        let more = ["/usr/sbin".into(), "/sbin".into()];
        let mut folders = std::env::split_paths(&path).chain(more);
        if !folders.any(|d| d.join(tool).is_file()) {
            eprintln!("skipped: storage profiles in a guest, because there is no {tool}");
            return;
        }
    }
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("out");
    let file = "experiments/storage/profiles.toml";
    let done = json(&[
        "lab",
        "classics",
        file,
        "--json",
        "--out",
        out.to_str().unwrap(),
    ]);
    let (mut near, mut limited) = (0, 0);
    for row in done["values"].as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        let ms = |key: &str| row[key].as_f64().map(|ns| ns / 1e6);
        let measured = ms("measured_ns").unwrap();
        let (requests, kib) = work(name);
        let own = requests * REQUEST_MS + kib * KIB_MS;
        // A device without any time promises nothing.
        let Some(promised) = ms("published_ns") else {
            continue;
        };
        let off = (measured - own) / promised - 1.0;
        if name.contains("at once") {
            // The processor is the limit, not the device.
            assert!(
                measured > promised,
                "{name}: {measured} ms of {promised} ms"
            );
            limited += 1;
        } else {
            assert!(
                off.abs() < 0.05,
                "{name}: {measured} ms, {own} ms of it serving, of {promised} ms"
            );
            near += 1;
        }
    }
    assert_eq!((near, limited), (10, 1));
}
