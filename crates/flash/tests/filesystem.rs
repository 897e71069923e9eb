//! Reading an image gives back the tree that it was made of.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]

mod common;

use common::seen::{look, require_same};
use common::{Making, Random, cases, has, tree};
use firstlight_flash::files::{Folder, Rights, Why, Wrong, extract};
use firstlight_flash::jffs2::{
    Cleanmarkers, Endian, Filesystem, Mode, OpenOptions, Options, summarize, verify,
};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

fn open(image: &dyn rawimage::ReadAt) -> Filesystem<'_> {
    Filesystem::open(image, &OpenOptions::default()).unwrap()
}

#[test]
fn trees_come_back_as_they_were() {
    if !has("mkfs.jffs2") {
        return;
    }
    for seed in 0..cases(12, 150) {
        let mut random = Random::new(1000 + seed);
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir(&root).unwrap();
        tree(&mut random, &root);
        let mut making = Making::random(&mut random);
        making.options.push("--with-xattr".into());
        let made = dir.path().join("image");
        if making.make(&root, &made).is_none() {
            continue;
        }
        let image = fs::read(&made).unwrap();
        let expected = look(&root);

        // The image itself, and the same with summaries: in blocks of another
        // place, the same files.
        let options = Options {
            erase_size: making.erase_kib * 1024,
            endian: if making.big {
                Endian::Big
            } else {
                Endian::Little
            },
            cleanmarkers: Cleanmarkers::AsFound,
            pad: true,
            mode: Mode::Safe,
        };
        let mut safe = Vec::new();
        let outcome = summarize(&image.as_slice(), &mut safe, &options).unwrap();
        assert_eq!(outcome.lost, [], "seed {seed}");
        for (what, image) in [("made", &image), ("safe", &safe)] {
            let bytes = image.as_slice();
            let filesystem = open(&bytes);
            let size = filesystem.erase_size();
            assert_eq!(
                filesystem.lost(),
                [],
                "seed {seed} {what} {size} {making:?}"
            );
            let out = dir.path().join(what);
            let mut folder = Folder::new(&out, Rights::default()).unwrap();
            let done = extract(&filesystem, &mut folder).unwrap();
            assert_eq!(done.not, [], "seed {seed} {what} {making:?}");
            require_same(&out, &root, &format!("seed {seed} {what} {making:?}"));
            let verified = verify(&filesystem).unwrap();
            assert_eq!(verified.findings.list, [], "seed {seed} {what}");
            assert_eq!(verified.names, expected.len() as u64);
        }
    }
}

#[test]
fn devices_pipes_and_owners_are_read() {
    if !has("mkfs.jffs2") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    let table = dir.path().join("table");
    let lines = "/dev d 755 0 0 - - - - -\n\
        /dev/console c 600 0 5 5 1 - - -\n\
        /dev/sda b 640 7 9 8 0 - - -\n\
        /dev/big c 600 0 0 300 70000 - - -\n\
        /dev/pipe p 644 1000 100 - - - - -\n";
    fs::write(&table, lines).unwrap();
    for big in ["-l", "-b"] {
        let made = dir.path().join("image");
        let making = Making {
            erase_kib: 64,
            big: big == "-b",
            options: vec![big.into(), "-D".into(), table.display().to_string()],
        };
        making.make(&root, &made).unwrap();
        let image = fs::read(&made).unwrap();
        let bytes = image.as_slice();
        let filesystem = open(&bytes);
        let names = filesystem.directory(1).unwrap();
        let dev = filesystem.directory(names[0].ino).unwrap();
        let told: Vec<_> = dev
            .iter()
            .map(|name| {
                let stat = filesystem.stat(name.ino).unwrap().unwrap();
                let device = filesystem.device(name.ino).ok().map(|d| (d.major, d.minor));
                (
                    String::from_utf8_lossy(&name.name).into_owned(),
                    stat.mode,
                    stat.uid,
                    stat.gid,
                    device,
                )
            })
            .collect();
        let expected = [
            // The old form of device numbers has eight bits for each.
            ("big", 0o020_600, 0, 0, Some((300, 70_000))),
            ("console", 0o020_600, 0, 5, Some((5, 1))),
            ("pipe", 0o010_644, 1000, 100, None),
            ("sda", 0o060_640, 7, 9, Some((8, 0))),
        ];
        for ((name, mode, uid, gid, device), found) in expected.iter().zip(&told) {
            let found = (found.0.as_str(), found.1, found.2, found.3, found.4);
            if *name == "big" {
                assert!(found.4.is_some());
                continue;
            }
            assert_eq!(found, (*name, *mode, *uid, *gid, *device));
        }
        assert_eq!(told.len(), expected.len());
        assert_eq!(verify(&filesystem).unwrap().findings.list, []);
    }
}

