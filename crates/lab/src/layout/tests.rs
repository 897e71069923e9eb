//! A list and an image, laid out, as a kernel and a prefetcher would meet them.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use super::{Ordered, Unit, order};
use agent::access::{AccessList, Entry, Identity, Range, RangeKind};
use disk::ext;
use disk::ext::renumber::Tables;
use rawimage::Part;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

fn tool(name: &str, args: &[&str]) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    match Command::new(name).args(args).env("PATH", path).output() {
        Ok(out) if out.status.success() => true,
        other => {
            eprintln!("skipped: {name} {args:?}: {other:?}");
            false
        }
    }
}

fn range(page: u64, pages: u64, first_us: u64) -> Range {
    Range {
        page,
        pages,
        first_us,
        seen: 1,
        kind: RangeKind::Touched,
    }
}

/// The inode of a file of an image.
fn inode_of(image: &Path, path: &[u8]) -> u32 {
    let file = File::open(image).unwrap();
    let map = ext::map(&Part::whole(&file).unwrap()).unwrap();
    map.find(path).unwrap()
}

fn place_of(image: &Path, number: u32) -> u64 {
    let file = File::open(image).unwrap();
    let tables = Tables::read(&Part::whole(&file).unwrap()).unwrap();
    tables.place(number).unwrap()
}

/// An image beside the folder `tree`, with the same files; `None` without mke2fs.
fn image_of(tree: &Path, bytes: u64, options: &[&str]) -> Option<PathBuf> {
    let image = tree.with_file_name("image");
    File::create(&image).unwrap().set_len(bytes).unwrap();
    let [from, to] = [tree, &image].map(|p| p.to_str().unwrap());
    let made = [&["-q", "-F", "-t", "ext4"], options, &["-d", from, to]].concat();
    tool("mke2fs", &made).then_some(image)
}

fn file_of(image: &Path, name: &str, size: u64, ranges: Vec<Range>) -> Entry {
    Entry {
        path: format!("/{name}").into_bytes(),
        identity: Identity::File {
            size,
            mtime_s: 0,
            mtime_ns: 0,
            inode: u64::from(inode_of(image, name.as_bytes())),
            generation: 0,
        },
        program: 0,
        ranges,
    }
}

/// How large the image of [`of_many_files`] is.
const BYTES: u64 = 32 << 20;

/// An image of 600 small files; `None` where nothing can make one.
fn of_many_files(folder: &Path) -> Option<PathBuf> {
    let root = folder.join("tree");
    fs::create_dir(&root).unwrap();
    for number in 0..600 {
        fs::write(root.join(format!("f{number:03}")), format!("{number}")).unwrap();
    }
    image_of(&root, BYTES, &["-b", "4096"])
}

/// What is needed of the device that holds that image.
fn device_of(ranges: Vec<Range>) -> Entry {
    Entry {
        path: b"/".to_vec(),
        identity: Identity::Device {
            size: BYTES,
            kind: 0xef53,
            number: 1,
        },
        program: 0,
        ranges,
    }
}

fn list_of(entries: Vec<Entry>) -> AccessList {
    AccessList {
        recordings: 1,
        page_bytes: 4096,
        entries,
        ..AccessList::default()
    }
}

/// The image as it is laid out, beside the old one, and what was done; it is sound.
fn laid_out(image: &Path, list: &AccessList, unit: Unit) -> (PathBuf, Ordered) {
    let new = image.with_file_name(format!("{unit:?}"));
    let to = File::create_new(&new).unwrap();
    let done = order(image, list, unit, (&to, &new)).unwrap();
    assert!(tool("e2fsck", &["-f", "-n", new.to_str().unwrap()]));
    (new, done)
}

