//! `firstlight image` and `firstlight flash env`, as a user runs them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

#[path = "../../bootimage/tests/barebox/mod.rs"]
mod barebox;
mod common;

use barebox::barebox;
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

/// An arm64 kernel of 4 MiB that gzip packed; `None` where there is no gzip.
fn packed_kernel(scratch: &Scratch) -> Option<String> {
    let mut kernel = vec![0_u8; 4 << 20];
    kernel[16..24].copy_from_slice(&(4_u64 << 20).to_le_bytes());
    kernel[56..60].copy_from_slice(b"ARM\x64");
    let banner = b"Linux version 6.6.31 (a@b) (gcc 12) #1 SMP Mon May 27 2024\n";
    kernel[8192..8192 + banner.len()].copy_from_slice(banner);
    let mut state = 1_u32;
    for byte in &mut kernel[16_384..3 << 20] {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (state >> 24) as u8 & 0x0f;
    }
    let path = scratch.file("kernel", &kernel);
    tool("gzip", &["-9", "-f", &path]).then_some(())?;
    Some(format!("{path}.gz"))
}

/// A FAT with these files, by mtools; `None` where they are not there.
fn fat(scratch: &Scratch, files: &[(&str, &str)]) -> Option<Vec<u8>> {
    let image = scratch.file("fat", &[]);
    fs::File::options()
        .write(true)
        .open(&image)
        .unwrap()
        .set_len(16 << 20)
        .unwrap();
    tool("mkfs.vfat", &["-F", "16", "-n", "BOOTFS", &image]).then_some(())?;
    tool("mmd", &["-i", &image, "::/extlinux", "::/overlays"]).then_some(())?;
    for (from, to) in files {
        tool("mcopy", &["-i", &image, from, &format!("::/{to}")]).then_some(())?;
    }
    fs::read(image).ok()
}

/// A disk with the FAT in its first partition.
fn disk_of(fat: &[u8]) -> Vec<u8> {
    let mut disk = vec![0_u8; 1 << 20];
    disk[446 + 4] = 0x0c;
    disk[446 + 8..446 + 12].copy_from_slice(&2048_u32.to_le_bytes());
    let sectors = u32::try_from(fat.len() / 512).unwrap();
    disk[446 + 12..446 + 16].copy_from_slice(&sectors.to_le_bytes());
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    disk.extend_from_slice(fat);
    disk
}

/// The path, and whether it is booted, of each file of a role.
fn of_role(filesystem: &Value, role: &str) -> Vec<(String, bool)> {
    let files = filesystem["files"].as_array().unwrap().iter();
    let files = files.filter(|f| f["role"] == role);
    let told = |f: &Value| (f["path"].as_str().unwrap().to_owned(), f["used"] == true);
    files.map(told).collect()
}

#[test]
fn what_a_boot_partition_boots_is_told_and_advised_on() {
    let scratch = Scratch::new();
    let Some(kernel) = packed_kernel(&scratch) else {
        return;
    };
    let cmdline = "console=serial0,115200 root=/dev/mmcblk0p2 rootwait rootdelay=3";
    let cmdline = scratch.file("cmdline", format!("{cmdline}\n").as_bytes());
    let config = b"[pi3]\ninitramfs other followkernel\n[all]\narm_64bit=1\nauto_initramfs=1\n";
    let config = scratch.file("config", config);
    let files = [
        (kernel.as_str(), "kernel8.img"),
        (kernel.as_str(), "kernel7.img"),
        (INITRD, "initramfs8"),
        (INITRD, "initramfs7"),
        ("corpus/boot/board.dtb", "board.dtb"),
        ("corpus/boot/board.dtb", "overlays/a-long-name.dtbo"),
        (&cmdline, "cmdline.txt"),
        (&config, "config.txt"),
        (ENVIRONMENT, "uboot.env"),
    ];
    let Some(fat) = fat(&scratch, &files) else {
        return;
    };
    let disk = scratch.file("disk", &disk_of(&fat));
    let info = json(&["image", "info", "--json", &disk]);
    let found = &info["files"][0]["items"][0]["inside"][0];
    assert_eq!(found["details"]["filesystem"], "FAT16");
    assert_eq!(found["details"]["label"], "BOOTFS");
    let kernels = [
        ("/kernel7.img".to_owned(), false),
        ("/kernel8.img".to_owned(), true),
    ];
    assert_eq!(of_role(found, "kernel"), kernels);
    let archives = [
        ("/initramfs7".to_owned(), false),
        ("/initramfs8".to_owned(), true),
    ];
    assert_eq!(of_role(found, "initramfs"), archives);
    for role in [
        "device-tree",
        "overlay",
        "command-line",
        "firmware",
        "environment",
    ] {
        assert_eq!(of_role(found, role).len(), 1, "{role}");
    }
    let advice = json(&["advise", "--json", "--image", &disk]);
    let all = advice["findings"].as_array().unwrap();
    let find = |id: &str| all.iter().filter(|f| f["id"] == id).collect::<Vec<_>>();
    assert_eq!(find("kernel-compression").len(), 1);
    let place = &find("root-delay")[0]["evidence"][0];
    assert_eq!(place["source"], format!("{disk}:/cmdline.txt"));
    let place = &find("boot-delay")[0]["evidence"][0];
    assert_eq!(place["source"], format!("{disk}:/uboot.env"));
    // As a file of its own.
    let own = json(&["advise", "--json", "--image", &kernel]);
    let own = &own["findings"][0];
    assert_eq!(own["id"], "kernel-compression");
    assert_eq!(find("kernel-compression")[0]["saving_ns"], own["saving_ns"]);
}