#[test]
fn a_folder_that_is_not_empty_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x"), "").unwrap();
    assert!(Folder::new(dir.path(), Rights::default()).is_err());
}

/// Images made by hand.
mod by_hand {
    use super::*;
    use firstlight_flash::jffs2::node::{Dirent, Inode};

    /// A log of nodes.
    #[derive(Default)]
    struct Log {
        bytes: Vec<u8>,
    }

    impl Log {
        fn push(&mut self, node: &[u8]) {
            self.bytes.extend(node);
            let length = self.bytes.len().next_multiple_of(4);
            self.bytes.resize(length, 0xff);
        }

        fn name(&mut self, parent: u32, version: u32, name: &[u8], ino: u32, file_type: u8) {
            let dirent = Dirent {
                parent,
                version,
                ino,
                mctime: 0,
                file_type,
                name,
            };
            self.push(&dirent.bytes(Endian::Big));
        }

        fn write(&mut self, ino: u32, version: u32, mode: u32, at: u32, data: &[u8], isize: u32) {
            self.compressed(ino, version, mode, at, data, isize, 0, data.len() as u32);
        }

        #[allow(clippy::too_many_arguments, reason = "a node has many fields")]
        fn compressed(
            &mut self,
            ino: u32,
            version: u32,
            mode: u32,
            offset: u32,
            data: &[u8],
            isize: u32,
            compression: u8,
            dsize: u32,
        ) {
            let inode = Inode {
                ino,
                version,
                mode,
                uid: 0,
                gid: 0,
                isize,
                atime: 0,
                mtime: 0,
                ctime: 0,
                offset,
                dsize,
                compression,
                user_compression: 0,
                flags: 0,
                data,
            };
            self.push(&inode.bytes(Endian::Big));
        }

        fn content(&self, ino: u32) -> Vec<u8> {
            let bytes = self.bytes.as_slice();
            let filesystem = open(&bytes);
            let mut content = Vec::new();
            filesystem
                .read(ino, &mut |offset, piece| {
                    use firstlight_flash::files::Piece;
                    assert_eq!(content.len(), offset as usize);
                    match piece {
                        Piece::Data(data) => content.extend(data),
                        Piece::Zeros(n) => content.resize(content.len() + n as usize, b'0'),
                        Piece::Gap(n) => content.resize(content.len() + n as usize, b'_'),
                        Piece::Lost(n, _) => content.resize(content.len() + n as usize, b'?'),
                    }
                    Ok(())
                })
                .unwrap();
            content
        }
    }

    const FILE: u32 = 0o100_644;
    const DIR: u32 = 0o040_755;

    #[test]
    fn newer_versions_win_wherever_they_are() {
        let mut log = Log::default();
        log.write(5, 3, FILE, 2, b"CC", 8);
        log.write(5, 1, FILE, 0, b"aaaaaa", 6);
        log.write(5, 4, FILE, 7, b"D", 8);
        log.write(5, 2, FILE, 4, b"bb", 6);
        assert_eq!(log.content(5), b"aaCCbb_D");
        // A newer, shorter size cuts the file.
        log.write(5, 9, FILE, 0, b"", 3);
        assert_eq!(log.content(5), b"aaC");
    }

    #[test]
    fn a_node_with_a_wrong_checksum_gives_way_to_the_older_one() {
        let mut log = Log::default();
        log.write(5, 1, FILE, 0, b"old", 3);
        log.write(5, 2, FILE, 0, b"new", 3);
        assert_eq!(log.content(5), b"new");
        let at = log.bytes.len() - 2;
        log.bytes[at] ^= 1;
        assert_eq!(log.content(5), b"old");
    }

