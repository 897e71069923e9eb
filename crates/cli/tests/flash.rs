//! `firstlight flash`, as a user runs it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{Scratch, firstlight, json, tool, valid, workspace};
use serde_json::Value;
use std::fs;
use std::path::Path;

const ROOTFS: &str = "corpus/flash/rootfs.jffs2";

fn rootfs() -> Vec<u8> {
    fs::read(workspace().join(ROOTFS)).unwrap()
}

/// The one sentence on standard error of a run that ends with exit code 2.
fn refused(args: &[&str]) -> String {
    let out = firstlight(args);
    assert_eq!(out.status.code(), Some(2), "{args:?}");
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "one sentence: {text}");
    text
}

/// What a run prints that ends with exit code 1.
fn gated(args: &[&str], schema: &str) -> Value {
    let out = firstlight(args);
    assert_eq!(out.status.code(), Some(1), "{args:?}");
    let value = serde_json::from_slice(&out.stdout).unwrap();
    valid(&value, schema);
    value
}

#[test]
fn a_check_gives_the_picture_and_its_counts() {
    let check = json(&["flash", "check", "--json", ROOTFS]);
    assert_eq!(check["map"], "=======-.....");
    assert_eq!(check["blocks"], 13);
    assert_eq!(check["erase_size"], 8192);
    assert_eq!(check["endian"], "little");
    assert_eq!(check["classes"]["full"], 7);
    assert_eq!(check["classes"]["erased"], 5);
    assert_eq!(check["problems"][0]["kind"], "no_summary");
    let mount = &check["mount_estimate_ns"];
    assert!(mount["scan"].as_u64() > mount["summary"].as_u64());
    let total: u64 = check["classes"]
        .as_object()
        .unwrap()
        .values()
        .map(|n| n.as_u64().unwrap())
        .sum();
    assert_eq!(check["blocks"], total);
}

#[test]
fn the_picture_has_colour_only_where_it_is_wanted() {
    let plain = firstlight(&["flash", "check", ROOTFS]).stdout;
    assert!(!plain.contains(&0x1b));
    let plain = String::from_utf8(plain).unwrap();
    assert!(plain.lines().any(|l| l == "=======-....."), "{plain}");
    let colour = firstlight(&["flash", "check", "--color", "always", ROOTFS]).stdout;
    let text = String::from_utf8(colour).unwrap();
    let stripped = without_colour(&text);
    assert_eq!(stripped, plain);
}

/// Text without its escape sequences.
fn without_colour(text: &str) -> String {
    let mut stripped = String::new();
    let mut parts = text.split('\u{1b}');
    stripped.push_str(parts.next().unwrap());
    for part in parts {
        let (_, rest) = part.split_once('m').unwrap();
        stripped.push_str(rest);
    }
    stripped
}

#[test]
fn an_erase_size_that_contradicts_the_content_is_told() {
    for size in ["16KiB", "16", "0x4000"] {
        let check = json(&["flash", "check", "--json", "-e", size, ROOTFS]);
        assert_eq!(check["erase_size"], 16384, "{size}");
        assert_eq!(check["erase_size_found"]["bytes"], 8192);
        assert_eq!(check["problems"][0]["kind"], "wrong_erase_size");
        assert!(check["problems"][0]["block"].is_null());
    }
}

#[test]
fn a_broken_summary_is_told_with_its_condition() {
    let scratch = Scratch::new();
    let summed = scratch.path("summed");
    json(&["flash", "summarize", "--json", ROOTFS, "-o", &summed, "-n"]);
    let good = json(&["flash", "check", "--json", &summed]);
    assert_eq!(good["map"], "SSSSSSSS-");
    assert_eq!(good["erase_size_found"]["evidence"], "summaries");
    let mut bytes = fs::read(&summed).unwrap();
    // In the fill between the entries and the marker of the third block.
    bytes[3 * 8192 - 12] ^= 0x40;
    let broken = scratch.file("broken", &bytes);
    let check = json(&["flash", "check", "--json", &broken]);
    assert_eq!(check["map"], "SS=SSSSS-");
    assert_eq!(check["classes"]["broken_summary"], 1);
    let problem = &check["problems"][0];
    assert_eq!(problem["kind"], "broken_summary");
    assert_eq!(problem["block"], 2);
}