#[test]
fn what_extlinux_conf_names_is_booted() {
    let scratch = Scratch::new();
    let Some(kernel) = packed_kernel(&scratch) else {
        return;
    };
    let menu = "default main\ntimeout 30\nlabel old\n kernel /old.gz\n append rootdelay=9\n\
                label main\n linux ../Image.gz\n append root=/dev/mmcblk0p2 rootdelay=2\n";
    let menu = scratch.file("menu", menu.as_bytes());
    let files = [
        (kernel.as_str(), "Image.gz"),
        (kernel.as_str(), "old.gz"),
        (&menu, "extlinux/extlinux.conf"),
    ];
    let Some(fat) = fat(&scratch, &files) else {
        return;
    };
    let image = scratch.file("bare", &fat);
    let info = json(&["image", "info", "--json", &image]);
    let found = &info["files"][0]["items"][0];
    let kernels = [
        ("/Image.gz".to_owned(), true),
        ("/old.gz".to_owned(), false),
    ];
    assert_eq!(of_role(found, "kernel"), kernels);
    let advice = json(&["advise", "--json", "--image", &image]);
    let text = advice.to_string();
    assert!(
        text.contains("rootdelay=2") && !text.contains("rootdelay=9"),
        "{text}"
    );
}

/// The header of an Android boot image of version 2, with the ramdisk and no kernel.
#[test]
fn an_android_image_tells_its_header_and_its_command_line() {
    let scratch = Scratch::new();
    let mut image = vec![0_u8; 4096];
    image[..8].copy_from_slice(b"ANDROID!");
    let archive = corpus(INITRD);
    for (at, value) in [(16, archive.len() as u32), (36, 2048), (40, 2)] {
        image[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    let cmdline = b"console=ttyMSM0,115200n8 rootdelay=4 slub_debug";
    image[64..64 + cmdline.len()].copy_from_slice(cmdline);
    image.truncate(2048);
    image.extend_from_slice(&archive);
    let path = scratch.file("boot.img", &image);
    let info = json(&["image", "info", "--json", &path]);
    let item = &info["files"][0]["items"][0];
    assert_eq!(item["kind"], "android-boot");
    assert_eq!(item["details"]["header_version"], 2);
    assert_eq!(item["inside"][0]["kind"], "initramfs");
    let screen = firstlight(&["image", "info", &path]);
    let screen = String::from_utf8(screen.stdout).unwrap();
    assert!(
        screen.contains("version 2") && screen.contains("rootdelay=4"),
        "{screen}"
    );
    let advice = json(&["advise", "--json", "--image", &path]);
    let all = advice["findings"].as_array().unwrap();
    let delay = all.iter().find(|f| f["id"] == "root-delay").unwrap();
    assert_eq!(delay["evidence"][0]["source"], path);
    assert_eq!(delay["evidence"][0]["offset"], 64);
}

/// A list or a target that is a pipe is taken, or refused in one sentence.
#[test]
fn a_pipe_gives_a_list_and_is_no_target() {
    let scratch = Scratch::new();
    let folder = scratch.path("tree");
    fs::create_dir_all(format!("{folder}/bin")).unwrap();
    fs::write(format!("{folder}/bin/a"), vec![b'a'; 9_000]).unwrap();
    fs::write(format!("{folder}/bin/b"), vec![b'b'; 3_000]).unwrap();
    let image = scratch.file("image", &[]);
    if !tool(
        "mke2fs",
        &["-q", "-F", "-t", "ext4", "-d", &folder, &image, "4M"],
    ) {
        return;
    }
    let list = scratch.file("list", b"/bin/b\n/bin/a\n");
    let run = |script: &str| {
        let script = script.replace("FIRSTLIGHT", env!("CARGO_BIN_EXE_firstlight"));
        let out = Command::new("sh").args(["-c", &script]).output().unwrap();
        let text = [out.stdout, out.stderr].concat();
        (out.status.code(), String::from_utf8(text).unwrap())
    };
    let order = |list: &str| format!("FIRSTLIGHT image order --for ext4 --image {image} {list}");
    let (code, wanted) = run(&order(&list));
    assert!(code == Some(0) && wanted.contains("2 files"), "{wanted}");
    let through = |list: &str| run(&format!("cat {} | {}", scratch.path("list"), order(list)));
    assert_eq!(through("-"), (Some(0), wanted.clone()));
    assert_eq!(through("/dev/stdin"), (Some(0), wanted));
    let pipe = format!("cat {image} | FIRSTLIGHT image order --for ext4 --image /dev/stdin {list}");
    let (code, said) = run(&pipe);
    assert!(
        code == Some(2) && said.contains("a pipe gives its bytes once"),
        "{said}"
    );
    for target in ["-", "/dev/stdin"] {
        let (code, said) = run(&format!(
            "echo quiet | FIRSTLIGHT treat plan cmdline+=x {target}"
        ));
        assert!(
            code == Some(2) && said.contains("pass a folder or a file"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
