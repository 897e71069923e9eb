//! Images whose small files were moved into their inodes, judged by e2fsprogs and the kernel.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use super::move_inline;
use crate::Edited;
use crate::ext::arrange::ArrangeError;
use crate::ext::map;
use crate::testing::{FORMATS, damaged, ext, is_clean, noise, small_ext4, tool, tree, unmount};
use rawimage::Part;
use rustix::fs::{XattrFlags, getxattr, setxattr};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// An attribute's name.
const NOTE: &str = "user.note";

/// Files around the sizes from which on an inode has no room.
fn small_files(root: &Path) {
    for size in [1, 59, 60, 61, 63, 64, 65, 120, 126, 127, 128, 129, 130, 200] {
        fs::write(root.join(format!("size{size}")), noise(size, size as usize)).unwrap();
    }
}

/// Files whose attributes leave room in the inode, leave none, or lie in a block.
fn files_with_attributes(root: &Path) {
    let attribute = |name: &str, value: &str| {
        let path = root.join(name);
        fs::write(&path, noise(7, 70)).unwrap();
        if let Err(e) = setxattr(&path, NOTE, value.as_bytes(), XattrFlags::empty()) {
            eprintln!("skipped: no attribute for {name}: {e}");
        }
    };
    attribute("with-attribute", "twelve chars");
    attribute("with-much", &"0123456789".repeat(6));
    attribute("with-a-block", &"0123456789".repeat(60));
}

/// All files below `root`, by their names.
fn content(root: &Path) -> Files {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() && entry.file_name() != "lost+found" {
                folders.push(path);
            } else if kind.is_file() {
                let inside = path.strip_prefix(root).unwrap().to_owned();
                all.insert(inside, fs::read(&path).unwrap());
            }
        }
    }
    all
}

/// What the kernel reads from an image: content, and an attribute; `None` where nothing can
/// be mounted.
fn mounted(image: &Path) -> Option<(Files, Vec<Vec<u8>>)> {
    let at = tempfile::tempdir().unwrap();
    let paths = [image, at.path()].map(|p| p.to_str().unwrap());
    if !tool("mount", &["-o", "ro,loop", paths[0], paths[1]]) {
        return None;
    }
    let all = content(at.path());
    let notes = ["with-attribute", "with-much", "with-a-block"].map(|name| {
        let mut note = vec![0; 1_000];
        let length = getxattr(at.path().join(name), NOTE, &mut note).unwrap_or(0);
        note.truncate(length);
        note
    });
    assert!(unmount(paths[1]));
    Some((all, notes.to_vec()))
}

/// Moves what fits, writes that, and has e2fsck free the blocks.
fn moved(image: &Path) -> u64 {
    let file = fs::File::open(image).unwrap();
    let volume = Part::whole(&file).unwrap();
    let before = map(&volume).unwrap();
    let mut edited = Edited::new(volume, 4096);
    let count = move_inline(&mut edited, &before).unwrap();
    let file = fs::File::options().write(true).open(image).unwrap();
    for (at, bytes) in edited.changes() {
        file.write_all_at(bytes, at).unwrap();
    }
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let run = Command::new("e2fsck")
        .args(["-f", "-y", image.to_str().unwrap()])
        .env("PATH", path)
        .output()
        .unwrap();
    // It frees blocks, and finds nothing wrong with an inode.
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    let wrong = said.lines().filter(|l| l.contains("node"));
    let wrong: Vec<&str> = wrong.filter(|l| !l.contains("Checking")).collect();
    assert!(run.status.code().unwrap() <= 1, "{said}");
    assert!(wrong.is_empty(), "{wrong:?}");
    count
}

/// What debugfs reads of an image, without the zeros at the end of each file: of one that lies
/// in its inode it gives 60 bytes where there are less.
fn dumped(image: &Path) -> Option<Files> {
    let to = tempfile::tempdir().unwrap();
    let command = format!("rdump / {}", to.path().display());
    tool("debugfs", &["-R", &command, image.to_str().unwrap()]).then(|| {
        let mut files = content(to.path());
        for file in files.values_mut() {
            let length = file
                .iter()
                .rposition(|b| *b != 0)
                .map_or(0, |last| last + 1);
            file.truncate(length);
        }
        files
    })
}