    #[test]
    fn bytes_that_no_node_holds_are_told() {
        let mut log = Log::default();
        log.name(1, 1, b"f", 5, 8);
        log.write(5, 1, FILE, 0, b"front", 20);
        log.compressed(5, 2, FILE, 5, b"", 20, 1, 4);
        log.write(5, 3, FILE, 12, b"back", 20);
        assert_eq!(log.content(5), b"front0000___back____");
        let bytes = log.bytes.as_slice();
        let verified = verify(&open(&bytes)).unwrap();
        let told: Vec<_> = verified.findings.list.iter().map(|f| &f.what).collect();
        let gap = |offset, length| Wrong::Gap { offset, length };
        assert_eq!(told, [&gap(9, 3), &gap(16, 4)]);
    }

    #[test]
    fn data_that_cannot_be_had_is_told() {
        let mut log = Log::default();
        log.name(1, 1, b"f", 5, 8);
        log.compressed(5, 1, FILE, 0, b"junk", 4, 9, 4);
        log.write(5, 2, FILE, 4, b"good", 8);
        assert_eq!(log.content(5), b"????good");
        let bytes = log.bytes.as_slice();
        let verified = verify(&open(&bytes)).unwrap();
        let told: Vec<_> = verified
            .findings
            .list
            .iter()
            .map(|f| f.what.to_string())
            .collect();
        assert_eq!(
            told,
            ["4 bytes at byte 0 cannot be read: unknown compression 9"]
        );
    }

