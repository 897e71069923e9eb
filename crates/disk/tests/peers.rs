//! Random trees in images of others' tools, as others' readers take them out again and as the
//! kernel mounts them: names, kinds, sizes and bytes are theirs.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use firstlight_disk::{Disk, File, Kind, Map, Part, ReadAt};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// So many trees each format gets; `FIRSTLIGHT_TEST_ALL` asks for more.
fn seeds(few: u64) -> std::ops::Range<u64> {
    let all = std::env::var_os("FIRSTLIGHT_TEST_ALL").is_some();
    0..if all { few * 20 } else { few }
}

/// Pseudo-random numbers, the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end.max(1)
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        match self.below(3) {
            0 => (0..length).map(|_| self.below(256) as u8).collect(),
            1 => b"a line that packs well\n"
                .iter()
                .copied()
                .cycle()
                .take(length)
                .collect(),
            _ => vec![0; length],
        }
    }
}

/// A tree of files of many sizes, with holes, links of both kinds, deep and full directories and
/// names that are no text.
fn tree(random: &mut Random, root: &Path) {
    let mut folders = vec![root.to_owned()];
    let mut files: Vec<PathBuf> = Vec::new();
    for number in 0..20 + random.below(60) {
        let folder = folders[random.below(folders.len())].clone();
        let mut name = format!("{number}").into_bytes();
        match random.below(6) {
            0 => name.resize(1 + random.below(254), b'n'),
            1 => name.extend([b' ', 0xff, 0xc3, b'\'', b'&']),
            _ => {}
        }
        let path = folder.join(OsStr::from_bytes(&name));
        match random.below(10) {
            _ if path.exists() => {}
            0 | 1 => {
                fs::create_dir(&path).unwrap();
                folders.push(path);
            }
            2 => symlink("x/".repeat(1 + random.below(150)), &path).unwrap(),
            3 if !files.is_empty() => {
                fs::hard_link(&files[random.below(files.len())], &path).unwrap();
            }
            kind => {
                let length = match random.below(4) {
                    0 => random.below(64),
                    1 => random.below(4200),
                    2 => 4096 * random.below(12),
                    _ => random.below(150_000),
                };
                fs::write(&path, random.bytes(length)).unwrap();
                if kind == 4 {
                    let file = fs::File::options().write(true).open(&path).unwrap();
                    let at = (length + random.below(300_000)) as u64;
                    file.write_all_at(b"behind a hole", at).unwrap();
                }
                files.push(path);
            }
        }
    }
    let full = root.join("full");
    fs::create_dir(&full).unwrap();
    for number in 0..random.below(400) {
        fs::write(
            full.join(format!("one-of-many-{number}")),
            number.to_string(),
        )
        .unwrap();
    }
}

/// Runs a tool. `None`, with a visible line, where it is missing.
fn tool(name: &str, arguments: &[&OsStr], input: &str) -> Option<()> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let child = Command::new(name)
        .args(arguments)
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(e) => {
            eprintln!("skipped: {name} is not there: {e}");
            return None;
        }
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name} {arguments:?}: {said}");
    Some(())
}

/// Calls `look` with a folder in which the kernel has mounted the image; `None`, with a visible
/// line, where it does not.
fn mounted<T>(image: &Path, at: &Path, look: impl FnOnce(&Path) -> T) -> Option<T> {
    fs::create_dir(at).unwrap();
    let [shown, place] = [image, at].map(|p| p.to_str().unwrap());
    let mount = |words: &[&str]| {
        let said = Command::new(words[0]).args(&words[1..]).output();
        said.is_ok_and(|said| said.status.success())
    };
    if !mount(&["mount", "-o", "ro,loop", shown, place]) {
        eprintln!("skipped: the kernel here mounts no such image");
        return None;
    }
    let found = look(at);
    // A program that another test starts may have it open for a moment.
    let gone = (0..50).any(|_| {
        let done = mount(&["umount", place]);
        if !done {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        done
    });
    assert!(gone, "{place} cannot be unmounted");
    Some(found)
}

/// What is in a folder: paths from the root on, and the kind and size of each.
fn seen(folder: &Path) -> BTreeMap<Vec<u8>, (Kind, u64)> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(here) = open.pop() {
        for entry in fs::read_dir(&here).unwrap() {
            let path = entry.unwrap().path();
            let about = path.symlink_metadata().unwrap();
            let kind = match about.file_type() {
                kind if kind.is_dir() => {
                    open.push(path.clone());
                    Kind::Directory
                }
                kind if kind.is_symlink() => Kind::Symlink,
                _ => Kind::File,
            };
            let inside = path.strip_prefix(folder).unwrap().as_os_str().as_bytes();
            // How long a directory is, each filesystem decides.
            let size = if kind == Kind::Directory {
                0
            } else {
                about.len()
            };
            all.insert([b"/", inside].concat(), (kind, size));
        }
    }
    all
}