#[test]
fn the_new_list_names_the_new_inodes_and_where_they_lie() {
    let dir = tempfile::tempdir().unwrap();
    let Some(image) = of_many_files(dir.path()) else {
        return;
    };
    // A file is needed first; then a page of the inode table, of which no file is
    // named; then one that the list names as well.
    let one = inode_of(&image, b"f500");
    let other = inode_of(&image, b"f300");
    let page = |number| place_of(&image, number) / 4096;
    let device = device_of(vec![
        range(0, 1, 5),
        range(page(other), 1, 200),
        range(page(one), 1, 100),
    ]);
    let file = file_of(&image, "f500", 3, vec![range(0, 1, 150)]);
    let list = list_of(vec![file, device]);
    let (new, done) = laid_out(&image, &list, Unit::Pages);
    assert_eq!(done.missing, 0);
    // Both pages are full of inodes.
    assert_eq!(done.inodes.numbers.len(), 32);
    let [now, other_now] = [&b"f500"[..], b"f300"].map(|path| inode_of(&new, path));
    assert_eq!(done.inodes.numbers.get(&one), Some(&now));
    assert!(other_now > now, "{other_now} {now}");
    assert_eq!(
        fs::read(&image).unwrap().len(),
        fs::read(&new).unwrap().len()
    );
    let Identity::File { inode, .. } = done.list.entries[0].identity else {
        unreachable!("it was a file")
    };
    assert_eq!(inode, u64::from(now));
    let mut ranges = done.list.entries[1].ranges.clone();
    ranges.sort_by_key(|r| r.first_us);
    let [boot, first, second] = &ranges[..] else {
        unreachable!("the superblock and two blocks of inodes: {ranges:?}")
    };
    assert_eq!((boot.page, boot.first_us), (0, 5));
    assert_eq!(
        (first.page, first.first_us),
        (place_of(&new, now) / 4096, 100)
    );
    assert_eq!((second.page, second.first_us), (first.page + 1, 200));
    assert_eq!(place_of(&new, other_now) / 4096, second.page);
}

#[test]
fn what_a_search_for_signatures_reads_stays_in_the_list_and_the_journal_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let Some(image) = of_many_files(dir.path()) else {
        return;
    };
    let page = |path: &[u8]| place_of(&image, inode_of(&image, path)) / 4096;
    let (early, late) = (page(b"f300"), page(b"f500"));
    // Both lie where a label of ZFS may.
    assert!(early < late && late < 128, "{early} {late}");
    let file = File::open(&image).unwrap();
    let map = ext::map(&Part::whole(&file).unwrap()).unwrap();
    let journal = map.extents().find(|e| e.kind == disk::Kind::Journal);
    let journal = journal.unwrap().start / 4096;
    let last = BYTES / 4096 - 1;
    let device = |looks: bool| {
        let ranges = [
            Some(range(early, 1, 100)),
            Some(range(late, 1, 50_000)),
            Some(range(journal, 3, 20)),
            // Nothing lies there, and so no filesystem reads it.
            looks.then(|| range(last, 1, 9_000)),
        ];
        device_of(ranges.into_iter().flatten().collect())
    };
    let needs = |looks: bool| {
        let list = list_of(vec![device(looks)]);
        let to = image.with_file_name(format!("looks {looks}"));
        let new = File::create_new(&to).unwrap();
        let done = order(&image, &list, Unit::Pages, (&new, &to)).unwrap();
        let mut needs = Vec::new();
        for range in &done.list.entries[0].ranges {
            needs.extend((range.page..range.end()).map(|n| (n, range.first_us)));
        }
        needs
    };
    let moved = |needs: &[(u64, u64)], us: u64| needs.iter().filter(|n| n.1 == us).count();
    // Nobody looks: only the new places of the inodes are needed.
    let without = needs(false);
    assert!(without.iter().all(|n| n.1 != 20), "{without:?}");
    assert!(!without.iter().any(|n| n.0 == early || n.0 == late));
    // Somebody does: their old places are needed as well, but not before that.
    let with = needs(true);
    assert!(with.contains(&(last, 9_000)), "{with:?}");
    assert!(with.contains(&(early, 9_000)) && with.contains(&(late, 50_000)));
    assert!(with.iter().all(|n| n.1 != 20), "{with:?}");
    assert_eq!(moved(&with, 100), moved(&without, 100));
    assert_eq!(with.len(), without.len() + 3);
}

