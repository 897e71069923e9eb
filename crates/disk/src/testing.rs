//! What the tests of all filesystems here need: a tree of ugly files, and the
//! tools of others that make images of it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use crate::map::{Extent, Map};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

/// Bytes that look random, and are the same each time.
pub(super) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| byte()).collect()
}

/// Files of all sizes, packable and not, equal ones, holes, links, deep and
/// full directories.
pub(super) fn tree(root: &Path) {
    let sizes = [
        0, 1, 10, 500, 4095, 4096, 4097, 9000, 131_072, 131_073, 400_000,
    ];
    for d in 0..6 {
        let dir = root.join(format!("d{d}/deep/er"));
        fs::create_dir_all(&dir).unwrap();
        for (i, size) in sizes.into_iter().enumerate() {
            let seed = d * 100 + i as u64;
            let mut bytes = noise(seed, size);
            if d % 3 == 1 {
                // Packs well.
                bytes.iter_mut().for_each(|b| *b &= 3);
            } else if d % 3 == 2 {
                // Packs in parts.
                bytes.chunks_mut(5000).step_by(2).for_each(|c| c.fill(b'x'));
            }
            fs::write(dir.join(format!("f{i}")), bytes).unwrap();
        }
        std::os::unix::fs::symlink("f3", dir.join("link")).unwrap();
        std::os::unix::fs::symlink("../../../d0/deep", dir.join("up")).unwrap();
    }
    fs::create_dir(root.join("many")).unwrap();
    for i in 0..700 {
        fs::write(
            root.join(format!("many/a-name-of-some-length-{i}")),
            noise(i, i as usize % 90),
        )
        .unwrap();
    }
    fs::hard_link(root.join("d0/deep/er/f3"), root.join("hard")).unwrap();
    fs::copy(root.join("d0/deep/er/f10"), root.join("equal")).unwrap();
    let holes = fs::File::create(root.join("holes")).unwrap();
    holes.set_len(3 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&holes, &noise(9, 9000), 1 << 20).unwrap();
}

/// Runs a tool; `false` with a visible line where it is not there.
pub(super) fn tool(name: &str, args: &[&str]) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let run = Command::new(name).args(args).env("PATH", path).output();
    match run {
        Ok(out) if out.status.success() => true,
        Ok(out) => {
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            eprintln!("skipped: {name} {args:?} says {said}");
            false
        }
        Err(e) => {
            eprintln!("skipped: {name} is not there: {e}");
            false
        }
    }
}

/// Unmounts. A program that another test starts has this one's open files until it is loaded, so a
/// file system may be busy for a moment.
pub(super) fn unmount(at: &str) -> bool {
    (0..50).any(|_| {
        let done = tool("umount", &[at]);
        if !done {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        done
    })
}

/// Calls `each` with the path and the pieces of every regular file below
/// `root`, as the map has them.
pub(super) fn each_file(
    root: &Path,
    map: &Map,
    each: &mut dyn FnMut(&Path, u32, Vec<Extent>),
) -> u64 {
    let mut count = 0;
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                let inside = path.strip_prefix(root).unwrap();
                let bytes = inside.as_os_str().as_encoded_bytes();
                let inode = map.find(bytes);
                let inode = inode.unwrap_or_else(|| panic!("{} is not found", inside.display()));
                // One of its names leads back.
                let back = map.path(inode).unwrap();
                let back = root.join(String::from_utf8(back).unwrap().trim_start_matches('/'));
                assert_eq!(fs::read(&back).unwrap(), fs::read(&path).unwrap());
                let pieces = map.extents_of(&[inode]).remove(0);
                each(&path, inode, pieces);
                count += 1;
            }
        }
    }
    count
}