/// The image holds what its peer took out of it into `folder`; how many files were read byte by
/// byte.
fn agrees(image: &Path, folder: &Path, what: &str) -> usize {
    let bytes = fs::read(image).unwrap();
    let slice = bytes.as_slice();
    let part = Part::whole(&slice as &dyn ReadAt).unwrap();
    let disk = Disk::open(&part, None).unwrap();
    let (_, map) = disk.maps().next().unwrap();
    assert_eq!(map.notes, Vec::<String>::new(), "{what}");
    let mut wanted = seen(folder);
    wanted.remove(&b"/lost+found"[..]);
    let mut compared = 0;
    for (path, about) in &wanted {
        let shown = String::from_utf8_lossy(path);
        // A link leads on; what it is itself is found among all inodes.
        if about.0 != Kind::Symlink {
            let number = map.find(path);
            let number = number.unwrap_or_else(|| panic!("{what}: {shown} is not found"));
            assert_eq!(kind_and_size(map, number), *about, "{what}: {shown}");
            compared += usize::from(same_bytes(part, map, number, folder, path, what));
        }
    }
    // Nothing else has a name.
    let mut links = 0;
    for inode in map.inodes() {
        let Some(path) = map.path(inode.number) else {
            continue;
        };
        if path == b"/" || path.starts_with(b"/lost+found") {
            continue;
        }
        let shown = String::from_utf8_lossy(&path);
        let about = wanted.get(&path);
        let about = about.unwrap_or_else(|| panic!("{what}: {shown} is only here"));
        assert_eq!(kind_and_size(map, inode.number), *about, "{what}: {shown}");
        links += usize::from(about.0 == Kind::Symlink);
    }
    let symlinks = wanted.values().filter(|w| w.0 == Kind::Symlink).count();
    assert_eq!(links, symlinks, "{what}");
    for (path, number) in folders(map, &wanted) {
        let names = fs::read_dir(folder.join(OsStr::from_bytes(&path[1..])));
        let theirs: BTreeSet<_> = names.unwrap().map(|n| n.unwrap().file_name()).collect();
        let shown = String::from_utf8_lossy(&path);
        assert_eq!(map.names_in(number), theirs.len(), "{what}: {shown}");
    }
    compared
}

fn folders(map: &Map, wanted: &BTreeMap<Vec<u8>, (Kind, u64)>) -> Vec<(Vec<u8>, u32)> {
    let folders = wanted
        .iter()
        .filter(|(_, about)| about.0 == Kind::Directory);
    folders
        .map(|(path, _)| (path.clone(), map.find(path).unwrap()))
        .collect()
}

fn kind_and_size(map: &Map, number: u32) -> (Kind, u64) {
    let inode = map.inode(number).unwrap();
    let size = if inode.kind == Kind::Directory {
        0
    } else {
        inode.size
    };
    (inode.kind, size)
}

/// Compares the bytes of a file, if they lie in the image as they are.
fn same_bytes(
    part: Part<'_>,
    map: &Map,
    number: u32,
    folder: &Path,
    path: &[u8],
    what: &str,
) -> bool {
    let Some(file) = File::open(part, map, number) else {
        return false;
    };
    let theirs = fs::read(folder.join(OsStr::from_bytes(&path[1..]))).unwrap();
    let mut ours = vec![0; file.length().unwrap() as usize];
    file.read_exact_at(0, &mut ours).unwrap();
    assert!(ours == theirs, "{what}: {}", String::from_utf8_lossy(path));
    true
}

/// Makes trees, an image of each with `make`, and compares it with what `take` takes out.
fn compared(
    few: u64,
    make: &dyn Fn(u64, &Path, &Path) -> Option<String>,
    take: &dyn Fn(&Path, &Path) -> Option<()>,
) {
    let mut files = 0;
    for seed in seeds(few) {
        let folder = tempfile::tempdir().unwrap();
        let [root, image, out] = ["root", "image", "out"].map(|n| folder.path().join(n));
        fs::create_dir(&root).unwrap();
        tree(&mut Random(seed * 2 + 1), &root);
        let Some(what) = make(seed, &root, &image) else {
            return;
        };
        let Some(()) = take(&image, &out) else { return };
        files += agrees(&image, &out, &format!("seed {seed}, {what}"));
        let at = folder.path().join("at");
        let what = format!("seed {seed}, {what}, mounted");
        mounted(&image, &at, |at| agrees(&image, at, &what));
    }
    assert!(files > 0, "no file could be compared byte by byte");
}