#[test]
fn a_chip_that_is_larger_than_the_image_takes_longer() {
    let scan = |args: &[&str]| {
        let all = [&["flash", "check", "--json", ROOTFS], args].concat();
        let check = json(&all);
        let name = check["storage"]["name"].as_str().unwrap().to_owned();
        (name, check["mount_estimate_ns"]["scan"].as_u64().unwrap())
    };
    let (name, image) = scan(&[]);
    assert_eq!(name, "nandsim-128m");
    assert!(scan(&["--chip-size", "128MiB"]).1 > image);
    assert_eq!(scan(&["--chip-size", "8KiB"]).1, image);
    assert_eq!(scan(&["--storage", "nor-s29gl"]).0, "nor-s29gl");
}

#[test]
fn a_dump_with_spare_bytes_is_read_as_the_image() {
    let mut dump = Vec::new();
    for page in rootfs().chunks(512) {
        dump.extend(page);
        dump.extend([0xff; 16]);
    }
    let scratch = Scratch::new();
    let dump = scratch.file("dump", &dump);
    let check = json(&["flash", "check", "--json", &dump]);
    assert_eq!(check["map"], "=======-.....");
    assert_eq!(check["oob"]["page"], 512);
    let check = json(&["flash", "check", "--json", "--oob", "512+16", &dump]);
    assert_eq!(check["map"], "=======-.....");
    let list = json(&["flash", "list", "--json", &dump]);
    let plain = json(&["flash", "list", "--json", ROOTFS]);
    assert_eq!(list["files"], plain["files"]);
}

#[test]
fn compat_writes_the_bytes_of_sumtool() {
    let scratch = Scratch::new();
    let image = workspace().join(ROOTFS);
    let image = image.to_str().unwrap();
    let (ours, theirs) = (scratch.path("ours"), scratch.path("theirs"));
    let options: [(&[&str], &[&str]); 4] = [
        (&["-n", "-p", "-e", "8KiB"], &["-n", "-p", "-e", "8KiB"]),
        (&["-e", "16"], &["-e", "16"]),
        (
            &["--cleanmarker", "20", "-e", "8KiB"],
            &["-c", "20", "-e", "8KiB"],
        ),
        (&["-l", "--erase-size", "0x8000"], &["-l", "-e", "0x8000"]),
    ];
    for (our, their) in options {
        let args = [&["flash", "summarize", "--compat", image, "-o", &ours], our].concat();
        json(&[&["--json"], args.as_slice()].concat());
        if tool("sumtool", &[&["-i", image, "-o", &theirs], their].concat()) {
            assert_eq!(
                fs::read(&ours).unwrap(),
                fs::read(&theirs).unwrap(),
                "{our:?}"
            );
        }
    }
}

/// The default of `sumtool` is 64 KiB; in this image it is 128 KiB, and its clean markers
/// say so.
#[test]
fn compat_takes_no_erase_size_that_the_image_contradicts() {
    let scratch = Scratch::new();
    let tree = scratch.path("tree");
    fs::create_dir(&tree).unwrap();
    // Nothing that packs: several blocks, each with a marker.
    let mut state = 1_u64;
    let noise = (0..500_000).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as u8
    });
    fs::write(format!("{tree}/noise"), noise.collect::<Vec<u8>>()).unwrap();
    let (image, out) = (scratch.path("image"), scratch.path("out"));
    if !tool(
        "mkfs.jffs2",
        &["-r", &tree, "-o", &image, "-l", "-e", "128KiB"],
    ) {
        return;
    }
    let args = ["flash", "summarize", "--compat", &image, "-o", &out];
    let said = refused(&args);
    assert!(
        said.contains("made for erase blocks of 131072 bytes"),
        "{said}"
    );
    assert!(!Path::new(&out).exists());
    json(&[&args[..], &["--json", "-e", "128KiB"]].concat());
}

#[test]
fn an_image_can_take_its_own_place() {
    let scratch = Scratch::new();
    let image = scratch.file("image", &rootfs());
    let apart = scratch.path("apart");
    let first = json(&["flash", "summarize", "--json", &image, "-o", &apart, "-n"]);
    assert_eq!(first["lost"], serde_json::json!([]));
    json(&["flash", "summarize", "--json", &image, "-o", &image, "-n"]);
    assert_eq!(fs::read(&image).unwrap(), fs::read(&apart).unwrap());
    assert_eq!(fs::read_dir(scratch.0.path()).unwrap().count(), 2);
}

