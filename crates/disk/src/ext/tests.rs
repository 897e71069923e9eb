//! Side by side with `debugfs`, block for block, on images made ugly.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use crate::map::{Kind, Map};
use crate::testing::{noise, tool, tree};
use rawimage::Part;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

fn debugfs(image: &Path, commands: &str, writes: bool) -> String {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    fs::write(&script, commands).unwrap();
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let mut debugfs = Command::new("debugfs");
    debugfs.env("PATH", path).current_dir(dir.path());
    if writes {
        fs::write(dir.path().join("big"), noise(77, 2_500_000)).unwrap();
        debugfs.arg("-w");
    }
    let out = debugfs.arg("-f").arg(&script).arg(image).output().unwrap();
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Deletes, so that there are gaps; writes, so that they are filled; punches
/// holes and fills some again.
fn make_ugly(image: &Path) {
    let mut script = String::new();
    for i in (0..700).step_by(3) {
        writeln!(script, "rm /many/a-name-of-some-length-{i}").unwrap();
    }
    for d in 0..6 {
        for i in [2, 5, 7, 8] {
            writeln!(script, "rm /d{d}/deep/er/f{i}").unwrap();
        }
    }
    for i in 0..6 {
        writeln!(script, "write big /big{i}").unwrap();
    }
    for i in [0, 2, 4] {
        writeln!(script, "rm /big{i}").unwrap();
    }
    script
        .push_str("write big /last\npunch /last 30 70\npunch /last 200 300\npunch /last 400 401\n");
    script.push_str("fallocate /last 50 60\nfallocate /d0/deep/er/f1 100 200\nmkdir /new\n");
    writeln!(script, "symlink /new/long {}", "y".repeat(90)).unwrap();
    writeln!(script, "ea_set /last user.large {}", "v".repeat(200)).unwrap();
    debugfs(image, &script, true);
}

/// What `icheck` and `ncheck` say of every block.
fn oracle(image: &Path, blocks: u64) -> (BTreeMap<u64, u32>, BTreeMap<u32, BTreeSet<String>>) {
    let numbers: Vec<String> = (0..blocks).map(|b| b.to_string()).collect();
    let ask = |verb: &str, numbers: &[String]| {
        let lines = numbers
            .chunks(400)
            .map(|c| format!("{verb} {}\n", c.join(" ")));
        debugfs(image, &lines.collect::<String>(), false)
    };
    let mut owners = BTreeMap::new();
    for line in ask("icheck", &numbers).lines() {
        let pair = line.split_once('\t');
        if let Some((Ok(block), Ok(inode))) = pair.map(|(b, i)| (b.parse(), i.parse())) {
            owners.insert(block, inode);
        }
    }
    let inodes: BTreeSet<u32> = owners.values().copied().collect();
    let inodes: Vec<String> = inodes.iter().map(u32::to_string).collect();
    let mut names: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for line in ask("ncheck", &inodes).lines() {
        if let Some((Ok(inode), path)) = line.split_once('\t').map(|(i, p)| (i.parse(), p)) {
            // The root's own slash is printed twice.
            let path = format!("/{}", path.trim_start_matches('/'));
            names.entry(inode).or_default().insert(path);
        }
    }
    (owners, names)
}

fn equals_debugfs(size: &str, options: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let (root, image) = (dir.path().join("tree"), dir.path().join("image"));
    fs::create_dir(&root).unwrap();
    tree(&root);
    let [r, i] = [&root, &image].map(|p| p.to_str().unwrap());
    let made = [&["-q", "-F", "-d", r], options, &[i, size]].concat();
    if !tool("mke2fs", &made) {
        return;
    }
    make_ugly(&image);
    let file = File::open(&image).unwrap();
    let volume = Part::whole(&file).unwrap();
    let map = super::map(&volume).unwrap();
    assert_eq!(map.notes, Vec::<String>::new(), "{options:?}");
    let size = u64::from(map.facts.block_size);
    let (owners, names) = oracle(&image, map.facts.blocks);
    assert!(owners.len() > 500, "debugfs says too little");
    let mut offsets = Vec::new();
    let mut block = 0;
    for n in 0..map.facts.blocks {
        map.pieces(n * size, size, &mut |e| {
            assert_eq!((e.start, e.len), (block * size, size));
            block += 1;
            assert_eq!(
                e.inode,
                owners.get(&n).copied(),
                "{options:?}: block {n}: {e:?}"
            );
            if let Some(inode) = e.inode.filter(|i| *i >= 11) {
                let path = map.path(inode).map(|p| String::from_utf8(p).unwrap());
                assert!(
                    names[&inode].contains(&path.unwrap()),
                    "{options:?}: {inode}"
                );
            }
            if let (Some(inode), Some(offset)) = (e.inode, e.offset) {
                offsets.push((inode, offset / size, n));
            }
        });
    }
    assert_eq!(block, map.facts.blocks);
    offsets_equal(&image, &offsets, options);
    metadata_equals(&map, &image, options);
}

/// Each block is the one that `bmap` finds at that place of the file.
fn offsets_equal(image: &Path, offsets: &[(u32, u64, u64)], options: &[&str]) {
    let ask = offsets
        .iter()
        .map(|(i, at, _)| format!("bmap <{i}> {at}\n"));
    let said = debugfs(image, &ask.collect::<String>(), false);
    let said: Vec<u64> = said
        .lines()
        .filter(|l| !l.starts_with("debugfs"))
        .filter_map(|l| l.split_whitespace().next()?.parse().ok())
        .collect();
    let wanted: Vec<u64> = offsets.iter().map(|o| o.2).collect();
    assert!(said == wanted, "{options:?}: bmap says something else");
}

/// Groups as `dumpe2fs` prints them.
fn metadata_equals(map: &Map, image: &Path, options: &[&str]) {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let out = Command::new("dumpe2fs")
        .arg(image)
        .env("PATH", path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    let size = u64::from(map.facts.block_size);
    let mut seen = 0;
    for line in text.lines().filter(|l| l.starts_with("  ")) {
        for part in line.split(", ") {
            let kinds = [
                (" superblock at ", Kind::Superblock),
                ("Group descriptors at ", Kind::GroupDescriptors),
                ("Group descriptor at ", Kind::GroupDescriptors),
                ("Reserved GDT blocks at ", Kind::ReservedDescriptors),
                ("Block bitmap at ", Kind::Bitmap),
                ("Inode bitmap at ", Kind::Bitmap),
                ("Inode table at ", Kind::InodeTable),
            ];
            let found = kinds
                .iter()
                .find_map(|(what, k)| Some((part.split_once(what)?.1, *k)));
            let Some((range, kind)) = found.or_else(|| {
                let part = part.trim_start();
                kinds
                    .iter()
                    .find_map(|(what, k)| Some((part.strip_prefix(what)?, *k)))
            }) else {
                continue;
            };
            let range = range.split([' ', ',']).next().unwrap();
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            for block in from.parse::<u64>().unwrap()..=to.parse().unwrap() {
                map.pieces(block * size, size, &mut |e| {
                    assert_eq!(e.kind, kind, "{options:?}: block {block}: {line}");
                });
                seen += 1;
            }
        }
    }
    assert!(seen > 5, "dumpe2fs says too little");
}

#[test]
fn ext2_and_ext3_are_as_debugfs_says() {
    equals_debugfs("40M", &["-t", "ext2", "-b", "1024"]);
    equals_debugfs("50M", &["-t", "ext3", "-b", "2048"]);
    equals_debugfs("60M", &["-t", "ext2", "-b", "4096"]);
}

#[test]
fn ext4_is_as_debugfs_says() {
    equals_debugfs("60M", &["-t", "ext4", "-b", "1024"]);
    equals_debugfs(
        "80M",
        &["-t", "ext4", "-b", "4096", "-O", "inline_data,quota,mmp"],
    );
    equals_debugfs(
        "60M",
        &[
            "-t",
            "ext4",
            "-O",
            "^64bit,^flex_bg,^metadata_csum",
            "-b",
            "1024",
        ],
    );
    equals_debugfs(
        "90M",
        &[
            "-t",
            "ext4",
            "-O",
            "^has_journal,sparse_super2,^resize_inode",
            "-b",
            "2048",
        ],
    );
}

#[test]
fn rare_layouts_are_as_debugfs_says() {
    equals_debugfs(
        "80M",
        &["-t", "ext4", "-O", "meta_bg,^resize_inode", "-b", "1024"],
    );
    equals_debugfs(
        "80M",
        &["-t", "ext4", "-O", "bigalloc", "-C", "16384", "-b", "4096"],
    );
    equals_debugfs("200M", &["-t", "ext4", "-b", "65536"]);
}

/// A file of more pieces than an inode holds has blocks that say where they lie, and each
/// has a sum.
#[test]
fn a_wrong_sum_over_extents_is_noted() {
    let dir = tempfile::tempdir().unwrap();
    let (root, image) = (dir.path().join("tree"), dir.path().join("image"));
    fs::create_dir(&root).unwrap();
    let [r, i] = [&root, &image].map(|p| p.to_str().unwrap());
    let options = [
        "-q",
        "-t",
        "ext4",
        "-O",
        "metadata_csum",
        "-b",
        "1024",
        "-d",
        r,
        i,
        "20M",
    ];
    if !tool("mke2fs", &options) {
        return;
    }
    debugfs(
        &image,
        "write big /big\npunch /big 10 20\npunch /big 40 50\n",
        true,
    );
    debugfs(
        &image,
        "punch /big 70 80\npunch /big 100 110\npunch /big 150 160\n",
        true,
    );
    let mut bytes = fs::read(&image).unwrap();
    let look = |bytes: &[u8]| super::map(&Part::whole(&bytes).unwrap()).unwrap();
    let map = look(&bytes);
    assert_eq!(map.notes, Vec::<String>::new());
    let tree = map.extents().find(|e| e.kind == Kind::ExtentTree).unwrap();
    // Behind the last extent nothing is read, and the sum is over that as well.
    bytes[usize::try_from(tree.start + tree.len - 100).unwrap()] ^= 1;
    let notes = look(&bytes).notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("has a wrong checksum"), "{notes:?}");
}
