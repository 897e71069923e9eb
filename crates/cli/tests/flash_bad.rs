//! What nobody should give to `firstlight flash`, and what is left of a file when
//! writing it goes wrong.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{Scratch, firstlight, json, workspace};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CORPUS: [&str; 8] = [
    "corpus/flash/rootfs.jffs2",
    "corpus/flash/board.ubi",
    "corpus/flash/environment.bin",
    "corpus/flash/environment-redundant.bin",
    "corpus/boot/uImage",
    "corpus/boot/board.itb",
    "corpus/boot/board.dtb",
    "corpus/boot/initrd.img",
];

/// Looks at a file with every verb: no panic, no signal, one sentence if it is
/// refused, and not for long.
fn looked_at(scratch: &Scratch, path: &str) {
    let out = scratch.path("out");
    let folder = scratch.path("folder");
    let treat = |text| vec!["treat", "plan", text, path];
    let runs = [
        vec!["flash", "check", path],
        vec!["flash", "summarize", path, "-o", &out],
        vec!["flash", "list", path],
        vec!["flash", "verify", path],
        vec!["flash", "extract", path, "-o", &folder],
        vec!["flash", "ubi", path],
        vec!["flash", "ubi", path, "--skip-check", "0", "-o", &out],
        vec!["flash", "env", path],
        vec!["flash", "env", path, "--set", "bootdelay=0", "-o", &out],
        vec!["image", "info", path],
        vec!["image", "repack", path, "--compression", "none", "-o", &out],
        treat("jffs2=summaries"),
        treat("ubi-skip-check=0"),
        treat("uimage-load=0x8000"),
        treat("dtb-bootdelay=0"),
        treat("initramfs=none"),
    ];
    for args in runs {
        let begun = Instant::now();
        let run = firstlight(&args);
        let said = String::from_utf8_lossy(&run.stderr);
        let code = run.status.code();
        assert!(matches!(code, Some(0..=2)), "{args:?}: {code:?} {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
        // Without what it printed, it is refused in one sentence.
        if code == Some(2) && run.stdout.is_empty() {
            assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
            assert!(said.contains(path), "{args:?}: {said}");
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{args:?}");
        fs::remove_file(&out).ok();
        fs::remove_dir_all(&folder).ok();
    }
    // Nothing else was written.
    assert_eq!(fs::read_dir(scratch.0.path()).unwrap().count(), 1);
}

#[test]
fn truncated_images_are_told_or_refused() {
    for name in CORPUS {
        let bytes = fs::read(workspace().join(name)).unwrap();
        for part in [1, 3, 7] {
            let scratch = Scratch::new();
            let cut = bytes.len() * part / 8 + part;
            looked_at(&scratch, &scratch.file("image", &bytes[..cut]));
        }
    }
}

#[test]
fn zeros_wrong_magic_and_absurd_lengths_are_refused() {
    for name in CORPUS {
        let bytes = fs::read(workspace().join(name)).unwrap();
        // The first magic number is another one; lengths behind it are absurd.
        let mut wrong = bytes.clone();
        wrong[..2].fill(0x5a);
        let mut absurd = bytes.clone();
        absurd[4..12].fill(0xff);
        for changed in [wrong, absurd] {
            let scratch = Scratch::new();
            looked_at(&scratch, &scratch.file("image", &changed));
        }
    }
    for bytes in [vec![0; 300_000], vec![0xff; 300_000], vec![0x85; 70_000]] {
        let scratch = Scratch::new();
        looked_at(&scratch, &scratch.file("image", &bytes));
    }
}

#[test]
fn a_node_of_four_gigabytes_takes_no_memory() {
    // A header that says 4 GiB, with a right checksum.
    let mut node = vec![0x85, 0x19, 0x02, 0xe0, 0xfc, 0xff, 0xff, 0xff];
    node.extend(jffs2_crc(&node).to_le_bytes());
    node.resize(0x2_0000, 0xff);
    let scratch = Scratch::new();
    let image = scratch.file("image", &node);
    for verb in ["check", "list", "verify"] {
        let exe = env!("CARGO_BIN_EXE_firstlight");
        // 512 MiB of address space, of which the program itself is a part.
        let limit = format!("ulimit -v 524288; exec {exe} flash {verb} {image}");
        let run = Command::new("sh").args(["-c", &limit]).output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(matches!(run.status.code(), Some(0..=2)), "{verb}: {said}");
        assert!(!said.contains("memory"), "{verb}: {said}");
    }
}

/// The CRC-32 of JFFS2, bit by bit.
fn jffs2_crc(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[test]
fn what_may_not_be_read_gets_one_sentence() {
    let scratch = Scratch::new();
    let image = scratch.file("image", &fs::read(workspace().join(CORPUS[0])).unwrap());
    let exe = env!("CARGO_BIN_EXE_firstlight");
    Command::new("chmod").args(["0", &image]).status().unwrap();
    // Without the rights of root, whoever runs the tests.
    let plain = fs::File::open(&image).is_err();
    let run = |args: &[&str]| -> Option<(i32, String)> {
        let mut command = if plain {
            Command::new(exe)
        } else {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", exe]);
            command
        };
        let out = command.args(args).output().ok()?;
        Some((out.status.code()?, String::from_utf8(out.stderr).ok()?))
    };
    Command::new("chmod")
        .arg("755")
        .arg(scratch.0.path())
        .status()
        .unwrap();
    let Some((_, said)) = run(&["flash", "check", &image]) else {
        eprintln!("skipped: there is no setpriv (Debian package util-linux)");
        return;
    };
    if said.contains("setpriv") {
        eprintln!("skipped: {}", said.trim());
        return;
    }
    for verb in ["check", "list", "verify", "ubi", "env"] {
        let (code, said) = run(&["flash", verb, &image]).unwrap();
        assert_eq!(code, 2, "{verb}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(
            said.contains("cannot be opened: Permission denied"),
            "{said}"
        );
    }
}

/// Every writer: its arguments without the output.
fn writers() -> Vec<Vec<&'static str>> {
    vec![
        vec!["flash", "summarize", CORPUS[0]],
        vec!["flash", "summarize", CORPUS[0], "--compat", "-e", "8KiB"],
        vec!["flash", "ubi", CORPUS[1], "--skip-check", "boot"],
        vec!["flash", "ubi", CORPUS[1], "--copy", "boot"],
        vec!["flash", "env", CORPUS[2], "--set", "bootdelay=0"],
        vec!["image", "repack", CORPUS[7], "--compression", "none"],
    ]
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    for args in writers() {
        let scratch = Scratch::new();
        let out = scratch.file("out", b"precious");
        // A limit on the size of files is a disk that is full after some bytes.
        let exe = env!("CARGO_BIN_EXE_firstlight");
        let line = format!(
            "trap '' XFSZ; ulimit -f 1; exec {exe} {} -o {out}",
            args.join(" ")
        );
        let run = Command::new("sh")
            .args(["-c", &line])
            .current_dir(workspace())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{args:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
        assert!(said.contains("out"), "{args:?}: {said}");
        assert_eq!(fs::read(&out).unwrap(), b"precious", "{args:?}");
        assert_eq!(
            fs::read_dir(scratch.0.path()).unwrap().count(),
            1,
            "{args:?}"
        );
    }
}

#[test]
fn a_writer_that_is_killed_leaves_the_old_file_or_the_new_one() {
    // Large enough that there is something to interrupt.
    let small = fs::read(workspace().join(CORPUS[0])).unwrap();
    let scratch = Scratch::new();
    let image = scratch.file("image", &small[..8 * 8192].repeat(400));
    let whole = scratch.path("whole");
    let args = ["flash", "summarize", &image, "-n", "-e", "8KiB", "-o"];
    json(&[&args[..], &[&whole, "--json"]].concat());
    let whole = fs::read(whole).unwrap();
    let (mut old, mut new) = (0, 0);
    for wait in (0..).map(|i| Duration::from_millis(i * 4)).take(40) {
        let out = scratch.file("out", b"precious");
        let mut child = Command::new(env!("CARGO_BIN_EXE_firstlight"))
            .args(args)
            .arg(&out)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(wait);
        child.kill().unwrap();
        child.wait().unwrap();
        match fs::read(&out).unwrap() {
            bytes if bytes == b"precious" => old += 1,
            bytes if bytes == whole => new += 1,
            bytes => panic!("{} bytes after {wait:?}", bytes.len()),
        }
    }
    assert!(old > 0, "every run was through in no time");
    eprintln!("killed: {old} left the old file, {new} the new one");
    // Whatever was left beside it is no obstacle.
    json(&[&args[..], &[&scratch.path("out"), "--json"]].concat());
    assert_eq!(fs::read(scratch.path("out")).unwrap(), whole);
}

#[test]
fn progress_is_for_terminals_only() {
    let image = workspace().join(CORPUS[0]);
    let image = image.to_str().unwrap();
    let piped = firstlight(&["flash", "check", image]);
    assert!(piped.stderr.is_empty());
    if !Path::new("/usr/bin/script").is_file() {
        eprintln!("skipped: there is no script (Debian package bsdutils)");
        return;
    }
    // On a terminal, something moves while a large image is read.
    let scratch = Scratch::new();
    let small = fs::read(image).unwrap();
    let large = scratch.file("large", &small[..8 * 8192].repeat(3000));
    let exe = env!("CARGO_BIN_EXE_firstlight");
    let line = format!("{exe} flash check {large}");
    let run = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let screen = String::from_utf8_lossy(&run.stdout);
    assert!(
        screen.contains("reading ") && screen.contains(" %"),
        "{screen}"
    );
}