    #[test]
    fn names_are_deleted_and_replaced() {
        let mut log = Log::default();
        log.name(1, 4, b"gone", 0, 0);
        log.name(1, 1, b"gone", 5, 8);
        log.name(1, 2, b"kept", 5, 8);
        log.name(1, 3, b"kept", 6, 8);
        log.write(5, 1, FILE, 0, b"5", 1);
        log.write(6, 1, FILE, 0, b"6", 1);
        let bytes = log.bytes.as_slice();
        let filesystem = open(&bytes);
        let names = filesystem.directory(1).unwrap();
        assert_eq!(names.len(), 1);
        assert_eq!((names[0].name.as_slice(), names[0].ino), (&b"kept"[..], 6));
        let findings = verify(&filesystem).unwrap().findings.list;
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].ino, &findings[0].what), (5, &Wrong::Orphan));
    }

    /// Both as seen on images that Linux 6.1 wrote, against what it mounts.
    #[test]
    fn links_and_attributes_are_counted_as_the_kernel_does() {
        use firstlight_flash::jffs2::node::{Xattr, Xref};
        let mut log = Log::default();
        log.name(1, 1, b"kept", 5, 8);
        log.write(5, 1, FILE, 0, b"5", 1);
        // A directory that was removed still holds a name of the file.
        log.name(1, 2, b"dir", 6, 4);
        log.write(6, 1, DIR, 0, b"", 0);
        log.name(6, 1, b"other", 5, 8);
        log.name(1, 3, b"dir", 0, 4);
        // Three values of one attribute, and a deleted one: each value is an
        // attribute of its own.
        let values: [(u32, &[u8], u32); 4] =
            [(7, b"a", 2), (9, b"a", 8), (8, b"a", 4), (3, b"b", 6)];
        for (xid, name, sequence) in values {
            let value = format!("value {xid}");
            let xattr = Xattr {
                xid,
                version: 1,
                prefix: 1,
                name,
                value: value.as_bytes(),
            };
            log.push(&xattr.bytes(Endian::Big));
            let ino = 5;
            let xref = Xref { ino, xid, sequence };
            log.push(&xref.bytes(Endian::Big));
        }
        let gone = Xref {
            ino: 5,
            xid: 3,
            sequence: 11,
        };
        log.push(&gone.bytes(Endian::Big));
        let bytes = log.bytes.as_slice();
        let filesystem = open(&bytes);
        assert_eq!(filesystem.stat(5).unwrap().unwrap().links, 1);
        let found = filesystem.attributes(5).unwrap();
        let found: Vec<_> = found.iter().map(|a| (&a.name[..], &a.value[..])).collect();
        assert_eq!(found, [(&b"user.a"[..], &b"value 9"[..])]);
    }

    #[test]
    fn nothing_is_written_outside_the_folder() {
        let mut log = Log::default();
        let names: [&[u8]; 6] = [b"..", b".", b"/etc", b"a/../../x", b"", b"nul\0"];
        for (i, name) in names.iter().enumerate() {
            log.name(1, 1 + i as u32, name, 5, 8);
        }
        log.write(5, 1, FILE, 0, b"evil", 4);
        // A link that leads out, and a directory of the same name under it.
        log.name(1, 20, b"out", 6, 10);
        log.write(6, 1, 0o120_777, 0, b"..", 2);
        log.name(6, 1, b"x", 5, 8);
        // A directory that contains itself, and one with a second name.
        log.name(1, 21, b"loop", 7, 4);
        log.write(7, 1, DIR, 0, b"", 0);
        log.name(7, 1, b"self", 7, 4);
        log.name(7, 2, b"root", 1, 4);
        log.name(1, 22, b"again", 7, 4);
        log.name(1, 23, b"nothing", 99, 8);
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("a/b/out");
        let bytes = log.bytes.as_slice();
        let filesystem = open(&bytes);
        let mut folder = Folder::new(&out, Rights::default()).unwrap();
        let done = extract(&filesystem, &mut folder).unwrap();
        assert_eq!(done.not.len(), names.len() + 4, "{done:#?}");
        let mut found: Vec<_> = look(dir.path()).into_keys().collect();
        found.sort();
        let expected = ["a", "a/b", "a/b/out", "a/b/out/again", "a/b/out/out"];
        assert_eq!(found, expected.map(PathBuf::from));
        let link = fs::symlink_metadata(out.join("out")).unwrap();
        assert!(link.is_symlink());
        let again = fs::metadata(out.join("again")).unwrap();
        assert_eq!(again.permissions().mode() & 0o777, 0o755);
    }

    #[test]
    fn devices_are_made_only_on_request() {
        let mut log = Log::default();
        log.name(1, 1, b"null", 5, 2);
        log.write(5, 1, 0o020_666, 0, &[1, 3], 2);
        let bytes = log.bytes.as_slice();
        let filesystem = open(&bytes);
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let mut folder = Folder::new(&out, Rights::default()).unwrap();
        let done = extract(&filesystem, &mut folder).unwrap();
        let told: Vec<_> = done.not.iter().map(|n| (&n.path[..], &n.why)).collect();
        assert_eq!(told, [(&b"null"[..], &Why::Device)]);
        assert!(!out.join("null").exists());
        let rights = Rights {
            devices: true,
            ..Rights::default()
        };
        let mut folder = Folder::new(&dir.path().join("asked"), rights).unwrap();
        let done = extract(&filesystem, &mut folder).unwrap();
        match done.not.first().map(|n| &n.why) {
            None => assert_eq!(done.specials, 1),
            Some(Why::NotMade(kind)) => eprintln!("skipped: no device can be made: {kind}"),
            Some(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn holes_of_gigabytes_cost_nothing() {
        let mut log = Log::default();
        log.name(1, 1, b"f", 5, 8);
        log.compressed(5, 1, FILE, 0, b"", u32::MAX, 1, u32::MAX);
        log.write(5, 2, FILE, 1 << 31, b"x", u32::MAX);
        let dir = tempfile::tempdir().unwrap();
        let bytes = log.bytes.as_slice();
        let filesystem = open(&bytes);
        let mut folder = Folder::new(&dir.path().join("out"), Rights::default()).unwrap();
        let done = extract(&filesystem, &mut folder).unwrap();
        assert_eq!((done.bytes, done.not.len()), (1, 0));
        let meta = fs::metadata(dir.path().join("out/f")).unwrap();
        assert_eq!(meta.size(), u64::from(u32::MAX));
        assert!(meta.blocks() < 100);
    }
}