#[test]
fn a_range_over_two_tables_brings_the_inodes_of_both_and_one_behind_the_end_none() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("tree");
    fs::create_dir(&root).unwrap();
    for number in 0..600 {
        fs::write(root.join(format!("f{number:03}")), format!("{number}")).unwrap();
    }
    let Some(image) = image_of(&root, 64 << 20, &["-b", "1024", "-N", "4096"]) else {
        return;
    };
    // 512 inodes of 256 bytes in a table; the second one follows the first.
    assert_eq!(place_of(&image, 512) + 256, place_of(&image, 513));
    let (first, end) = (place_of(&image, 481), place_of(&image, 545));
    let page = first / 4096;
    let device = Entry {
        path: b"/".to_vec(),
        identity: Identity::Device {
            size: 64 << 20,
            kind: 0xef53,
            number: 1,
        },
        program: 0,
        ranges: vec![
            range(page, end.div_ceil(4096) - page, 100),
            range(1 << 40, 1 << 41, 200),
        ],
    };
    let list = list_of(vec![device]);
    let (new, done) = laid_out(&image, &list, Unit::Pages);
    let moved: Vec<u32> = done.inodes.numbers.keys().copied().collect();
    assert!((481..545).all(|n| moved.contains(&n)), "{moved:?}");
    // Each of them is on a page of the new list, and nothing lies behind the end.
    let pages = &done.list.entries[0].ranges;
    assert!(pages.iter().all(|r| r.end() <= (64 << 20) / 4096));
    for number in done.inodes.numbers.values() {
        let page = place_of(&new, *number) / 4096;
        assert!(pages.iter().any(|r| (r.page..r.end()).contains(&page)));
    }
}

#[test]
fn with_read_around_what_a_fault_reads_stays_together() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("tree");
    fs::create_dir(&root).unwrap();
    for name in ["a", "b"] {
        fs::write(root.join(name), vec![name.as_bytes()[0]; 1 << 20]).unwrap();
    }
    let Some(image) = image_of(&root, 32 << 20, &["-b", "4096"]) else {
        return;
    };
    // Two pages of one file, with one of the other between them in time.
    let file = |name: &str, ranges| file_of(&image, name, 1 << 20, ranges);
    let list = list_of(vec![
        file("a", vec![range(40, 1, 100), range(60, 1, 300)]),
        file("b", vec![range(255, 1, 200)]),
    ]);
    let pieces = |unit: Unit| {
        let (new, done) = laid_out(&image, &list, unit);
        let whole = File::open(&new).unwrap();
        let map = ext::map(&Part::whole(&whole).unwrap()).unwrap();
        let number = map.find(b"a").unwrap();
        let pieces = map.extents_of(&[number]).remove(0);
        let mut pieces: Vec<(u64, u64)> = pieces
            .iter()
            .filter(|e| e.kind == disk::Kind::File)
            .map(|e| (e.offset.unwrap() / 4096, e.len / 4096))
            .collect();
        pieces.sort_unstable();
        (done.arrangement.blocks, pieces)
    };
    let (blocks, found) = pieces(Unit::Pages);
    assert_eq!(blocks, 3);
    assert_eq!(found, [(0, 40), (40, 1), (41, 19), (60, 1), (61, 195)]);
    // Around the first page, on to the second one, and the end of the other file between them.
    let (blocks, found) = pieces(Unit::ReadAround);
    assert_eq!(blocks, 32 + 17 + 20);
    assert_eq!(found, [(0, 24), (24, 32), (56, 20), (76, 180)]);
}