#[test]
fn a_failure_leaves_the_old_file() {
    let scratch = Scratch::new();
    let out = scratch.file("out", b"precious");
    let said = refused(&["flash", "summarize", ROOTFS, "-o", &out, "-e", "16KiB"]);
    assert!(said.contains("contradicts the image"), "{said}");
    let tar = scratch.file(
        "evil.jffs2",
        &[b"x".repeat(257), b"ustar".to_vec()].concat(),
    );
    refused(&["flash", "summarize", &tar, "-o", &out]);
    refused(&[
        "flash",
        "summarize",
        ROOTFS,
        "-o",
        &scratch.path("no/such/folder"),
    ]);
    refused(&["flash", "summarize", ROOTFS, "-o", "/dev/null"]);
    refused(&["flash", "summarize", ROOTFS, "-o", &scratch.path("")]);
    assert_eq!(fs::read(&out).unwrap(), b"precious");
    assert_eq!(fs::read_dir(scratch.0.path()).unwrap().count(), 2);
}

#[test]
fn obsolete_nodes_stay_dead_unless_sumtool_is_wanted() {
    let mut bytes = rootfs();
    // The first node, marked as obsolete as NOR flash does it.
    bytes[3] &= !0x20;
    let scratch = Scratch::new();
    let (image, out) = (scratch.file("image", &bytes), scratch.path("out"));
    let safe = json(&["flash", "summarize", "--json", &image, "-o", &out, "-n"]);
    assert_eq!(safe["resurrected"], 0);
    assert_eq!(safe["lost"][0]["why"], "obsolete");
    assert_eq!(safe["lost"][0]["first"], 0);
    let args = [
        "flash",
        "summarize",
        "--json",
        &image,
        "-o",
        &out,
        "--compat",
        "-n",
        "-e",
        "8",
    ];
    assert_eq!(json(&args)["resurrected"], 1);
}

