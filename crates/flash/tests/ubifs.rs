//! UBIFS: what `mkfs.ubifs` makes, and damaged images.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]
mod common;

use common::seen::{require_same, strip_attributes};
use common::{Random, cases, has, run, tree};
use firstlight_flash::files::{Entry, Files, Folder, Rights, Visit, extract};
use firstlight_flash::ubi::cost::NANDSIM;
use firstlight_flash::ubifs::node::{self, kind};
use firstlight_flash::ubifs::{Error, Filesystem, Home, Refusal, inspect, master, verify};
use std::fs;
use std::path::Path;

/// Makes an image with `mkfs.ubifs`.
fn make(folder: &Path, root: &Path, options: &str) -> Option<Vec<u8>> {
    let image = folder.join("image");
    let mut args: Vec<String> = options.split(' ').map(str::to_owned).collect();
    args.extend(["-r".to_owned(), root.display().to_string()]);
    args.extend(["-o".to_owned(), image.display().to_string()]);
    run("mkfs.ubifs", &args)?;
    Some(fs::read(image).unwrap())
}

#[test]
fn trees_come_back_as_they_were() {
    if !has("mkfs.ubifs") {
        return;
    }
    let options = [
        "-m 2048 -e 129024 -c 400 -x lzo",
        "-m 2048 -e 126976 -c 400 -x zlib -F",
        "-m 512 -e 15872 -c 4000 -x zstd",
        "-m 4096 -e 253952 -c 400 -x none -f 16",
        "-m 2048 -e 129024 -c 400 -x favor_lzo",
    ];
    for seed in 0..cases(8, 80) {
        let mut random = Random::new(2000 + seed);
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir(&root).unwrap();
        tree(&mut random, &root);
        // Debian's `mkfs.ubifs` is built without them.
        strip_attributes(&root);
        // A file with a hole, and one that ends in one.
        let sparse = fs::File::create(root.join("sparse")).unwrap();
        sparse.set_len(100_000 + seed).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&sparse, b"middle", 30_000).unwrap();
        let options = options[seed as usize % options.len()];
        let Some(image) = make(dir.path(), &root, options) else {
            continue;
        };
        let bytes = image.as_slice();
        let report = inspect(&bytes, None, &NANDSIM).unwrap();
        assert_eq!(report.refusal, None, "seed {seed} {options}");
        assert_eq!(report.needs_fixup, options.ends_with("-F"));
        assert!(!report.needs_replay() && !report.needs_recovery);
        let filesystem = Filesystem::open(&bytes).unwrap();
        assert_eq!(filesystem.damage(), []);
        let verified = verify(&filesystem).unwrap();
        assert_eq!(verified.findings.list, [], "seed {seed} {options}");
        let out = dir.path().join("out");
        let mut folder = Folder::new(&out, Rights::default()).unwrap();
        let done = extract(&filesystem, &mut folder).unwrap();
        assert_eq!(done.not, [], "seed {seed} {options}");
        require_same(&out, &root, &format!("seed {seed} {options}"));
    }
}

#[test]
fn devices_and_owners_are_read() {
    if !has("mkfs.ubifs") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    let table = dir.path().join("table");
    let lines = "/dev d 755 0 0 - - - - -\n\
        /dev/console c 600 0 5 5 1 - - -\n\
        /dev/sda b 640 70000 9 8 0 - - -\n\
        /dev/pipe p 644 1000 100 - - - - -\n";
    fs::write(&table, lines).unwrap();
    let options = format!("-m 2048 -e 129024 -c 100 -D {}", table.display());
    let image = make(dir.path(), &root, &options).unwrap();
    let bytes = image.as_slice();
    let filesystem = Filesystem::open(&bytes).unwrap();
    let mut told = Vec::new();
    for visit in filesystem.tree() {
        if let Visit::Entry(Entry { path, stat }) = visit.unwrap() {
            let device = filesystem.device(stat.ino).unwrap();
            let device = device.map(|d| (d.major, d.minor));
            let path = String::from_utf8_lossy(&path).into_owned();
            told.push((path, stat.mode, stat.uid, stat.gid, device));
        }
    }
    let told: Vec<_> = told
        .iter()
        .map(|t| (t.0.as_str(), t.1, t.2, t.3, t.4))
        .collect();
    assert_eq!(
        told[2..],
        [
            ("dev/console", 0o020_600, 0, 5, Some((5, 1))),
            ("dev/pipe", 0o010_644, 1000, 100, None),
            ("dev/sda", 0o060_640, 70_000, 9, Some((8, 0))),
        ]
    );
}

