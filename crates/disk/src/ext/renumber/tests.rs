//! Images whose inodes were brought together, judged by e2fsprogs.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use super::{Renumbered, Tables, renumber};
use crate::Edited;
use crate::ext::arrange::{ArrangeError, Wanted, arrange};
use crate::ext::map;
use crate::map::Map;
use crate::testing::{
    FORMATS, contain, damaged, each_file, ext, is_clean, small_ext4, tool, tree, unmount,
};
use rawimage::Part;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;

/// Every second inode, the last ones first.
fn wanted(map: &Map) -> Vec<u32> {
    let all = map.inodes().iter().rev().step_by(2);
    all.map(|i| i.number).collect()
}

fn write(path: &Path, edited: &Edited<'_>) {
    let file = fs::File::options().write(true).open(path).unwrap();
    for (at, bytes) in edited.changes() {
        file.write_all_at(bytes, at).unwrap();
    }
}

/// What `debugfs` says of every inode with a name: all but its number.
fn stats(image: &Path, map: &Map) -> Vec<(Vec<u8>, String)> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let script = tempfile::NamedTempFile::new().unwrap();
    let mut paths: Vec<Vec<u8>> = map
        .inodes()
        .iter()
        .filter_map(|i| map.path(i.number))
        .collect();
    paths.sort();
    let lines: Vec<u8> = paths
        .iter()
        .flat_map(|p| [b"stat \"".as_slice(), p, b"\"\n"].concat())
        .collect();
    fs::write(script.path(), lines).unwrap();
    let run = Command::new("debugfs")
        .args([
            "-f",
            script.path().to_str().unwrap(),
            image.to_str().unwrap(),
        ])
        .env("PATH", path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let parts = text.split("debugfs: stat").skip(1);
    let stats: Vec<String> = parts
        .map(|part| {
            let lines = part
                .lines()
                .skip(1)
                .map(|line| match line.split_once("Type:") {
                    Some((_, rest)) => rest,
                    None if line.starts_with("Inode checksum") => "",
                    None => line,
                });
            lines.collect::<Vec<_>>().join("\n")
        })
        .collect();
    assert_eq!(stats.len(), paths.len());
    paths.into_iter().zip(stats).collect()
}

#[test]
fn what_was_renumbered_is_clean_and_holds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    tree(&root);
    let more = [
        ("ext2", "1024", "^dir_index"),
        ("ext4", "1024", "metadata_csum,64bit,meta_bg,^resize_inode"),
    ];
    for (number, (kind, block, features)) in FORMATS.into_iter().chain(more).enumerate() {
        let image = folder.path().join(format!("{number}.img"));
        let options = ["-t", kind, "-b", block, "-O", features];
        if !ext(&image, 64, &options, Some(&root)) {
            return;
        }
        // `e2fsck -D` gives large directories their index, and says that it changed them.
        tool("e2fsck", &["-f", "-y", "-D", image.to_str().unwrap()]);
        let seen = mounted(&image, &root);
        let file = fs::File::open(&image).unwrap();
        let volume = Part::whole(&file).unwrap();
        let before = map(&volume).unwrap();
        let was = stats(&image, &before);
        let mut edited = Edited::new(volume, 4096);
        let done = renumber(&mut edited, &before, &wanted(&before)).unwrap();
        assert_eq!(done.kept_for, None);
        assert!(
            done.numbers.len() > 300,
            "{features}: {}",
            done.numbers.len()
        );
        assert_eq!(done.runs, 1, "{features}");
        assert_eq!(
            done.numbers.keys().max(),
            before.inodes().iter().map(|i| &i.number).max()
        );
        // The map of what is to be written is that of what was written.
        let foretold = map(&Part::whole(&edited).unwrap()).unwrap();
        write(&image, &edited);
        assert!(is_clean(&image), "{features}");
        let file = fs::File::open(&image).unwrap();
        let volume = Part::whole(&file).unwrap();
        let after = map(&volume).unwrap();
        assert_eq!(foretold.inodes(), after.inodes());
        assert_eq!(after.notes, before.notes);
        assert_eq!(after.inodes().len(), before.inodes().len());
        assert_eq!(stats(&image, &after), was, "{features}");
        let tables = Tables::read(&volume).unwrap();
        for inode in after.inodes() {
            let place = tables.place(inode.number).unwrap();
            assert!(tables.inodes(place, 1).eq([inode.number]));
        }
        let new = done.numbers.values().map(|n| tables.place(*n).unwrap());
        let mut places: Vec<u64> = new.collect();
        places.sort_unstable();
        let size = tables.place(2).unwrap() - tables.place(1).unwrap();
        let adjoins = |pair: &[u64]| pair[0] + size == pair[1];
        assert!(
            places.windows(2).all(adjoins),
            "{features}: one behind the other"
        );
        // All of a run of tables, whichever of them it begins in.
        let found = tables.inodes(places[0], size * places.len() as u64);
        assert_eq!(found.count(), places.len());
        let files = each_file(&root, &after, &mut |path, inode, pieces| {
            let old = before.find(
                path.strip_prefix(&root)
                    .unwrap()
                    .as_os_str()
                    .as_encoded_bytes(),
            );
            let old = old.unwrap();
            assert_eq!(*done.numbers.get(&old).unwrap_or(&old), inode);
            contain(&file, path, pieces);
        });
        assert!(files > 700);
        // And laid out on top of that, as one change.
        if features.contains("metadata_csum") && kind == "ext4" {
            let place = Wanted::Place {
                start: 0,
                len: u64::MAX,
            };
            let arranged = arrange(&volume, &after, &[place]).unwrap();
            assert!(arranged.blocks > 0 || features.contains("inline"));
        }
        // Linux reads the same, if it may be asked.
        assert_eq!(mounted(&image, &root), seen, "{features}");
    }
}