#[test]
fn a_list_says_what_the_kernel_would_see() {
    let list = json(&["flash", "list", "--json", ROOTFS]);
    let files = list["files"].as_array().unwrap();
    let find = |path: &str| files.iter().find(|f| f["path"] == path).unwrap();
    assert_eq!(find("bin/sh")["target"], "app");
    assert_eq!(find("dev/console")["device"], serde_json::json!([5, 1]));
    assert_eq!(find("bin/app")["mode"], 0o100_755);
    let etc = json(&[
        "flash",
        "list",
        "--json",
        "--nodes",
        ROOTFS,
        "/etc/hostname",
    ]);
    let nodes = etc["files"][0]["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 1);
    assert_eq!(nodes[0]["length"], 7);
    let said = refused(&["flash", "list", ROOTFS, "/et"]);
    assert!(said.contains("there is no `et` in it"), "{said}");
}

#[test]
fn files_come_out_as_they_went_in() {
    let scratch = Scratch::new();
    let tree = scratch.path("tree");
    fs::create_dir_all(format!("{tree}/a/b")).unwrap();
    fs::write(format!("{tree}/a/b/text"), "some text\n".repeat(5000)).unwrap();
    fs::write(format!("{tree}/empty"), "").unwrap();
    std::os::unix::fs::symlink("a/b/text", format!("{tree}/link")).unwrap();
    let (image, out) = (scratch.path("image"), scratch.path("out"));
    for order in ["-l", "-b"] {
        if !tool("mkfs.jffs2", &["-r", &tree, "-o", &image, order]) {
            return;
        }
        let done = json(&["flash", "extract", "--json", &image, "-o", &out]);
        assert_eq!((&done["files"], &done["symlinks"]), (&2.into(), &1.into()));
        for file in ["a/b/text", "empty", "link"] {
            let read = |root: &str| fs::read(Path::new(root).join(file)).unwrap();
            assert_eq!(read(&out), read(&tree), "{file}");
        }
        let said = refused(&["flash", "extract", &image, "-o", &out]);
        assert!(said.contains("is not empty"), "{said}");
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn damage_is_found_and_told() {
    let good = json(&["flash", "verify", "--json", ROOTFS]);
    assert_eq!(good["ok"], true);
    let mut bytes = rootfs();
    bytes[20_000] ^= 0x10;
    let scratch = Scratch::new();
    let (image, out) = (scratch.file("image", &bytes), scratch.path("out"));
    let verified = gated(&["flash", "verify", "--json", &image], "flash.verify");
    assert_eq!(verified["ok"], false);
    assert_eq!(verified["lost"][0]["why"], "data_crc");
    assert_eq!(verified["findings"][0]["path"], "bin/app");
    let run = firstlight(&["flash", "extract", "--json", &image, "-o", &out]);
    assert_eq!(run.status.code(), Some(2));
    let done: Value = serde_json::from_slice(&run.stdout).unwrap();
    valid(&done, "flash.extract");
    assert_eq!(done["not_as_they_were"][0]["kind"], "gap");
}

#[test]
fn what_cannot_be_used_gets_one_sentence() {
    let scratch = Scratch::new();
    let empty = scratch.file("empty", b"");
    let zeros = scratch.file("zeros", &[0; 70_000]);
    let mut tar = vec![0; 4096];
    tar[257..262].copy_from_slice(b"ustar");
    let tar = scratch.file("tar.jffs2", &tar);
    for (path, says) in [
        ("no/such/file", "No such file"),
        ("/", "is a folder"),
        (&empty, "is empty"),
        (&zeros, "which look like zero bytes"),
        (&tar, "which look like a tar archive"),
        ("README.md", "no JFFS2 node"),
    ] {
        for verb in ["check", "list", "verify"] {
            let said = refused(&["flash", verb, path]);
            assert!(said.contains(says) && said.contains(path), "{verb}: {said}");
        }
        let to = scratch.path("summaries");
        for size in [&[][..], &["-e", "128KiB"]] {
            let args = [&["flash", "summarize", path, "-o", &to], size].concat();
            let said = refused(&args);
            assert!(said.contains(says) && said.contains(path), "{said}");
            assert!(!Path::new(&to).exists());
        }
    }
    for args in [
        ["-e", "12KB"],
        ["-e", "9999MiB"],
        ["--oob", "2048"],
        ["--oob", "64+64"],
        ["--storage", "floppy"],
    ] {
        let out = firstlight(&[&["flash", "check", ROOTFS], args.as_slice()].concat());
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        let said = String::from_utf8(out.stderr).unwrap();
        let says = said.contains("expected") || said.contains("; pass a");
        assert!(says, "{said}");
    }
    let said = refused(&["flash", "check", ROOTFS, "-e", "6001"]);
    assert!(
        said.contains("impossible erase block size of 6001 bytes"),
        "{said}"
    );
}

const BOARD: &str = "corpus/flash/board.ubi";

#[test]
fn a_ubi_image_is_told_as_the_kernel_sees_it() {
    let ubi = json(&["flash", "ubi", "--json", BOARD]);
    assert_eq!(ubi["attaches"], true);
    assert_eq!(ubi["map"], "LL011111111111111111");
    assert_eq!(ubi["volumes"][0]["content"], "squashfs");
    assert_eq!(ubi["volumes"][0]["check"]["ok"], true);
    let ubifs = &ubi["volumes"][1]["ubifs"];
    assert_eq!(ubifs["mounts"], true);
    assert_eq!(ubifs["needs_fixup"], true);
    assert_eq!(ubifs["needs_replay"], false);
    assert_eq!(ubi["fastmap"]["broken"], "large_enough");
    assert_eq!(ubi["fits"][0]["subpage"], 256);
    let screen = firstlight(&["flash", "ubi", BOARD]).stdout;
    let screen = String::from_utf8(screen).unwrap();
    assert!(screen.contains("The kernel attaches it."), "{screen}");
}

#[test]
fn a_chip_that_an_image_is_not_for_is_told() {
    let ubi = json(&["flash", "ubi", "--json", BOARD, "--min-io", "512"]);
    assert_eq!(ubi["attaches"], false);
    assert_eq!(ubi["refusal"], "bad VID header offset 256, expected 512");
    let advice = ubi["device"]["misfit"]["advice"].as_str().unwrap();
    assert!(advice.contains("ubinize -m 512 -s 512"), "{advice}");
    assert!(advice.contains("read-only"), "{advice}");
    let told = [
        "flash",
        "ubi",
        "--json",
        BOARD,
        "-m",
        "512",
        "-O",
        "256",
        "--chip-size",
        "4MiB",
    ];
    let ubi = json(&told);
    assert_eq!(ubi["attaches"], true);
    assert_eq!(ubi["device"]["read_only"], true);
    assert_eq!(ubi["chip_blocks"], 256);
    let scan = |ubi: &Value| ubi["attach_estimate_ns"]["scan"].as_u64().unwrap();
    let alone = json(&["flash", "ubi", "--json", BOARD]);
    assert!(scan(&ubi) > 2 * scan(&alone));
    let said = refused(&["flash", "ubi", BOARD, "--chip-size", "64KiB"]);
    assert!(said.contains("does not fit a chip of 4"), "{said}");
}

#[test]
fn the_check_of_a_static_volume_is_spared_and_made_again() {
    let scratch = Scratch::new();
    let out = scratch.path("out.ubi");
    let done = json(&[
        "flash",
        "ubi",
        "--json",
        BOARD,
        "--skip-check",
        "boot",
        "-o",
        &out,
    ]);
    assert_eq!(done["places"], serde_json::json!([512, 16896]));
    let ubi = json(&["flash", "ubi", "--json", &out]);
    assert_eq!(ubi["volumes"][0]["skip_check"], true);
    assert_eq!(ubi["volumes"][0]["open_ns"], 0);
    let screen = firstlight(&["flash", "ubi", BOARD, "--skip-check", "0", "-o", &out]);
    let screen = String::from_utf8(screen.stdout).unwrap();
    assert!(screen.contains("What is lost"), "{screen}");
    json(&[
        "flash", "ubi", "--json", &out, "--check", "boot", "-o", &out,
    ]);
    let board = fs::read(workspace().join(BOARD)).unwrap();
    assert!(fs::read(&out).unwrap() == board);
    let copied = scratch.path("boot.sq");
    let args = [
        "flash", "ubi", "--json", BOARD, "--copy", "boot", "-o", &copied,
    ];
    assert_eq!(json(&args)["bytes"], 4096);
    assert!(fs::read(&copied).unwrap().starts_with(b"hsqs"));
    let volume = |volume| refused(&["flash", "ubi", BOARD, "--skip-check", volume, "-o", &out]);
    assert!(volume("rootfs").contains("is dynamic"));
    assert!(volume("x").contains("known volumes: boot, rootfs"));
    assert!(refused(&["flash", "ubi", BOARD, "-o", &out]).contains("goes with --skip-check"));
    assert!(fs::read(&out).unwrap() == board);
}

#[test]
fn the_files_of_ubifs_are_those_of_the_same_tree_in_jffs2() {
    let list = |image: &str| {
        let list = json(&["flash", "list", "--json", image]);
        let files = list["files"].as_array().unwrap().clone();
        let files = files.into_iter().skip(1).map(|mut file| {
            for key in ["ino", "links"] {
                file.as_object_mut().unwrap().remove(key);
            }
            if file["type"] != "file" {
                file["size"] = 0.into();
            }
            file
        });
        (list["filesystem"].clone(), files.collect::<Vec<_>>())
    };
    let (jffs2, ubifs) = (list(ROOTFS), list(BOARD));
    assert_eq!((jffs2.0, ubifs.0), ("jffs2".into(), "ubifs".into()));
    assert_eq!(jffs2.1, ubifs.1);
    let verified = json(&["flash", "verify", "--json", BOARD]);
    assert_eq!(verified["ok"], true);
    let scratch = Scratch::new();
    let (one, other) = (scratch.path("one"), scratch.path("other"));
    json(&["flash", "extract", "--json", ROOTFS, "-o", &one]);
    json(&[
        "flash", "extract", "--json", BOARD, "--volume", "rootfs", "-o", &other,
    ]);
    let app = |root: &str| fs::read(Path::new(root).join("bin/app")).unwrap();
    assert!(app(&one) == app(&other));
    let said = refused(&["flash", "list", BOARD, "--volume", "boot"]);
    assert!(said.contains("no UBIFS superblock"), "{said}");
    let said = refused(&["flash", "list", BOARD, "--nodes"]);
    assert!(said.contains("--nodes is for JFFS2"), "{said}");
}

#[test]
fn ubifs_is_looked_at_without_ubi_too() {
    let scratch = Scratch::new();
    let tree = scratch.path("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(format!("{tree}/file"), "content").unwrap();
    let image = scratch.path("image.ubifs");
    let args = [
        "-r", &tree, "-m", "2048", "-e", "129024", "-c", "100", "-o", &image,
    ];
    if tool("mkfs.ubifs", &args) {
        let seen = json(&["flash", "ubi", "--json", &image]);
        assert_eq!(seen["ubifs"]["mounts"], true);
        assert_eq!(seen["ubifs"]["needs_fixup"], false);
        assert_eq!(seen["ubifs"]["superblock"]["leb_size"], 129_024);
        let list = json(&["flash", "list", "--json", &image]);
        assert_eq!(list["files"][1]["path"], "file");
    }
}

#[test]
fn what_is_not_ubi_gets_one_sentence() {
    for (path, says) in [
        ("no/such/file", "No such file"),
        ("/", "is a folder"),
        (ROOTFS, "no UBI header"),
        ("README.md", "no UBI header"),
    ] {
        let said = refused(&["flash", "ubi", path]);
        assert!(said.contains(says) && said.contains(path), "{said}");
    }
    let said = refused(&["flash", "ubi", BOARD, "--min-io", "1000"]);
    assert!(said.contains("must be a power of two"), "{said}");
}
