//! What the storage profiles promise, read inside a guest.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::json;

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
    let mut kept = 0;
    for row in done["values"].as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        let ms = |key: &str| row[key].as_f64().map(|ns| ns / 1e6);
        let measured = ms("measured_ns").unwrap();
        // A device without any time promises nothing.
        let Some(promised) = ms("published_ns") else {
            continue;
        };
        let off = measured / promised - 1.0;
        assert!(off.abs() < 0.05, "{name}: {measured} ms of {promised} ms");
        kept += 1;
    }
    assert_eq!(kept, 11);
}
