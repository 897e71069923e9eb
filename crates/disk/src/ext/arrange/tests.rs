//! Images laid out, and judged by e2fsprogs.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use super::{ArrangeError, Wanted, arrange};
use crate::ext::map;
use crate::map::Kind;
use crate::testing::{
    FORMATS, contain, damaged, each_file, ext, is_clean, noise, small_ext4, tool, tree,
};
use rawimage::Part;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

fn apply(path: &Path, done: &super::Arrangement) {
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    for (from, to, len) in &done.copies {
        let mut bytes = vec![0; usize::try_from(*len).unwrap()];
        file.read_exact_at(&mut bytes, *from).unwrap();
        file.write_all_at(&bytes, *to).unwrap();
    }
    for (at, bytes) in &done.writes {
        file.write_all_at(bytes, *at).unwrap();
    }
}

/// Every second block of every file, last file first, then the directories.
fn scattered(map: &crate::Map) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for inode in map.inodes().iter().rev().filter(|i| i.kind == Kind::File) {
        if inode.number % 2 == 0 {
            wanted.push(Wanted::Tree {
                inode: inode.number,
            });
        }
        for offset in (0..inode.size.min(4 << 20)).step_by(8192) {
            wanted.push(Wanted::Content {
                inode: inode.number,
                offset,
                len: 4096,
            });
        }
    }
    wanted.push(Wanted::Place {
        start: 0,
        len: u64::MAX,
    });
    wanted
}

#[test]
fn what_was_laid_out_is_clean_and_holds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    tree(&root);
    for (number, (kind, block, features)) in FORMATS.into_iter().enumerate() {
        let image = folder.path().join(format!("{number}.img"));
        let options = ["-t", kind, "-b", block, "-O", features];
        if !ext(&image, 64, &options, Some(&root)) {
            return;
        }
        let file = fs::File::open(&image).unwrap();
        let volume = Part::whole(&file).unwrap();
        let before = map(&volume).unwrap();
        let done = arrange(&volume, &before, &scattered(&before)).unwrap();
        if kind == "ext3" {
            // Nothing of it can move, and nothing does.
            assert_eq!((done.blocks, done.inodes), (0, 0));
            assert!(!done.left.is_empty());
            continue;
        }
        assert!(done.blocks > 500, "{features}: {}", done.blocks);
        apply(&image, &done);
        assert!(is_clean(&image), "{features}");
        let file = fs::File::open(&image).unwrap();
        let after = map(&Part::whole(&file).unwrap()).unwrap();
        assert_eq!(after.notes, before.notes);
        let mut last = 0;
        each_file(&root, &after, &mut |path, _, pieces| {
            last = last.max(contain(&file, path, pieces));
        });
        assert!(last > 0);
        // Once more: everything has a place again.
        let again = arrange(&Part::whole(&file).unwrap(), &after, &scattered(&after)).unwrap();
        assert_eq!(again.blocks, done.blocks);
        assert!(again.runs_before <= done.runs + done.inodes, "{features}");
    }
}

#[test]
fn what_cannot_be_laid_out_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("x.img");
    if !ext(&image, 16, &["-t", "ext4", "-b", "4096"], None) {
        return;
    }
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(&image)
        .unwrap();
    let says = |file: &fs::File| {
        let volume = Part::whole(file).unwrap();
        let map = map(&volume).unwrap();
        arrange(&volume, &map, &[]).unwrap_err()
    };
    // The journal has to be replayed: bit 2 of the incompatible features.
    let mut word = [0; 4];
    file.read_exact_at(&mut word, 1024 + 0x60).unwrap();
    word[0] |= 4;
    file.write_all_at(&word, 1024 + 0x60).unwrap();
    assert!(matches!(says(&file), ArrangeError::NotClean { .. }));
    word[0] &= !4;
    file.write_all_at(&word, 1024 + 0x60).unwrap();
    // Not unmounted.
    file.write_all_at(&[0, 0], 1024 + 0x3a).unwrap();
    assert!(matches!(says(&file), ArrangeError::NotClean { .. }));
    file.write_all_at(&[1, 0], 1024 + 0x3a).unwrap();
    // A bitmap that counts the blocks of the root directory as free.
    let volume = Part::whole(&file).unwrap();
    let known = map(&volume).unwrap();
    let bitmap = known.extents().find(|e| e.kind == Kind::Bitmap).unwrap();
    file.write_all_at(&[0; 4096], bitmap.start).unwrap();
    assert!(matches!(says(&file), ArrangeError::Bitmap { .. }));
}