/// How the kernel's view of an image differs from the tree that it was made of, where one
/// can mount (an `mke2fs` loses the content of a file with holes in data that is inline).
fn mounted(image: &Path, root: &Path) -> Option<String> {
    let at = tempfile::tempdir().unwrap();
    let paths = [image, at.path()].map(|p| p.to_str().unwrap());
    if !tool("mount", &["-o", "ro,loop", paths[0], paths[1]]) {
        return None;
    }
    let run = Command::new("diff")
        .args(["-r", "--no-dereference", "-x", "lost+found"])
        .args([root, at.path()])
        .output();
    let links = fs::metadata(at.path().join("hard")).map(|m| m.nlink());
    assert!(unmount(paths[1]));
    assert_eq!(links.unwrap(), 2);
    let text = String::from_utf8_lossy(&run.unwrap().stdout).into_owned();
    Some(text.replace(paths[1], ""))
}

/// Where tables do not adjoin, and where hardly a number is free, the inodes lie in more
/// pieces, and that is told.
#[test]
fn pieces_are_told_where_there_is_no_room_in_one() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    fs::create_dir(&root).unwrap();
    for number in 0..400 {
        fs::write(root.join(format!("f{number:03}")), "x").unwrap();
    }
    let image = folder.path().join("x.img");
    for (inodes, takes, pieces) in [("8192", 400, 1..2), ("2048", 400, 2..9), ("440", 20, 1..9)] {
        let features = "^flex_bg,^resize_inode";
        let options = ["-t", "ext4", "-b", "1024", "-N", inodes, "-O", features];
        if !ext(&image, 64, &options, Some(&root)) {
            return;
        }
        let file = fs::File::open(&image).unwrap();
        let volume = Part::whole(&file).unwrap();
        let before = map(&volume).unwrap();
        let all = before.inodes().iter().map(|i| i.number);
        let all: Vec<u32> = all.filter(|n| *n > 11).collect();
        let mut edited = Edited::new(volume, 4096);
        let done = renumber(&mut edited, &before, &all).unwrap();
        assert!(done.numbers.len() >= takes, "{}", done.numbers.len());
        let tables = Tables::read(&Part::whole(&edited).unwrap()).unwrap();
        let size = tables.place(2).unwrap() - tables.place(1).unwrap();
        let new = all.iter().filter_map(|n| done.numbers.get(n));
        let places: Vec<u64> = new.map(|n| tables.place(*n).unwrap()).collect();
        let breaks = places.windows(2).filter(|p| p[0] + size != p[1]);
        assert_eq!(done.runs, breaks.count() as u64 + 1);
        assert!(pieces.contains(&done.runs), "{inodes}: {}", done.runs);
        write(&image, &edited);
        assert!(is_clean(&image), "{inodes}");
    }
}

