//! Treatments of images: to the byte and back.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

mod common;

use common::{apply, go_on, undo};
use firstlight_treat::files::{Applied, Journal, Opened};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn images_are_treated_and_put_back() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus");
    for (name, text) in [
        ("flash/environment.bin", "env=bootdelay=-2"),
        ("flash/environment-redundant.bin", "env-=bootdelay"),
        ("boot/initrd.img", "initramfs=none"),
        ("boot/initrd.img", "initramfs=zstd"),
        ("flash/rootfs.jffs2", "jffs2=summaries"),
        ("flash/board.ubi", "ubi-skip-check=boot"),
        ("flash/board.ubi", "ubi-skip-check=0"),
        ("boot/uImage", "uimage-load=0x82000000"),
        ("boot/board.dtb", "dtb-bootdelay=0"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        fs::copy(format!("{corpus}/{name}"), &path).unwrap();
        let before = fs::read(&path).unwrap();
        assert!(
            matches!(apply(&path, text), Ok(Applied::Changed { .. })),
            "{text}"
        );
        assert_ne!(fs::read(&path).unwrap(), before);
        assert_eq!(apply(&path, text).unwrap(), Applied::Already, "{text}");
        undo(&path, text).unwrap();
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

/// An ext image of 4 MiB with a directory of many names and a file of some blocks; `None`,
/// with a visible line, where e2fsprogs is not installed.
fn ext_image(folder: &Path, options: &[&str]) -> Option<PathBuf> {
    let (tree, image) = (folder.join("tree"), folder.join("image"));
    fs::create_dir_all(tree.join("many")).unwrap();
    for n in 0..300 {
        fs::write(tree.join(format!("many/name-of-some-length-{n}")), "x").unwrap();
    }
    fs::write(tree.join("large"), vec![7; 200_000]).unwrap();
    let made = std::process::Command::new("mke2fs")
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .stdout(std::process::Stdio::null())
        .args(["-q", "-F", "-b", "1024", "-d"])
        .arg(&tree)
        .args(options)
        .arg(&image)
        .arg("4096")
        .status();
    fs::remove_dir_all(&tree).unwrap();
    match made {
        Ok(status) => {
            assert!(status.success());
            Some(image)
        }
        Err(e) => {
            eprintln!("skipped: mke2fs: {e}; install e2fsprogs");
            None
        }
    }
}

#[test]
fn ext_images_are_changed_by_their_own_tools_and_put_back() {
    for (options, text) in [
        (&["-t", "ext3"][..], "ext=no-journal"),
        (&["-t", "ext2"], "ext=extents"),
        (&["-t", "ext2", "-O", "^dir_index"], "ext=dir-index"),
        (&["-t", "ext4", "-I", "256"], "ext=inline-data"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let Some(image) = ext_image(folder.path(), options) else {
            return;
        };
        let before = fs::read(&image).unwrap();
        let changed = apply(&image, text);
        assert!(
            matches!(changed, Ok(Applied::Changed { .. })),
            "{text}: {changed:?}"
        );
        let after = fs::read(&image).unwrap();
        assert_ne!(after, before, "{text}");
        assert_eq!(apply(&image, text).unwrap(), Applied::Already, "{text}");
        assert_eq!(fs::read(&image).unwrap(), after, "{text}");
        undo(&image, text).unwrap();
        assert_eq!(fs::read(&image).unwrap(), before, "{text}");
    }
}

#[test]
fn inline_data_needs_extents_and_large_inodes() {
    for (options, why) in [
        (["-t", "ext3", "-I", "256"], "apply `ext=extents` first"),
        (
            ["-t", "ext4", "-I", "128"],
            "create the filesystem anew with `-I 256`",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let Some(image) = ext_image(folder.path(), &options) else {
            return;
        };
        let before = fs::read(&image).unwrap();
        let refused = apply(&image, "ext=inline-data").unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
        assert_eq!(fs::read(&image).unwrap(), before);
    }
}

/// Mounting it to be changed would change it, and nothing could be undone any more.
#[test]
fn an_ext_image_that_was_changed_as_a_whole_is_not_mounted_to_undo_that() {
    let folder = tempfile::tempdir().unwrap();
    let Some(image) = ext_image(folder.path(), &["-t", "ext3"]) else {
        return;
    };
    let before = fs::read(&image).unwrap();
    for applied in [true, false] {
        if applied {
            apply(&image, "ext=no-journal").unwrap();
        }
        let opened = Opened::new(&image, None, true).unwrap();
        assert_eq!(opened.target().file(), Some("image"));
        let mut journal = Journal::open(opened.target(), &mut go_on).unwrap();
        assert_eq!(journal.undo(None, &mut go_on).is_ok(), applied);
        assert_eq!(fs::read(&image).unwrap(), before);
    }
}

#[test]
fn an_unclean_ext_image_is_repaired_first() {
    let folder = tempfile::tempdir().unwrap();
    let Some(image) = ext_image(folder.path(), &["-t", "ext3"]) else {
        return;
    };
    let clean = fs::read(&image).unwrap();
    assert_eq!(apply(&image, "ext=clean").unwrap(), Applied::Already);
    // The state in the superblock: not unmounted cleanly.
    let mut dirty = clean.clone();
    dirty[1_024 + 0x3a] = 0;
    fs::write(&image, &dirty).unwrap();
    let refused = apply(&image, "ext=no-journal").unwrap_err().to_string();
    assert!(refused.contains("apply `ext=clean` first"), "{refused}");
    assert_eq!(fs::read(&image).unwrap(), dirty);
    let changed = apply(&image, "ext=clean");
    assert!(
        matches!(changed, Ok(Applied::Changed { .. })),
        "{changed:?}"
    );
    undo(&image, "ext=clean").unwrap();
    assert_eq!(fs::read(&image).unwrap(), dirty);
    let other = folder.path().join("other");
    fs::write(&other, [0; 5_000]).unwrap();
    let refused = apply(&other, "ext=extents").unwrap_err().to_string();
    assert!(refused.contains("not an ext2, ext3 or ext4"), "{refused}");
}

#[test]
fn an_image_that_is_none_for_a_treatment_is_refused_and_kept() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus");
    for (name, text, says) in [
        ("boot/uImage", "jffs2=summaries", "no JFFS2 node"),
        ("flash/board.ubi", "jffs2=summaries", "no JFFS2 node"),
        ("flash/rootfs.jffs2", "ubi-skip-check=0", "UBI"),
        ("flash/board.ubi", "ubi-skip-check=rootfs", "is dynamic"),
        ("flash/board.ubi", "ubi-skip-check=none", "boot, rootfs"),
        ("boot/board.dtb", "uimage-load=0x8000", "27051956"),
        ("boot/signed.itb", "dtb-bootdelay=0", "signed FIT"),
        ("boot/uImage", "dtb-bootdelay=0", "device tree"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        fs::copy(format!("{corpus}/{name}"), &path).unwrap();
        let before = fs::read(&path).unwrap();
        let refused = apply(&path, text).unwrap_err().to_string();
        assert!(refused.contains(says), "{text}: {refused}");
        assert!(refused.contains("nothing was changed"), "{text}: {refused}");
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