#[test]
fn hostile_images_are_laid_out_or_refused() {
    let Some(whole) = small_ext4("metadata_csum") else {
        return;
    };
    let (mut done, mut refused) = (0, 0);
    for seed in 0..150u64 {
        let bytes = damaged(&whole, seed, 160, 4);
        let slice = bytes.as_slice();
        let volume = Part::whole(&slice).unwrap();
        let Ok(known) = map(&volume) else { continue };
        match arrange(&volume, &known, &scattered(&known)) {
            Ok(found) => {
                let end = bytes.len() as u64;
                assert!(
                    found
                        .copies
                        .iter()
                        .all(|c| c.0 + c.2 <= end && c.1 + c.2 <= end)
                );
                // Nothing is read from where something was written.
                let is_read = |from: u64, end: u64| {
                    let mut all = found.copies.iter();
                    all.any(|c| c.0 < end && from < c.0 + c.2)
                };
                assert!(!found.copies.iter().any(|c| is_read(c.1, c.1 + c.2)));
                done += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(done > 20 && refused > 10, "{done} {refused}");
}

/// Places in the order are numbers, as blocks are; one must not seem to follow a
/// block that stays, or the file has an extent more than there is room for.
#[test]
fn an_order_among_small_block_numbers_loses_no_extent() {
    let bytes = include_bytes!("../../../../../corpus/disk/small.ext4");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.img");
    fs::write(&path, bytes).unwrap();
    let read = |bytes: &[u8]| {
        let part = Part::whole(&bytes).unwrap();
        let map = map(&part).unwrap();
        let mut all: Vec<_> = map
            .extents()
            .filter(|e| e.inode.is_some() && e.offset.is_some())
            .flat_map(|e| (0..e.len / 1024).map(move |n| (e, n * 1024)))
            .map(|(e, more)| {
                let at = usize::try_from(e.start + more).unwrap();
                (
                    e.inode,
                    e.offset.map(|o| o + more),
                    bytes[at..at + 1024].to_vec(),
                )
            })
            .collect();
        all.sort();
        all
    };
    let whole: &[u8] = bytes;
    let part = Part::whole(&whole).unwrap();
    let wanted = [
        Wanted::Content {
            inode: 15,
            offset: 2815,
            len: 9215,
        },
        Wanted::Place {
            start: 8974,
            len: 522,
        },
        Wanted::Place {
            start: 0,
            len: 12_800,
        },
        Wanted::Place {
            start: 15_549,
            len: 65_290,
        },
    ];
    // The large directory would have a fifth extent: it is given a block for them,
    // or there is no room for it.
    match arrange(&part, &map(&part).unwrap(), &wanted) {
        Ok(done) => {
            apply(&path, &done);
            assert_eq!(read(&fs::read(&path).unwrap()), read(bytes));
        }
        Err(why) => assert!(matches!(why, ArrangeError::Full { .. }), "{why}"),
    }
    // With less to move there is room, and everything is where it can be found.
    fs::write(&path, bytes).unwrap();
    let done = arrange(&part, &map(&part).unwrap(), &wanted[1..]).unwrap();
    apply(&path, &done);
    assert_eq!(read(&fs::read(&path).unwrap()), read(bytes));
}

/// Where free space lies in many runs, the order is broken, and files lie in more
/// pieces than they would have: none is lost, and small files need no room for that.
#[test]
fn free_space_in_many_runs_breaks_the_order_and_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    fs::create_dir_all(&root).unwrap();
    let name = |n: usize| format!("f{n:03}");
    for number in 0..300 {
        let content = noise(number as u64, 16 << 10);
        fs::write(root.join(name(number)), content).unwrap();
    }
    let image = folder.path().join("x.img");
    let features = "^has_journal,^resize_inode";
    let options = [
        "-t", "ext4", "-b", "1024", "-m", "0", "-N", "400", "-O", features,
    ];
    if !ext(&image, 6, &options, Some(&root)) {
        return;
    }
    // What is free at the end is taken, and gaps of 16 blocks are left between.
    let gone: Vec<usize> = (0..300).step_by(4).collect();
    let removed: String = gone.iter().map(|n| format!("rm /{}\n", name(*n))).collect();
    let file = fs::File::open(&image).unwrap();
    let free = map(&Part::whole(&file).unwrap())
        .unwrap()
        .facts
        .free_blocks
        .unwrap();
    let most = folder.path().join("most");
    fs::write(&most, noise(7, usize::try_from(free - 20).unwrap() << 10)).unwrap();
    let script = folder.path().join("script");
    fs::write(&script, format!("write {} most\n{removed}", most.display())).unwrap();
    if !tool(
        "debugfs",
        &[
            "-w",
            "-f",
            script.to_str().unwrap(),
            image.to_str().unwrap(),
        ],
    ) {
        return;
    }
    assert!(is_clean(&image));
    let file = fs::File::open(&image).unwrap();
    let before = map(&Part::whole(&file).unwrap()).unwrap();
    let inode = |n: usize| before.find(format!("/{}", name(n)).as_bytes());
    let content = |image: &fs::File, map: &crate::Map, inode: u32| {
        let mut bytes = Vec::new();
        for piece in map.extents_of(&[inode]).into_iter().flatten() {
            assert_eq!(piece.offset, Some(bytes.len() as u64));
            let mut found = vec![0; usize::try_from(piece.len).unwrap()];
            image.read_exact_at(&mut found, piece.start).unwrap();
            bytes.extend(found);
        }
        bytes
    };
    // Of many files one block, and of some every second one.
    let mut wanted = Vec::new();
    for number in 0..300 {
        let blocks = if number % 4 == 1 { 0..1 } else { 0..8 };
        for block in blocks.filter(|_| number % 4 == 1 || number % 40 == 2) {
            let Some(inode) = inode(number) else { continue };
            let (offset, len) = (block * 2048, 1024);
            wanted.push(Wanted::Content { inode, offset, len });
        }
    }
    let done = arrange(&Part::whole(&file).unwrap(), &before, &wanted).unwrap();
    assert!(done.runs > 5, "{} runs", done.runs);
    assert_eq!(done.left, []);
    assert_eq!(done.blocks, wanted.len() as u64);
    let all: Vec<u32> = (0..300).filter_map(inode).collect();
    let was: Vec<Vec<u8>> = all.iter().map(|i| content(&file, &before, *i)).collect();
    apply(&image, &done);
    assert!(is_clean(&image));
    let file = fs::File::open(&image).unwrap();
    let after = map(&Part::whole(&file).unwrap()).unwrap();
    for (inode, was) in all.iter().zip(was) {
        assert!(content(&file, &after, *inode) == was, "inode {inode}");
    }
}

/// A group of it has more blocks than one without clusters can: that is no damage.
#[test]
fn a_filesystem_of_clusters_is_named_and_not_called_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let i = image.to_str().unwrap();
    if !tool("mke2fs", &["-q", "-t", "ext4", "-O", "bigalloc", i, "64M"]) {
        return;
    }
    let file = fs::File::open(&image).unwrap();
    let volume = Part::whole(&file).unwrap();
    let map = map(&volume).unwrap();
    let refused = arrange(&volume, &map, &[]).unwrap_err();
    assert!(
        matches!(
            refused,
            ArrangeError::Feature {
                feature: "bigalloc"
            }
        ),
        "{refused}"
    );
}