#[test]
fn counts_that_contradict_each_other_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("x.img");
    let options = ["-t", "ext4", "-b", "4096", "-O", "^metadata_csum"];
    if !ext(&image, 16, &options, None) {
        return;
    }
    let mut file = fs::File::options();
    let file = file.read(true).write(true).open(&image).unwrap();
    file.write_all_at(&[0xff; 4], 1024).unwrap();
    let volume = Part::whole(&file).unwrap();
    let found = Tables::read(&volume);
    assert!(matches!(found, Err(ArrangeError::Inodes { .. })));
}

#[test]
fn what_must_keep_its_number_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("x.img");
    for (features, kept_for) in [
        ("stable_inodes", Some("stable_inodes")),
        ("ea_inode", Some("ea_inode")),
        ("extent", None),
    ] {
        let options = ["-t", "ext4", "-b", "4096", "-O", features];
        if !ext(&image, 16, &options, None) {
            continue;
        }
        let file = fs::File::open(&image).unwrap();
        let volume = Part::whole(&file).unwrap();
        let known = map(&volume).unwrap();
        let mut edited = Edited::new(volume, 4096);
        // All there is are the root, the journal and `lost+found`, and what is not there.
        let all: Vec<u32> = (0..40).collect();
        let done = renumber(&mut edited, &known, &all).unwrap();
        assert_eq!(
            done,
            Renumbered {
                kept_for,
                ..Renumbered::default()
            }
        );
    }
}

#[test]
fn a_damaged_directory_is_not_given_a_good_sum() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    fs::create_dir_all(root.join("dir")).unwrap();
    fs::write(root.join("dir/file"), "x").unwrap();
    let image = folder.path().join("x.img");
    let options = ["-t", "ext4", "-b", "4096", "-O", "metadata_csum"];
    if !ext(&image, 16, &options, Some(&root)) {
        return;
    }
    let mut bytes = fs::read(&image).unwrap();
    let known = map(&Part::whole(&bytes.as_slice()).unwrap()).unwrap();
    let file = known.find(b"dir/file").unwrap();
    let dir = known
        .extents()
        .find(|e| e.inode == known.find(b"dir"))
        .unwrap();
    let says = |bytes: &[u8]| {
        let mut edited = Edited::new(Part::whole(&bytes).unwrap(), 4096);
        renumber(&mut edited, &known, &[file])
    };
    assert!(says(&bytes).is_ok());
    // A name changes, and its sum does not.
    let start = usize::try_from(dir.start).unwrap();
    let name = bytes[start..]
        .windows(4)
        .position(|w| w == b"file")
        .unwrap();
    bytes[start + name] = b'F';
    assert!(matches!(says(&bytes), Err(ArrangeError::Directory { .. })));
}

#[test]
fn hostile_images_are_renumbered_or_refused() {
    let Some(whole) = small_ext4("^metadata_csum") else {
        return;
    };
    let (mut done, mut refused) = (0, 0);
    for seed in 0..200u64 {
        let bytes = damaged(&whole, seed, 210, 3);
        let slice = bytes.as_slice();
        let volume = Part::whole(&slice).unwrap();
        let Ok(known) = map(&volume) else { continue };
        let mut edited = Edited::new(volume, known.facts.block_size);
        match renumber(&mut edited, &known, &wanted(&known)) {
            Ok(_) => {
                let end = bytes.len() as u64;
                let inside = |(at, block): (u64, &[u8])| at + block.len() as u64 <= end;
                assert!(edited.changes().all(inside));
                done += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(done > 20 && refused > 10, "{done} {refused}");
}
