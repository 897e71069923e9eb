//! `firstlight image` and `firstlight flash env`, as a user runs them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{Scratch, firstlight, json, sample, tool, workspace};
use serde_json::{Value, json as value};
use std::fs;
use std::process::Command;

const ENVIRONMENT: &str = "corpus/flash/environment.bin";
const PAIR: &str = "corpus/flash/environment-redundant.bin";
const INITRD: &str = "corpus/boot/initrd.img";
const FIT: &str = "corpus/boot/board.itb";
const SIGNED: &str = "corpus/boot/signed.itb";
const UIMAGE: &str = "corpus/boot/uImage";

fn corpus(name: &str) -> Vec<u8> {
    fs::read(workspace().join(name)).unwrap()
}

/// The one sentence on standard error of a run that ends with exit code 2.
fn refused(args: &[&str]) -> String {
    let out = firstlight(args);
    assert_eq!(out.status.code(), Some(2), "{args:?}");
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "one sentence: {text}");
    text
}

#[test]
fn an_environment_is_read() {
    let env = json(&["flash", "env", "--json", ENVIRONMENT]);
    let one = &env["environments"][0];
    assert_eq!(one["size"], 4096);
    assert_eq!(one["endian"], "little");
    assert_eq!(one["redundant"], false);
    assert_eq!(one["variables"]["bootdelay"], "3");
    let names: Vec<&str> = one["proposals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["bootdelay", "silent", "verify", "bootcmd"]);
    assert_eq!(one["proposals"][0]["saves_ns"], 3_000_000_000_u64);
    let pair = json(&["flash", "env", "--json", PAIR]);
    let copies = &pair["environments"][0]["copies"];
    assert_eq!(copies.as_array().unwrap().len(), 2);
    assert_eq!(
        (&copies[0]["active"], &copies[1]["active"]),
        (&value!(false), &value!(true))
    );
}

#[test]
fn a_change_is_written_beside_and_renamed() {
    let scratch = Scratch::new();
    let out = scratch.path("out.bin");
    let change = ["--set", "bootdelay=0", "--unset", "stdin", "--json"];
    let args = [&["flash", "env", ENVIRONMENT, "-o", &out][..], &change].concat();
    let said = json(&args);
    assert_eq!(said["change"]["out"], out.as_str());
    assert_eq!(
        said["change"]["edits"],
        value!([{ "offset": 0, "bytes": 4096 }])
    );
    let after = json(&["flash", "env", "--json", &out]);
    let variables = &after["environments"][0]["variables"];
    assert_eq!(variables["bootdelay"], "0");
    assert!(variables["stdin"].is_null());
    // The same file, in and out.
    let same = scratch.file("same.bin", &corpus(ENVIRONMENT));
    json(&[&["flash", "env", &same, "-o", &same][..], &change].concat());
    assert_eq!(fs::read(&same).unwrap(), fs::read(&out).unwrap());
    let differ = json(&["flash", "env", ENVIRONMENT, "--diff", &same, "--json"]);
    assert_eq!(
        differ["differences"],
        value!([
            { "name": "bootdelay", "before": "3", "after": "0" },
            { "name": "stdin", "before": "serial", "after": null },
        ])
    );
    // Without -o nothing is written.
    let plan = json(&["flash", "env", ENVIRONMENT, "--set", "a=b", "--json"]);
    assert!(plan["change"]["out"].is_null());
}

/// Two copies at places that are no multiples of 512, between bytes that look like names.
#[test]
fn an_environment_at_an_odd_place_can_be_changed() {
    let Some(image) = sample("images/env-set-readback-fails.img") else {
        return;
    };
    let scratch = Scratch::new();
    let out = scratch.path("out");
    json(&[
        "flash",
        "env",
        "--json",
        &image,
        "--set",
        "bootdelay=0",
        "-o",
        &out,
    ]);
    let after = json(&["flash", "env", "--json", &out]);
    assert_eq!(after["environments"][0]["variables"]["bootdelay"], "0");
    assert_eq!(
        after["environments"][0]["copies"].as_array().unwrap().len(),
        2
    );
}

#[test]
fn of_two_copies_the_old_one_stays() {
    let scratch = Scratch::new();
    let out = scratch.path("out.bin");
    json(&[
        "flash",
        "env",
        PAIR,
        "--set",
        "bootdelay=0",
        "-o",
        &out,
        "--json",
    ]);
    let (before, after) = (corpus(PAIR), fs::read(&out).unwrap());
    assert_eq!(before.len(), after.len());
    assert_eq!(before[4096..], after[4096..], "the copy that was active");
    assert_eq!(after[4], before[4096 + 4] + 1, "the next number");
    let env = json(&["flash", "env", "--json", &out]);
    assert_eq!(env["environments"][0]["copies"][0]["active"], true);
    assert_eq!(env["environments"][0]["variables"]["bootdelay"], "0");
}

/// The environment of Barebox with one file in it, as `bareboxenv -s` writes it.
fn barebox() -> Vec<u8> {
    let mut data = Vec::new();
    for number in [0x67a8_c78d_u32, 2, 24 + 8] {
        data.extend(number.to_le_bytes());
    }
    data.extend(b"/nv/autoboot_timeout\0\0\0\0");
    for number in [0x68a8_c78d_u32, 0o100_777] {
        data.extend(number.to_le_bytes());
    }
    data.extend(b"3\n\0\0");
    let mut image = Vec::new();
    for number in [0x798f_ba79, 0, crc(&data), data.len() as u32, 1, 0] {
        image.extend(number.to_le_bytes());
    }
    let sum = crc(&image);
    image.extend(sum.to_le_bytes());
    image.extend(data);
    image
}

/// CRC-32, as of zlib.
fn crc(bytes: &[u8]) -> u32 {
    let step = |register: u32, byte: &u8| {
        (0..8).fold(register ^ u32::from(*byte), |r, _| {
            (r >> 1) ^ (0xedb8_8320 & (r & 1).wrapping_neg())
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[test]
fn an_environment_of_barebox_is_recognised() {
    let scratch = Scratch::new();
    let mut image = vec![0xff; 0x2000];
    image.extend(barebox());
    image.resize(0x10000, 0xff);
    let image = scratch.file("barebox.bin", &image);
    let env = json(&["flash", "env", "--json", &image]);
    assert_eq!(env["environments"], value!([]));
    let file = value!({ "name": "/nv/autoboot_timeout", "size": 2 });
    assert_eq!(env["barebox"][0]["files"], value!([file]));
    assert_eq!(env["barebox"][0]["offset"], 0x2000);
    let info = json(&["image", "info", "--json", &image]);
    assert_eq!(info["files"][0]["items"][0]["kind"], "barebox-environment");
    let said = refused(&["flash", "env", &image, "--set", "a=b"]);
    assert!(
        said.contains("a Barebox environment begins at byte 8192"),
        "{said}"
    );
}

#[test]
fn verify_is_not_turned_off_for_a_signed_fit_image() {
    let scratch = Scratch::new();
    let out = scratch.path("out.bin");
    let old = scratch.file("old.bin", b"old");
    for value in ["no", "0", "off"] {
        let set = format!("verify={value}");
        let said = refused(&[
            "flash",
            "env",
            ENVIRONMENT,
            "--set",
            &set,
            "--fit",
            SIGNED,
            "-o",
            &old,
        ]);
        assert!(
            said.contains("would turn off the signature check"),
            "{said}"
        );
    }
    // In a script as well.
    let script = "bootcmd=setenv verify no; bootm";
    let said = refused(&[
        "flash",
        "env",
        ENVIRONMENT,
        "--set",
        script,
        "--fit",
        SIGNED,
        "-o",
        &old,
    ]);
    assert!(said.contains("signature check"), "{said}");
    assert_eq!(fs::read(&old).unwrap(), b"old");
    // In the same image.
    let both = [corpus(ENVIRONMENT), corpus(SIGNED)].concat();
    let both = scratch.file("both.bin", &both);
    let said = refused(&["flash", "env", &both, "--set", "verify=n", "-o", &out]);
    assert!(said.contains("at byte 4096"), "{said}");
    // One that is not signed, or a value that means yes.
    json(&[
        "flash",
        "env",
        ENVIRONMENT,
        "--set",
        "verify=no",
        "--fit",
        FIT,
        "-o",
        &out,
        "--json",
    ]);
    json(&[
        "flash",
        "env",
        ENVIRONMENT,
        "--set",
        "verify=y",
        "--fit",
        SIGNED,
        "-o",
        &out,
        "--json",
    ]);
    let said = refused(&[
        "flash",
        "env",
        ENVIRONMENT,
        "--set",
        "verify=no",
        "--fit",
        UIMAGE,
        "-o",
        &out,
    ]);
    assert!(said.contains("no FIT image"), "{said}");
}

#[test]
fn what_cannot_be_done_is_said_in_a_sentence() {
    let scratch = Scratch::new();
    let out = scratch.path("out.bin");
    let zeros = scratch.file("zeros", &[0; 9000]);
    let empty = scratch.file("empty", b"");
    let long = format!("a={}", "x".repeat(5000));
    let lone = [vec![0xff; 4096], corpus(PAIR)[..4096].to_vec()].concat();
    let lone = scratch.file("lone", &lone);
    for (args, part) in [
        (
            vec!["flash", "env", &zeros],
            "no U-Boot environment in 9000 bytes",
        ),
        (vec!["flash", "env", &empty], "is empty"),
        (vec!["flash", "env", "/nonexistent"], "cannot be opened"),
        (vec!["flash", "env", "/tmp"], "is a folder"),
        (
            vec!["flash", "env", ENVIRONMENT, "--set", "a"],
            "has no `=`",
        ),
        (
            vec!["flash", "env", ENVIRONMENT, "--set", "a="],
            "unset it instead",
        ),
        (
            vec!["flash", "env", ENVIRONMENT, "--set", &long, "-o", &out],
            "room for 4092",
        ),
        (
            vec!["flash", "env", ENVIRONMENT, "-o", &out],
            "nothing is to be changed",
        ),
        (
            vec!["flash", "env", ENVIRONMENT, "--set", "a=1", "--unset", "a"],
            "twice",
        ),
        (
            vec!["flash", "env", ENVIRONMENT, "--offset", "1MiB"],
            "past the end",
        ),
        (
            vec![
                "flash",
                "env",
                ENVIRONMENT,
                "--offset",
                "0",
                "--size",
                "512",
            ],
            "expected",
        ),
        (vec!["flash", "env", &lone, "--set", "a=1"], "--redundant"),
        (vec!["image", "info", &empty], "is empty"),
        (
            vec!["image", "repack", &zeros, "-c", "zstd", "-o", &out],
            "contains no archive",
        ),
        (
            vec!["image", "repack", UIMAGE, "-c", "zstd", "-o", &out],
            "neither an archive",
        ),
    ] {
        let said = refused(&args);
        assert!(said.contains(part), "{args:?}: {said}");
    }
    assert!(!fs::exists(&out).unwrap());
}

#[test]
fn boot_images_are_recognised() {
    for (file, kind) in [
        (UIMAGE, "uimage"),
        (FIT, "fit"),
        (SIGNED, "fit"),
        (INITRD, "initramfs"),
        (ENVIRONMENT, "u-boot-environment"),
        ("corpus/boot/board.dtb", "device-tree"),
        ("corpus/flash/rootfs.jffs2", "jffs2"),
        ("Cargo.toml", "other"),
    ] {
        let info = json(&["image", "info", "--json", file]);
        assert_eq!(info["files"][0]["items"][0]["kind"], kind, "{file}");
        let screen = firstlight(&["image", "info", file]);
        assert!(screen.status.success());
    }
    let info = json(&["image", "info", "--json", SIGNED]);
    assert_eq!(info["files"][0]["items"][0]["details"]["signed"], true);
    let info = json(&["image", "info", "--json", UIMAGE]);
    let details = &info["files"][0]["items"][0]["details"];
    assert_eq!(details["xip"]["load_address"], 0x8000_7fc0_u32);
    assert_eq!(details["data_crc_ok"], true);
}

#[test]
fn the_corpus_tells_what_it_was_made_to_tell() {
    let info = json(&["image", "info", "--json", "corpus/boot/board.dtb"]);
    let tree = &info["files"][0]["items"][0]["details"];
    assert_eq!(
        tree["bootargs"],
        "console=ttyAMA0,115200 root=/dev/mtdblock3 ro"
    );
    assert_eq!(
        tree["config"][0],
        value!({ "name": "bootdelay", "value": "-2" })
    );
    assert_eq!(tree["bootstage"][0]["us"], 20_364);
    let info = json(&["image", "info", "--json", FIT]);
    let images = &info["files"][0]["items"][0]["details"]["images"];
    let checks: Vec<&str> = images
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|i| i["hashes"].as_array().unwrap())
        .map(|h| h["check"].as_str().unwrap())
        .collect();
    assert_eq!(checks, ["right", "right", "right", "right"]);
}

/// What is said of an initramfs, without where its entries lie.
fn entries(file: &str) -> Vec<Value> {
    let info = json(&["image", "info", "--json", "--entries", file]);
    let mut entries = info["files"][0]["entries"].as_array().unwrap().clone();
    for entry in &mut entries {
        entry
            .as_object_mut()
            .unwrap()
            .retain(|k, _| k != "offset" && k != "segment");
    }
    entries
}

#[test]
fn an_initramfs_keeps_its_entries_however_it_is_packed() {
    let scratch = Scratch::new();
    let before = entries(INITRD);
    assert_eq!(before.len(), 12);
    for name in ["none", "gzip", "bzip2", "lzma", "xz", "lzo", "lz4", "zstd"] {
        let out = scratch.path(name);
        let said = json(&["image", "repack", INITRD, "-c", name, "-o", &out, "--json"]);
        assert_eq!(said["kept_segments"], 1);
        assert_eq!(said["segments_after"][0]["compression"], "none");
        assert_eq!(said["segments_after"][1]["compression"], name);
        assert_eq!(entries(&out), before, "{name}");
        // The microcode is where it was.
        let early = said["segments_before"][1]["offset"].as_u64().unwrap() as usize;
        assert_eq!(fs::read(&out).unwrap()[..early], corpus(INITRD)[..early]);
    }
}

#[test]
fn the_tools_read_what_is_written() {
    let scratch = Scratch::new();
    let out = scratch.path("initrd");
    for name in ["gzip", "bzip2", "lzma", "xz", "lzo", "lz4", "zstd"] {
        json(&["image", "repack", INITRD, "-c", name, "-o", &out, "--json"]);
        let Ok(listed) = Command::new("lsinitramfs").arg(&out).output() else {
            eprintln!("skipped: lsinitramfs (Debian package initramfs-tools-core) not there");
            return;
        };
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let mut theirs: Vec<&str> = text.lines().collect();
        let ours = entries(INITRD);
        let mut ours: Vec<&str> = ours.iter().map(|e| e["name"].as_str().unwrap()).collect();
        theirs.sort_unstable();
        ours.sort_unstable();
        assert_eq!(theirs, ours, "{name}");
    }
}

#[test]
fn dumpimage_agrees() {
    let scratch = Scratch::new();
    let out = scratch.path("kernel");
    for (file, kind) in [(UIMAGE, "kernel"), (FIT, "flat_dt"), (SIGNED, "flat_dt")] {
        let args = ["-T", kind, "-p", "0", "-o", &out, file];
        if !tool("dumpimage", &args) {
            return;
        }
        let info = json(&["image", "info", "--json", file]);
        let details = &info["files"][0]["items"][0]["details"];
        let (start, length) = match file {
            UIMAGE => (64, details["data_size"].as_u64().unwrap()),
            _ => {
                let data = &details["images"][0]["data"];
                (
                    data["offset"].as_u64().unwrap(),
                    data["size"].as_u64().unwrap(),
                )
            }
        };
        let bytes = corpus(file);
        let ours = &bytes[start as usize..(start + length) as usize];
        assert_eq!(ours, fs::read(&out).unwrap());
    }
}

#[test]
fn an_image_is_created_of_a_folder_and_counted() {
    let scratch = Scratch::new();
    let tree = scratch.path("tree");
    fs::create_dir_all(format!("{tree}/etc")).unwrap();
    fs::write(format!("{tree}/etc/small"), "x").unwrap();
    fs::write(format!("{tree}/large"), vec![1; 50_000]).unwrap();
    let image = scratch.path("root.cramfs");
    let made = json(&[
        "image",
        "create",
        &tree,
        "--form",
        "cramfs:xip",
        "-o",
        &image,
        "--json",
    ]);
    assert_eq!(made["bytes"], fs::metadata(&image).unwrap().len());
    let wrong = refused(&["image", "create", &tree, "--form", "ntfs", "-o", &image]);
    assert!(wrong.contains("write one of ext2"), "{wrong}");
    let counted = json(&["image", "statistics", "corpus/disk/small.ext4", "--json"]);
    let filesystem = &counted["filesystems"][0];
    assert_eq!(filesystem["filesystem"], "ext4");
    let costs = filesystem["check_costs"].as_array().unwrap();
    assert_eq!(costs.len(), 4);
    assert!(costs.iter().all(|c| c["ns"].as_u64().unwrap() > 0));
    let chip = refused(&[
        "image",
        "statistics",
        "corpus/disk/small.ext4",
        "--storage",
        "nor-s29gl",
    ]);
    assert!(chip.contains("nor-s29gl is a flash chip"), "{chip}");
}