/// A filesystem made by hand: blocks of 16 KiB, an index of one node, and a
/// journal.
mod by_hand {
    use super::*;

    const LEB: usize = 16 * 1024;
    /// Superblock, two master blocks, two of the log, two of block properties,
    /// one for orphans: the main area begins at 8.
    const MAIN: u32 = 8;
    const COMMIT: u64 = 5;

    #[derive(Clone)]
    struct Image {
        bytes: Vec<u8>,
        /// Where the next node of each block goes.
        ends: Vec<usize>,
        leaves: Vec<(u32, u32, u32, u32, u32)>,
        sequence: u64,
    }

    fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
        bytes[at..at + value.len()].copy_from_slice(value);
    }

    impl Image {
        fn new() -> Self {
            let mut image = Self {
                bytes: vec![0xff; LEB * 24],
                ends: vec![0; 24],
                leaves: Vec::new(),
                sequence: 10,
            };
            let mut superblock = vec![0; 4096 - 24];
            for (at, value) in [
                (28, 0_u32),
                (32, 512),
                (36, LEB as u32),
                (40, 24),
                (44, 24),
                (56, 2),
                (60, 2),
                (64, 1),
                (68, 1),
                (72, 8),
                (80, 4),
                (104, 1),
            ] {
                put(&mut superblock, at - 24, &value.to_le_bytes());
            }
            put(&mut superblock, 48 - 24, &(4 * LEB as u64).to_le_bytes());
            image.add(0, kind::SUPERBLOCK, &superblock, 0);
            image
        }

        /// Writes a node at the end of a block, and says where it is.
        fn add(&mut self, leb: u32, kind: u8, body: &[u8], group: u8) -> (u32, u32) {
            self.sequence += 1;
            let mut node = node::bytes(kind, self.sequence, body);
            node[21] = group;
            let sum = firstlight_flash::ubi::crc(&node[8..]);
            node[4..8].copy_from_slice(&sum.to_le_bytes());
            let at = self.ends[leb as usize];
            put(&mut self.bytes, leb as usize * LEB + at, &node);
            self.ends[leb as usize] = (at + node.len()).next_multiple_of(8);
            (at as u32, node.len() as u32)
        }

        /// Writes a node that the index knows, or one of the journal.
        fn keyed(&mut self, leb: u32, kind: u8, key: (u32, u32), rest: &[u8], group: u8) {
            let mut body = vec![0; 16];
            put(&mut body, 0, &key.0.to_le_bytes());
            put(&mut body, 4, &key.1.to_le_bytes());
            body.extend(rest);
            let (at, length) = self.add(leb, kind, &body, group);
            if leb == MAIN {
                self.leaves.push((key.0, key.1, leb, at, length));
            }
        }

        fn inode(&mut self, leb: u32, ino: u32, mode: u32, links: u32, size: u64, data: &[u8]) {
            self.grouped_inode(leb, ino, mode, links, size, data, 0);
        }

        #[allow(clippy::too_many_arguments, reason = "a node has many fields")]
        fn grouped_inode(
            &mut self,
            leb: u32,
            ino: u32,
            mode: u32,
            links: u32,
            size: u64,
            data: &[u8],
            group: u8,
        ) {
            let mut rest = vec![0; 120];
            put(&mut rest, 48 - 40, &size.to_le_bytes());
            put(&mut rest, 92 - 40, &links.to_le_bytes());
            put(&mut rest, 104 - 40, &mode.to_le_bytes());
            put(&mut rest, 112 - 40, &(data.len() as u32).to_le_bytes());
            rest.extend(data);
            self.keyed(leb, kind::INODE, (ino, 0), &rest, group);
        }

        fn data(&mut self, leb: u32, ino: u32, block: u32, data: &[u8]) {
            let mut rest = (data.len() as u32).to_le_bytes().to_vec();
            rest.extend([0; 4]);
            rest.extend(data);
            self.keyed(leb, kind::DATA, (ino, 1 << 29 | block), &rest, 0);
        }

        fn name(&mut self, leb: u32, parent: u32, hash: u32, name: &str, ino: u64, group: u8) {
            let mut rest = ino.to_le_bytes().to_vec();
            rest.extend([0, 0]);
            rest.extend((name.len() as u16).to_le_bytes());
            rest.extend([0; 4]);
            rest.extend(name.as_bytes());
            rest.push(0);
            self.keyed(leb, kind::DIRENT, (parent, 2 << 29 | hash), &rest, group);
        }

        fn cut(&mut self, leb: u32, ino: u32, old: u64, new: u64) {
            let mut body = ino.to_le_bytes().to_vec();
            body.extend([0; 12]);
            body.extend(old.to_le_bytes());
            body.extend(new.to_le_bytes());
            self.add(leb, kind::TRUNCATION, &body, 0);
        }

        /// Writes index, master nodes and log; the journal is in `buds`.
        fn finish(&mut self, flags: u32, buds: &[u32]) -> Vec<u8> {
            self.leaves.sort_unstable();
            let mut body = (self.leaves.len() as u16).to_le_bytes().to_vec();
            body.extend([0, 0]);
            for (ino, key, leb, at, length) in self.leaves.clone() {
                for value in [leb, at, length, ino, key] {
                    body.extend(value.to_le_bytes());
                }
            }
            let (root, length) = self.add(MAIN + 1, kind::INDEX, &body, 0);
            let mut body = vec![0; 512 - 24];
            put(&mut body, 8, &COMMIT.to_le_bytes());
            for (at, value) in [
                (40, flags),
                (44, 3),
                (48, MAIN + 1),
                (52, root),
                (56, length),
                (164, 24),
            ] {
                put(&mut body, at - 24, &value.to_le_bytes());
            }
            self.add(1, kind::MASTER, &body, 0);
            self.add(2, kind::MASTER, &body, 0);
            self.add(3, kind::COMMIT, &COMMIT.to_le_bytes(), 0);
            for bud in buds {
                let mut body = vec![0; 40];
                put(&mut body, 0, &bud.to_le_bytes());
                put(&mut body, 8, &1_u32.to_le_bytes());
                self.add(3, kind::REFERENCE, &body, 0);
            }
            self.bytes.clone()
        }
    }

    const FILE: u32 = 0o100_644;

    /// A root with the file `a` of 9000 bytes.
    fn base() -> Image {
        let mut image = Image::new();
        image.inode(MAIN, 1, 0o040_755, 2, 160, b"");
        image.name(MAIN, 1, 7, "a", 64, 0);
        image.inode(MAIN, 64, FILE, 1, 9000, b"");
        for block in 0..3 {
            image.data(MAIN, 64, block, &[b'0' + block as u8; 4096]);
        }
        image
    }

    fn list(bytes: &[u8]) -> Vec<(String, u64)> {
        let filesystem = Filesystem::open(&bytes).unwrap();
        let mut found = Vec::new();
        for visit in filesystem.tree() {
            if let Visit::Entry(entry) = visit.unwrap() {
                let path = String::from_utf8(entry.path).unwrap();
                found.push((path, entry.stat.size));
            }
        }
        found.remove(0);
        found
    }

    fn content(bytes: &[u8], ino: u32) -> Vec<u8> {
        use firstlight_flash::files::Piece;
        let filesystem = Filesystem::open(&bytes).unwrap();
        let mut content = Vec::new();
        let mut take = |_: u64, piece: Piece| {
            match piece {
                Piece::Data(data) => content.extend(data),
                Piece::Zeros(n) => content.extend(vec![0; n as usize]),
                Piece::Gap(n) => content.extend(vec![b'_'; n as usize]),
                Piece::Lost(n, _) => content.extend(vec![b'?'; n as usize]),
            }
            Ok(())
        };
        filesystem.read(ino, &mut take).unwrap();
        content
    }

    #[test]
    fn a_clean_filesystem_is_read() {
        let bytes = base().finish(0, &[]);
        let report = inspect(&bytes.as_slice(), None, &NANDSIM).unwrap();
        assert_eq!(report.refusal, None);
        assert!(!report.needs_replay() && !report.needs_recovery);
        assert_eq!(list(&bytes), [("a".to_owned(), 9000)]);
        let expected = [vec![b'0'; 4096], vec![b'1'; 4096], vec![b'2'; 808]].concat();
        assert_eq!(content(&bytes, 64), expected);
    }

    #[test]
    fn the_journal_is_replayed_in_its_order() {
        let mut image = base();
        let bud = 12;
        // A new file, then `a` renamed over it, cut, and written anew in part.
        image.name(bud, 1, 7, "b", 65, 0);
        image.inode(bud, 65, FILE, 1, 3, b"");
        image.data(bud, 65, 0, b"new");
        image.name(bud, 1, 7, "b", 64, 0);
        image.name(bud, 1, 7, "a", 0, 0);
        image.inode(bud, 65, FILE, 0, 3, b"");
        image.cut(bud, 64, 9000, 5000);
        image.data(bud, 64, 1, &[b'x'; 904]);
        image.inode(bud, 64, FILE, 1, 5000, b"");
        image.name(bud, 1, 9, "c", 66, 0);
        image.inode(bud, 66, FILE, 1, 0, b"");
        let bytes = image.finish(0, &[bud]);
        let report = inspect(&bytes.as_slice(), None, &NANDSIM).unwrap();
        assert_eq!((report.journal.nodes, report.journal.buds.len()), (11, 1));
        assert!(report.needs_replay() && !report.needs_recovery);
        let expected = [("b".to_owned(), 5000), ("c".to_owned(), 0)];
        assert_eq!(list(&bytes), expected);
        let expected = [vec![b'0'; 4096], vec![b'x'; 904]].concat();
        assert_eq!(content(&bytes, 64), expected);
        assert_eq!(content(&bytes, 65), b"");
    }

    #[test]
    fn two_names_with_one_hash_are_two() {
        let mut image = base();
        image.name(MAIN, 1, 7, "other", 67, 0);
        image.inode(MAIN, 67, FILE, 1, 1, b"");
        image.name(12, 1, 7, "a", 0, 0);
        let bytes = image.finish(0, &[12]);
        assert_eq!(list(&bytes), [("other".to_owned(), 1)]);
    }

    #[test]
    fn extended_attributes_are_read() {
        let mut image = base();
        let mut rest = 70_u64.to_le_bytes().to_vec();
        rest.extend([0, 0, 8, 0, 0, 0, 0, 0]);
        rest.extend(b"user.key\0");
        image.keyed(MAIN, kind::XATTR, (64, 3 << 29 | 5), &rest, 0);
        image.inode(MAIN, 70, FILE, 1, 5, b"value");
        let bytes = image.finish(0, &[]);
        let bytes = bytes.as_slice();
        let filesystem = Filesystem::open(&bytes).unwrap();
        let found = filesystem.attributes(64).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (&found[0].name[..], &found[0].value[..]),
            (&b"user.key"[..], &b"value"[..])
        );
        assert_eq!(filesystem.attributes(1).unwrap(), []);
    }

    #[test]
    fn after_a_power_cut_the_end_of_the_journal_may_be_damaged() {
        let mut image = base();
        image.name(12, 1, 9, "whole", 66, 1);
        image.grouped_inode(12, 66, FILE, 1, 0, b"", 2);
        // A group that was not finished, and garbage behind it.
        image.name(12, 1, 10, "half", 68, 1);
        let end = 12 * LEB + image.ends[12];
        image.bytes[end..end + 20].fill(0x55);
        let mut clean = image.clone();
        let bytes = image.finish(1, &[12]);
        let report = inspect(&bytes.as_slice(), None, &NANDSIM).unwrap();
        assert_eq!(report.refusal, None);
        assert!(report.needs_recovery);
        let expected = [("a".to_owned(), 9000), ("whole".to_owned(), 0)];
        assert_eq!(list(&bytes), expected);
        // The same after an unmount is a reason to refuse it.
        let bytes = clean.finish(0, &[12]);
        let report = inspect(&bytes.as_slice(), None, &NANDSIM).unwrap();
        assert!(matches!(report.refusal, Some(Refusal::Journal(_))));
        assert!(matches!(
            Filesystem::open(&bytes.as_slice()),
            Err(Error::Journal(_))
        ));
    }

    #[test]
    fn after_a_power_cut_lengths_are_mended() {
        let mut image = base();
        image.data(12, 64, 3, &[b'3'; 100]);
        let mut clean = image.clone();
        let dirty = image.finish(1, &[12]);
        assert_eq!(list(&dirty), [("a".to_owned(), 3 * 4096 + 100)]);
        let clean = clean.finish(0, &[12]);
        assert_eq!(list(&clean), [("a".to_owned(), 9000)]);
    }

    #[test]
    fn the_master_node_is_found_as_the_kernel_finds_it() {
        let state = |bytes: &[u8]| {
            let report = inspect(&bytes, None, &NANDSIM).unwrap();
            (report.master.name(), report.refusal.is_none())
        };
        let good = base().finish(0, &[]);
        assert_eq!(state(&good), ("good", true));
        // Written in the first block, and not in the second one yet.
        let mut image = base();
        image.finish(0, &[]);
        let copy = image.bytes[LEB..LEB + 512].to_vec();
        let mut ahead = image.bytes.clone();
        put(&mut ahead, LEB + 512, &copy);
        assert_eq!(state(&ahead), ("recovered", true));
        let report = inspect(&ahead.as_slice(), None, &NANDSIM).unwrap();
        assert!(matches!(report.master, master::State::Recovered(_, 1)));
        // The first was erased, but the second one has room left.
        let mut lost = good.clone();
        lost[LEB..2 * LEB].fill(0xff);
        assert_eq!(state(&lost), ("lost", false));
        let lost = lost.as_slice();
        let opened = Filesystem::open(&lost);
        assert!(matches!(opened.err(), Some(Error::NoMaster)));
        // The second was erased: only the very first node counts then.
        let mut second = good.clone();
        second[2 * LEB..3 * LEB].fill(0xff);
        assert_eq!(state(&second), ("recovered", true));
    }

    #[test]
    fn a_volume_that_does_not_fit_is_told() {
        let bytes = base().finish(0, &[]);
        let home = Home {
            leb_size: LEB as u32,
            lebs: Some(24),
            min_io: Some(512),
        };
        let refusal = |home| {
            inspect(&bytes.as_slice(), Some(home), &NANDSIM)
                .unwrap()
                .refusal
        };
        assert_eq!(refusal(home), None);
        for (home, said) in [
            (
                Home {
                    leb_size: 15_872,
                    ..home
                },
                "LEB size mismatch: 16384 in superblock, 15872 real",
            ),
            (
                Home {
                    lebs: Some(20),
                    ..home
                },
                "bad LEB count: 24 in superblock, 20 on UBI volume",
            ),
            (
                Home {
                    min_io: Some(2048),
                    ..home
                },
                "min. I/O unit mismatch: 512 in superblock, 2048 real",
            ),
        ] {
            assert_eq!(refusal(home).unwrap().to_string(), said);
        }
    }

    #[test]
    fn damage_makes_files_incomplete_and_nothing_worse() {
        let mut image = base();
        let bud = 12;
        image.name(bud, 1, 9, "c", 66, 0);
        image.inode(bud, 66, FILE, 1, 0, b"");
        let good = image.finish(1, &[bud]);
        let mut random = Random::new(7);
        for _ in 0..cases(150, 20_000) {
            let mut bytes = good.clone();
            for _ in 0..1 + random.below(4) {
                let leb = *random.pick(&[0, 1, 2, 3, 8, 9, 12]);
                let at = leb * LEB + random.below(4800) as usize;
                let bit = 1 << random.below(8);
                bytes[at] ^= bit;
                // Make the checksum of the node that it is in right again.
                let mut start = at & !7;
                while start > leb * LEB && bytes[start..start + 4] != [0x31, 0x18, 0x10, 0x06] {
                    start -= 8;
                }
                let length = u32::from_le_bytes(bytes[start + 16..start + 20].try_into().unwrap());
                let end = start + (length as usize).clamp(24, 5000);
                if end <= bytes.len() && random.one_in(2) {
                    let sum = firstlight_flash::ubi::crc(&bytes[start + 8..end]);
                    bytes[start + 4..start + 8].copy_from_slice(&sum.to_le_bytes());
                }
            }
            if random.one_in(5) {
                bytes.truncate(random.below(bytes.len() as u64) as usize);
            }
            let image = bytes.as_slice();
            inspect(&image, None, &NANDSIM).ok();
            if let Ok(filesystem) = Filesystem::open(&image) {
                let mut sink = Null;
                extract(&filesystem, &mut sink).unwrap();
                verify(&filesystem).unwrap();
            }
        }
    }

    struct Null;

    impl firstlight_flash::files::Sink for Null {
        fn directory(&mut self, _: &Entry) -> std::io::Result<()> {
            Ok(())
        }
        fn file(&mut self, _: &Entry) -> std::io::Result<()> {
            Ok(())
        }
        fn write(&mut self, _: u64, _: &[u8]) -> std::io::Result<()> {
            Ok(())
        }
        fn symlink(&mut self, _: &Entry, _: &[u8]) -> std::io::Result<()> {
            Ok(())
        }
        fn hard_link(&mut self, _: &Entry, _: &[u8]) -> std::io::Result<()> {
            Ok(())
        }
        fn special(
            &mut self,
            _: &Entry,
            _: Option<firstlight_flash::files::Device>,
        ) -> std::io::Result<bool> {
            Ok(true)
        }
        fn metadata(
            &mut self,
            _: &Entry,
            _: &[firstlight_flash::files::Attribute],
        ) -> std::io::Result<()> {
            Ok(())
        }
    }
}