/// One of these sets of options, by its number.
fn options<'o>(all: &[&'o str], seed: u64) -> (Vec<&'o OsStr>, String) {
    let chosen = all[seed as usize % all.len()];
    let words = chosen.split(' ').filter(|w| !w.is_empty());
    (words.map(OsStr::new).collect(), chosen.to_owned())
}

#[test]
fn a_squashfs_is_what_unsquashfs_takes_out() {
    const OPTIONS: [&str; 6] = [
        "-noD -noF",
        "-comp xz -b 16384",
        "-noI -noD -noF -no-fragments",
        "-comp zstd -b 4096 -always-use-fragments",
        "-comp lz4 -noD -no-exports -no-xattrs",
        "-comp gzip -b 1M -no-duplicates",
    ];
    let make = |seed, root: &Path, image: &Path| {
        let (words, what) = options(&OPTIONS, seed);
        let first = [root.as_os_str(), image.as_os_str()];
        let rest = ["-noappend", "-quiet"].map(OsStr::new);
        tool("mksquashfs", &[&first[..], &rest, &words].concat(), "")?;
        Some(what)
    };
    let take = |image: &Path, out: &Path| {
        let words = ["-quiet", "-no-progress", "-dest"].map(OsStr::new);
        let paths = [out.as_os_str(), image.as_os_str()];
        tool("unsquashfs", &[&words[..], &paths].concat(), "")
    };
    compared(6, &make, &take);
}

#[test]
fn an_erofs_is_what_its_checker_takes_out() {
    const OPTIONS: [&str; 6] = [
        "",
        "-zlz4",
        "-E noinline_data",
        "--chunksize=4096",
        "-zlz4hc -C65536 -E ztailpacking",
        "-E force-inode-extended",
    ];
    let make = |seed, root: &Path, image: &Path| {
        let (words, what) = options(&OPTIONS, seed);
        let paths = [image.as_os_str(), root.as_os_str()];
        let quiet = [OsStr::new("--quiet")];
        tool("mkfs.erofs", &[&quiet[..], &words, &paths].concat(), "")?;
        Some(what)
    };
    let take = |image: &Path, out: &Path| {
        let extract = format!("--extract={}", out.display());
        tool("fsck.erofs", &[OsStr::new(&extract), image.as_os_str()], "")
    };
    compared(6, &make, &take);
}

/// After some files are gone and others have come, so that content is in many pieces. Without
/// `inline_data`: of a shorter file in its inode, debugfs 1.47.0 takes out 60 bytes.
#[test]
fn an_ext_is_what_debugfs_takes_out() {
    const OPTIONS: [&str; 5] = [
        "-t ext4 -b 4096",
        "-t ext4 -b 1024 -O ^has_journal,^flex_bg",
        "-t ext2 -b 1024",
        "-t ext4 -b 2048 -O ^extents,^64bit",
        "-t ext3 -b 4096",
    ];
    let make = |seed, root: &Path, image: &Path| {
        let (words, what) = options(&OPTIONS, seed);
        let first = ["-q", "-F", "-d"].map(OsStr::new);
        let paths = [root.as_os_str()];
        let size = [image.as_os_str(), OsStr::new("24M")];
        tool("mke2fs", &[&first[..], &paths, &words, &size].concat(), "")?;
        let large = image.with_extension("large");
        fs::write(&large, Random(seed + 99).bytes(700_000)).unwrap();
        let count = fs::read_dir(root.join("full")).unwrap().count();
        let mut script: String = (0..count)
            .step_by(2)
            .map(|n| format!("rm /full/one-of-many-{n}\n"))
            .collect();
        for number in 0..3 {
            script += &format!("write {} /large-{number}\n", large.display());
        }
        script += "rm /large-1\npunch /large-0 3 40\n";
        let words = [OsStr::new("-w"), OsStr::new("-f"), OsStr::new("-")];
        tool(
            "debugfs",
            &[&words[..], &[image.as_os_str()]].concat(),
            &script,
        )?;
        Some(what)
    };
    let take = |image: &Path, out: &Path| {
        fs::create_dir(out).unwrap();
        let script = format!("rdump / {}\n", out.display());
        let words = [OsStr::new("-f"), OsStr::new("-"), image.as_os_str()];
        tool("debugfs", &words, &script)
    };
    compared(5, &make, &take);
}