#[test]
fn what_was_moved_is_clean_and_holds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    tree(&root);
    small_files(&root);
    files_with_attributes(&root);
    let formats = FORMATS.into_iter().filter(|f| f.0 == "ext4");
    for (number, (kind, block, features)) in formats.enumerate() {
        let sizes: &[&str] = if number == 0 {
            &["256", "512"]
        } else {
            &["256"]
        };
        for inode in sizes {
            let image = folder.path().join(format!("{number}-{inode}.img"));
            let features = format!("{features},extent");
            let options = ["-t", kind, "-b", block, "-I", inode, "-O", &features];
            if !ext(&image, 64, &options, Some(&root)) {
                return;
            }
            let seen = (mounted(&image), dumped(&image));
            let has = features.contains("inline_data");
            let count = moved(&image);
            assert!(has || count > 600, "{features}: {count}");
            assert!(is_clean(&image), "{features}");
            assert!((mounted(&image), dumped(&image)) == seen, "{features}");
            assert_eq!(moved(&image), 0, "{features}: once more");
        }
    }
}

/// Sizes that have room in inodes of 256 bytes, and sizes that do not, as mke2fs has it.
#[test]
fn as_much_fits_as_mke2fs_puts_there() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    fs::create_dir(&root).unwrap();
    small_files(&root);
    let [plain, inline] = ["^inline_data", "inline_data"].map(|feature| {
        let image = folder.path().join(format!("{feature}.img"));
        let options = ["-t", "ext4", "-I", "256", "-O", feature];
        ext(&image, 16, &options, Some(&root)).then_some(image)
    });
    let (Some(plain), Some(inline)) = (plain, inline) else {
        return;
    };
    moved(&plain);
    let in_blocks = |image: &Path| -> Vec<Vec<u8>> {
        let file = fs::File::open(image).unwrap();
        let map = map(&Part::whole(&file).unwrap()).unwrap();
        let numbers: Vec<u32> = map
            .inodes()
            .iter()
            .map(|i| i.number)
            .filter(|n| *n > 11)
            .collect();
        let extents = map.extents_of(&numbers);
        let apart = numbers
            .iter()
            .zip(extents)
            .filter(|(_, e)| e.iter().any(|e| e.offset == Some(0)));
        apart.filter_map(|(n, _)| map.path(*n)).collect()
    };
    let of_mke2fs = in_blocks(&inline);
    assert!(
        of_mke2fs.contains(&b"/size129".to_vec()) && !of_mke2fs.contains(&b"/size128".to_vec())
    );
    assert_eq!(in_blocks(&plain), of_mke2fs);
}

#[test]
fn what_has_no_room_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (options, small) in [
        (["-t", "ext4", "-I", "128"], true),
        (["-t", "ext3", "-I", "256"], false),
    ] {
        let image = folder.path().join(format!("{small}.img"));
        if !ext(&image, 8, &options, None) {
            return;
        }
        let file = fs::File::open(&image).unwrap();
        let volume = Part::whole(&file).unwrap();
        let before = map(&volume).unwrap();
        let refused = move_inline(&mut Edited::new(volume, 4096), &before).unwrap_err();
        match small {
            true => assert!(matches!(refused, ArrangeError::SmallInodes), "{refused}"),
            false => assert!(matches!(refused, ArrangeError::NoExtents), "{refused}"),
        }
    }
}

/// A damaged image is refused, or what is moved can be read; nothing panics.
#[test]
fn damage_does_not_panic() {
    for features in ["metadata_csum", "^metadata_csum"] {
        let Some(whole) = small_ext4(features) else {
            return;
        };
        for seed in 0..210 {
            let bytes = damaged(&whole, seed, 210, 3);
            let slice = bytes.as_slice();
            let volume = Part::whole(&slice).unwrap();
            if let Ok(before) = map(&volume) {
                let mut edited = Edited::new(volume, 1024);
                let _ = move_inline(&mut edited, &before);
            }
        }
    }
}
