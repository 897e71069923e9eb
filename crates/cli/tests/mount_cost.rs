//! `firstlight image info`: what mounting costs.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Scratch, firstlight, json, workspace};

#[test]
fn a_jffs2_costs_what_flash_check_says() {
    let image = workspace().join("corpus/flash/rootfs.jffs2");
    let image = image.to_str().unwrap();
    for chip in ["nandsim-128m", "nor-s29gl"] {
        let check = json(&["flash", "check", image, "--storage", chip, "--json"]);
        let info = json(&["image", "info", image, "--storage", chip, "--json"]);
        let mount = &info["files"][0]["items"][0]["mount"];
        assert_eq!(mount["total_ns"], check["mount_now_ns"]);
        assert_eq!(mount["storage"], chip);
        assert_eq!(mount["error_percent"], check["storage"]["error_percent"]);
    }
}

#[test]
fn a_filesystem_is_timed_on_the_storage_that_is_named() {
    let folder = Scratch::new();
    let mut image = vec![0; 8192];
    image[..8].copy_from_slice(b"-rom1fs-");
    image[16..20].copy_from_slice(b"root");
    let path = folder.file("image", &image);
    let path = path.as_str();
    let mount = |storage: &str| {
        let info = json(&["image", "info", path, "--storage", storage, "--json"]);
        info["files"][0]["items"][0]["mount"].clone()
    };
    let none = mount("none");
    let card = mount("sd-card");
    assert_eq!(none["processor_ns"], none["total_ns"]);
    // A command, and 1 KiB at 20 MB a second.
    let storage = card["total_ns"].as_u64().unwrap() - card["processor_ns"].as_u64().unwrap();
    assert_eq!(storage, 735_000 + 51_200);
    assert_eq!(card["reads"], 1);
    assert_eq!(card["state"], "clean");
    // A profile of the user's: the card with twice the time for a command.
    let profiles = workspace().join("crates/storage/src/profiles.toml");
    let profiles = std::fs::read_to_string(profiles).unwrap();
    let slower = profiles.replace("value = 735_000", "value = 1_470_000");
    let own = folder.file("board.toml", slower.as_bytes());
    let own = mount(&format!("{own}#sd-card"));
    let more = own["total_ns"].as_u64().unwrap() - card["total_ns"].as_u64().unwrap();
    assert_eq!(more, 735_000);
    // No block device is a chip of flash.
    assert!(mount("nandsim-128m").is_null());
    let said = firstlight(&["image", "info", path, "--storage", "nandsim-128m"]);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("romfs needs a block device"), "{said}");
    let said = firstlight(&["image", "info", path, "--storage", "floppy"]);
    assert_eq!(said.status.code(), Some(2));
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains("known profiles: emmc"), "{said}");
}

#[test]
fn a_replay_of_unknown_length_has_no_bound() {
    let folder = Scratch::new();
    // An f2fs whose checkpoint was not written at unmounting.
    let mut image = vec![0; 4 << 20];
    image[1024..1028].copy_from_slice(&0xf2f5_2010_u32.to_le_bytes());
    image[1040..1048].copy_from_slice(&[12, 0, 0, 0, 9, 0, 0, 0]);
    let path = folder.file("image", &image);
    let info = json(&["image", "info", &path, "--json"]);
    let mount = &info["files"][0]["items"][0]["mount"];
    assert_eq!(mount["state"], "replay");
    assert_eq!(mount["at_least"], true);
    assert!(mount["error_percent"].is_null());
    let said = firstlight(&["image", "info", &path]);
    let said = String::from_utf8(said.stdout).unwrap();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("at least") && said.contains("(without the replay)"),
        "{said}"
    );
}

#[test]
fn a_file_of_mounts_that_is_wrong_is_told() {
    let folder = Scratch::new();
    let path = folder.file("x.toml", b"firstlight_mount_cost = 1\n");
    let words = ["lab", "mounts", &path, "--out", &folder.path("out")];
    let said = firstlight(&words);
    assert_eq!(said.status.code(), Some(2));
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains("x.toml:1: missing field"), "{said}");
}