/// Formats of ext whose tables, checksums and inodes differ: the type, the block size and
/// the features.
pub(super) const FORMATS: [(&str, &str, &str); 6] = [
    ("ext4", "4096", "metadata_csum,64bit,flex_bg"),
    ("ext4", "1024", "metadata_csum,^64bit,^flex_bg"),
    ("ext4", "4096", "^metadata_csum,uninit_bg,^64bit"),
    ("ext4", "2048", "^metadata_csum,^uninit_bg"),
    (
        "ext4",
        "4096",
        "metadata_csum,metadata_csum_seed,inline_data",
    ),
    ("ext3", "1024", "^has_journal"),
];

/// Makes an image of `mib` MiB at `image`, with the files below `root` if one is given;
/// `false` with a visible line where `mke2fs` is missing.
pub(super) fn ext(image: &Path, mib: u64, options: &[&str], root: Option<&Path>) -> bool {
    let file = fs::File::create(image).unwrap();
    file.set_len(mib << 20).unwrap();
    let from = root.map(|r| ["-d", r.to_str().unwrap()]);
    let from = from.as_ref().map_or(&[][..], |f| f);
    let to = [image.to_str().unwrap()];
    tool("mke2fs", &[&["-q", "-F"], options, from, &to].concat())
}

/// Whether `e2fsck` finds nothing wrong with an image.
pub(super) fn is_clean(image: &Path) -> bool {
    tool("e2fsck", &["-f", "-n", image.to_str().unwrap()])
}

/// An ext4 of 4 MiB with 40 files in 5 directories, its blocks of 1 KiB and `features`
/// added; `None` where `mke2fs` is missing.
pub(super) fn small_ext4(features: &str) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    for number in 0..40usize {
        let dir = root.join(format!("d{}", number % 5));
        fs::create_dir_all(&dir).unwrap();
        let content = noise(number as u64, number * 900);
        fs::write(dir.join(format!("f{number}")), content).unwrap();
    }
    let image = folder.path().join("x.img");
    let options = ["-t", "ext4", "-b", "1024", "-O", features];
    ext(&image, 4, &options, Some(&root)).then(|| fs::read(&image).unwrap())
}

/// Damage number `seed` of `most`: `bits` flipped bits in the superblock, the
/// descriptors, the bitmaps and the first inodes; every tenth image is truncated too.
pub(super) fn damaged(whole: &[u8], seed: u64, most: usize, bits: usize) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for place in noise(seed + 1, 3 * bits).chunks_exact(3) {
        let at = 1024 + (usize::from(place[0]) << 8 | usize::from(place[1])) * 6 / 5;
        bytes[at] ^= 1 << (place[2] % 8);
    }
    if seed % 10 == 9 {
        bytes.truncate(bytes.len() * (seed as usize) / most);
    }
    bytes
}

/// Checks that the pieces of an image contain the file at `path`; gives the start of the
/// last one.
pub(super) fn contain(image: &fs::File, path: &Path, pieces: Vec<Extent>) -> u64 {
    let content = fs::read(path).unwrap();
    let mut last = 0;
    for piece in pieces {
        let offset = usize::try_from(piece.offset.unwrap()).unwrap();
        let len = usize::try_from(piece.len).unwrap();
        let len = len.min(content.len() - offset);
        let mut found = vec![0; len];
        image.read_exact_at(&mut found, piece.start).unwrap();
        assert!(found == content[offset..offset + len], "{}", path.display());
        last = last.max(piece.start);
    }
    last
}

/// Makes an image of [`tree`] with `make`, which gets the paths of the tree and of the
/// image and says whether it could; hands both to `check`.
pub(super) fn image_of_tree(make: &dyn Fn(&str, &str) -> bool, check: &dyn Fn(&Path, &[u8])) {
    let dir = tempfile::tempdir().unwrap();
    let (root, image) = (dir.path().join("tree"), dir.path().join("image"));
    fs::create_dir(&root).unwrap();
    tree(&root);
    if make(root.to_str().unwrap(), image.to_str().unwrap()) {
        check(&root, &fs::read(&image).unwrap());
    }
}
