//! Files of every kind, whole and damaged: how they are listed, checked and extracted.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::ubi::{Chip, LEB_SIZE, record, static_vid};
use firstlight_flash::attached::attach;
use firstlight_flash::files::{
    Attribute, Device, Entry, Folder, NameFault, Rights, Sink, Why, extract,
};
use firstlight_flash::jffs2::node::{Dirent, Inode};
use firstlight_flash::jffs2::{self, Endian, OpenOptions};
use firstlight_flash::listing::Listing;
use firstlight_flash::mount::{State, look};
use firstlight_flash::verified::Verified;
use firstlight_flash::{ubi, ubifs};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;

const ERASE_SIZE: usize = 8192;

fn corpus(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/flash/");
    fs::read(format!("{path}{name}")).unwrap()
}

/// What a name of a file says it is (`DT_*`, include/linux/fs_types.h).
mod type_of_name {
    pub const UNKNOWN: u8 = 0;
    pub const PIPE: u8 = 1;
    pub const CHARACTERS: u8 = 2;
    pub const FOLDER: u8 = 4;
    pub const BLOCKS: u8 = 6;
    pub const FILE: u8 = 8;
    pub const LINK: u8 = 10;
    pub const SOCKET: u8 = 12;
}

/// A log of JFFS2 in work.
struct Log {
    bytes: Vec<u8>,
    version: u32,
}

impl Log {
    fn add(&mut self, node: &[u8]) {
        self.bytes.extend(node);
        self.bytes
            .resize(self.bytes.len().next_multiple_of(4), 0xff);
        self.version += 1;
    }

    fn name(&mut self, parent: u32, name: &str, ino: u32, file_type: u8) {
        let node = Dirent {
            parent,
            version: self.version,
            ino,
            mctime: 6,
            file_type,
            name: name.as_bytes(),
        };
        self.add(&node.bytes(Endian::Little));
    }

    fn inode(&mut self, ino: u32, mode: u32, isize: u32, offset: u32, packed: u8, data: &[u8]) {
        let node = Inode {
            ino,
            version: self.version,
            mode,
            uid: 1,
            gid: 2,
            isize,
            atime: 3,
            mtime: 4,
            ctime: 5,
            offset,
            dsize: if packed == 0 { data.len() as u32 } else { 10 },
            compression: packed,
            user_compression: 0,
            flags: 0,
            data,
        };
        self.add(&node.bytes(Endian::Little));
    }
}

/// One of each kind of file; those whose names begin with `bad` are damaged.
fn image() -> Vec<u8> {
    use type_of_name::*;
    let mut log = Log {
        bytes: Vec::new(),
        version: 1,
    };
    log.name(1, "folder", 2, FOLDER);
    log.inode(2, 0o040_755, 0, 0, 0, b"");
    log.name(2, "file", 3, FILE);
    log.name(1, "other-name", 3, FILE);
    log.inode(3, 0o100_644, 5, 0, 0, b"hello");
    log.name(1, "link", 4, LINK);
    log.inode(4, 0o120_777, 5, 0, 0, b"a/b/c");
    // The driver's number behind that of the device, a byte each.
    log.name(1, "tty", 5, CHARACTERS);
    log.inode(5, 0o020_600, 2, 0, 0, &[1, 5]);
    log.name(1, "pipe", 6, PIPE);
    log.inode(6, 0o010_600, 0, 0, 0, b"");
    log.name(1, "socket", 7, SOCKET);
    log.inode(7, 0o140_600, 0, 0, 0, b"");
    log.name(1, "bad-disk", 8, BLOCKS);
    log.inode(8, 0o060_600, 3, 0, 0, b"abc");
    log.name(1, "bad-link", 9, LINK);
    log.inode(9, 0o120_777, 0, 0, 0, b"");
    log.name(1, "bad-type", 10, UNKNOWN);
    log.inode(10, 0o000_644, 0, 0, 0, b"");
    // Compressed with what nobody knows, and 50 of 60 bytes that are nowhere.
    log.name(1, "bad-data", 11, FILE);
    log.inode(11, 0o100_644, 10, 0, 99, b"xyz");
    log.name(1, "bad-gap", 12, FILE);
    log.inode(12, 0o100_644, 60, 50, 0, b"0123456789");
    log.name(1, "bad-gone", 77, FILE);
    log.name(1, "..", 3, FILE);
    log.name(2, "a\0b", 3, FILE);
    assert!(log.bytes.len() <= ERASE_SIZE);
    log.bytes.resize(ERASE_SIZE, 0xff);
    log.bytes
}

fn open<'a>(image: &'a &'a [u8]) -> jffs2::Filesystem<'a> {
    let options = OpenOptions {
        erase_size: Some(ERASE_SIZE as u32),
        ..OpenOptions::default()
    };
    jffs2::Filesystem::open(image, &options).unwrap()
}

#[test]
fn a_list_shows_what_is_wanted_and_what_is_wrong_there() {
    let bytes = image();
    let slice = bytes.as_slice();
    let filesystem = open(&slice);
    let all = Listing::jffs2(&filesystem, b"/", true).unwrap();
    assert_eq!(all.filesystem, "jffs2");
    let of = |path: &str| {
        all.files
            .iter()
            .find(|f| f.path == path.as_bytes())
            .unwrap()
    };
    assert_eq!(of("link").target.as_deref(), Some(&b"a/b/c"[..]));
    assert_eq!(of("tty").device, Some(Device { major: 5, minor: 1 }));
    assert_eq!(of("bad-disk").device, None);
    let file = of("folder/file");
    // Four names lead to it, and two of them are none that the kernel shows.
    assert_eq!((file.stat.size, file.stat.uid, file.stat.links), (5, 1, 4));
    assert_eq!(file.nodes.as_ref().map(Vec::len), Some(1));
    let faults = [
        (&b".."[..], NameFault::Unsafe),
        (b"bad-gone", NameFault::Dangling),
        (b"folder/a\0b", NameFault::Unsafe),
    ];
    assert_eq!(
        all.faults,
        faults.map(|(path, fault)| (path.to_vec(), fault))
    );
    // Of a folder only what is in it, and no nodes without asking.
    let some = Listing::jffs2(&filesystem, b"./folder/", false).unwrap();
    let paths: Vec<&[u8]> = some.files.iter().map(|f| f.path.as_slice()).collect();
    assert_eq!(paths, [&b"folder"[..], b"folder/file"]);
    assert_eq!(some.faults, [(b"folder/a\0b".to_vec(), NameFault::Unsafe)]);
    assert!(some.files.iter().all(|f| f.nodes.is_none()));
    assert!(!some.is_empty());
    assert!(
        Listing::jffs2(&filesystem, b"fold", false)
            .unwrap()
            .is_empty()
    );
    for (fault, words) in [
        (NameFault::Unsafe, "not a valid file name"),
        (NameFault::Dangling, "missing inode"),
        (NameFault::WrongType, "different file types"),
        (NameFault::DirectoryTwice, "second name"),
        (NameFault::TooLong, "too long"),
    ] {
        assert!(fault.to_string().contains(words), "{fault}");
    }
}

#[test]
fn all_that_is_wrong_is_said() {
    let bytes = image();
    let slice = bytes.as_slice();
    let verified = Verified::jffs2(&open(&slice)).unwrap();
    assert_eq!((verified.filesystem, verified.erase_size), ("jffs2", 8192));
    // Five bytes of a file with two names, and ten behind a gap.
    assert_eq!(verified.bytes, 15);
    assert!(!verified.is_good());
    let said: Vec<(u32, String)> = verified
        .findings
        .list
        .iter()
        .map(|f| (f.ino, f.what.to_string()))
        .collect();
    let of = |ino: u32| -> Vec<&str> {
        let own = said.iter().filter(|(of, _)| *of == ino);
        own.map(|(_, what)| what.as_str()).collect()
    };
    assert_eq!(of(8), ["the link target or device numbers are damaged"]);
    assert_eq!(of(10), ["unknown file type"]);
    assert_eq!(
        of(11),
        ["10 bytes at byte 0 cannot be read: unknown compression 99"]
    );
    assert_eq!(
        of(12),
        ["no node contains the 50 bytes at byte 0; the kernel returns zeros"]
    );
    let names = said.iter().filter(|(_, what)| what.starts_with('`'));
    let names: Vec<&str> = names.map(|(_, what)| what.as_str()).collect();
    assert_eq!(
        names,
        [
            "`..`: not a valid file name",
            "`bad-gone`: the directory entry refers to a missing inode",
            "`a\\x00b`: not a valid file name",
        ]
    );
}

#[test]
fn what_is_not_as_it_was_has_a_reason() {
    let bytes = image();
    let slice = bytes.as_slice();
    let filesystem = open(&slice);
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let mut sink = Folder::new(&root, Rights::default()).unwrap();
    let done = extract(&filesystem, &mut sink).unwrap();
    assert_eq!(
        (
            done.directories,
            done.files,
            done.symlinks,
            done.hard_links,
            done.specials
        ),
        (2, 3, 1, 1, 2)
    );
    assert_eq!(done.bytes, 15);
    let not: BTreeMap<&[u8], (&str, bool)> = done
        .not
        .iter()
        .map(|n| (n.path.as_slice(), (n.why.name(), n.why.is_loss())))
        .collect();
    let of = |path: &str| not.get(path.as_bytes()).copied();
    assert_eq!(of("bad-data"), Some(("data", true)));
    assert_eq!(of("bad-gap"), Some(("gap", true)));
    assert_eq!(of("bad-disk"), Some(("damaged", true)));
    assert_eq!(of("bad-link"), Some(("damaged", true)));
    assert_eq!(of("bad-type"), Some(("damaged", true)));
    // Devices were not asked for, and are no fault of the image.
    assert_eq!(of("tty"), Some(("not_made", false)));
    // A name that is none is told with its folder: the root, and `folder`.
    assert_eq!(of(""), Some(("name", true)));
    assert_eq!(of("folder"), Some(("name", true)));
    assert_eq!(fs::read(root.join("folder/file")).unwrap(), b"hello");
    let gap = [vec![0; 50], b"0123456789".to_vec()].concat();
    assert_eq!(fs::read(root.join("bad-gap")).unwrap(), gap);
    let kind = |name: &str| fs::symlink_metadata(root.join(name)).unwrap().file_type();
    assert!(kind("pipe").is_fifo() && kind("socket").is_socket());
    assert_eq!(
        fs::read_link(root.join("link")).unwrap().to_str(),
        Some("a/b/c")
    );
    // What was not begun cannot be written.
    let why = sink.write(0, b"x").unwrap_err();
    assert_eq!(why.kind(), io::ErrorKind::InvalidInput);
}

/// Takes everything, but fails as it is told to.
struct Fails {
    special: io::ErrorKind,
    metadata: io::ErrorKind,
}

impl Sink for Fails {
    fn directory(&mut self, _: &Entry) -> io::Result<()> {
        Ok(())
    }
    fn file(&mut self, _: &Entry) -> io::Result<()> {
        Ok(())
    }
    fn write(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
    fn symlink(&mut self, _: &Entry, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
    fn hard_link(&mut self, _: &Entry, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
    fn special(&mut self, _: &Entry, _: Option<Device>) -> io::Result<bool> {
        Err(self.special.into())
    }
    fn metadata(&mut self, _: &Entry, _: &[Attribute]) -> io::Result<()> {
        Err(self.metadata.into())
    }
}

#[test]
fn only_missing_rights_are_passed_over() {
    use io::ErrorKind::{PermissionDenied, StorageFull, Unsupported};
    let bytes = image();
    let slice = bytes.as_slice();
    let filesystem = open(&slice);
    let mut sink = Fails {
        special: Unsupported,
        metadata: PermissionDenied,
    };
    let done = extract(&filesystem, &mut sink).unwrap();
    let of = |path: &str| {
        let own = done.not.iter().filter(|n| n.path == path.as_bytes());
        own.map(|n| n.why.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of("pipe"), [Why::NotMade(Unsupported)]);
    assert_eq!(of("tty"), [Why::NotMade(Unsupported)]);
    assert_eq!(of("link"), [Why::Metadata(PermissionDenied)]);
    assert!(
        of("link")
            .iter()
            .all(|w| !w.is_loss() && w.name() == "metadata")
    );
    assert_eq!(done.specials, 0);
    for (special, metadata) in [(StorageFull, Unsupported), (Unsupported, StorageFull)] {
        assert!(extract(&filesystem, &mut Fails { special, metadata }).is_err());
    }
}

/// The tree as a script reads it from the JFFS2 image of the same tree, name by name: 17 names,
/// the root beside them, and 86,949 bytes in files.
#[test]
fn a_board_of_two_volumes_is_attached_read_and_listed() {
    let bytes = corpus("board.ubi");
    let slice = bytes.as_slice();
    let options = ubi::Options::default();
    let opened = ubi::Image::open(&slice, &options).unwrap();
    let attached = attach(&opened, &options);
    assert_eq!(attached.device, None);
    let names: Vec<&[u8]> = attached
        .report
        .volumes
        .iter()
        .map(|v| v.record.name.split(|b| *b == 0).next().unwrap())
        .collect();
    assert_eq!(names, [&b"boot"[..], b"rootfs"]);
    // Only the second is UBIFS.
    assert_eq!(attached.ubifs.keys().collect::<Vec<_>>(), [&1]);
    let found = attached.ubifs[&1].as_ref().unwrap();
    assert_eq!(found.refusal, None);
    assert!(found.needs_fixup && !found.needs_replay());

    let (id, record) = opened.find("rootfs").unwrap();
    let volume = opened.volume(id, record);
    let filesystem = ubifs::Filesystem::open(&volume).unwrap();
    let verified = Verified::ubifs(&filesystem).unwrap();
    assert_eq!(
        (verified.filesystem, verified.erase_size),
        ("ubifs", 15_872)
    );
    assert_eq!(
        (verified.inodes, verified.names, verified.bytes),
        (18, 17, 86_949)
    );
    assert!(verified.is_good());
    let rootfs = corpus("rootfs.jffs2");
    let other = rootfs.as_slice();
    let other = Verified::jffs2(&open(&other)).unwrap();
    assert_eq!((other.names, other.bytes), (17, 86_949));
    assert!(other.is_good());
    let listing = Listing::ubifs(&filesystem, b"/usr/share/doc").unwrap();
    let files: Vec<(&[u8], u64)> = listing.files[1..]
        .iter()
        .map(|f| (f.path.as_slice(), f.stat.size))
        .collect();
    let wanted: [(&[u8], u64); 4] = [
        (b"usr/share/doc/blame.md", 2170),
        (b"usr/share/doc/capture.md", 1204),
        (b"usr/share/doc/diff.md", 449),
        (b"usr/share/doc/show.md", 1935),
    ];
    assert_eq!(files, wanted);

    // The superblock of UBIFS is gone: the image is attached all the same, and says why not.
    let mut damaged = bytes.clone();
    damaged[3 * 16_384 + 512 + 30] ^= 0xff;
    let slice = damaged.as_slice();
    let opened = ubi::Image::open(&slice, &options).unwrap();
    let found = &attach(&opened, &options).ubifs[&1];
    assert!(
        found.as_ref().is_err_and(|why| !why.is_empty())
            || found.as_ref().is_ok_and(|r| r.refusal.is_some())
    );
}

#[test]
fn a_mount_of_flash_has_its_stages_and_its_chip() {
    let nothing = |_: &dyn rawimage::ReadAt| None;
    let bytes = corpus("board.ubi");
    let slice = bytes.as_slice();
    let flash = look(&slice, None, None, &nothing).unwrap().unwrap();
    assert_eq!((flash.filesystem, flash.chip), ("ubifs", "nandsim-128m"));
    assert_eq!(flash.state, State::Clean);
    let stages: Vec<&str> = flash.stages.iter().map(|s| s.what).collect();
    assert_eq!(stages, ["attach", "mount"]);
    // Two headers of each of 20 blocks, of 64 bytes and 265 us.
    assert!(flash.stages[0].reads >= 40 && flash.stages[0].bytes >= 40 * 64);
    assert!(flash.stages[0].ns >= 40 * 265_000);
    assert_eq!(flash.reads(), flash.stages[0].reads + flash.stages[1].reads);
    assert_eq!(flash.bytes(), flash.stages[0].bytes + flash.stages[1].bytes);
    // A chip of 1 MiB has 64 blocks: the headers of 44 more are read.
    let large = look(&slice, None, Some(1 << 20), &nothing)
        .unwrap()
        .unwrap();
    assert!(large.stages[0].reads > flash.stages[0].reads);
    assert!(large.total_ns() > flash.total_ns());

    let bytes = corpus("rootfs.jffs2");
    let slice = bytes.as_slice();
    let flash = look(&slice, Some("nor-s29gl"), None, &nothing)
        .unwrap()
        .unwrap();
    assert_eq!((flash.filesystem, flash.chip), ("jffs2", "nor-s29gl"));
    assert_eq!(flash.stages.len(), 1);
    assert!(flash.error_percent == 50 && flash.source.contains("data sheet"));
    let large = look(&slice, Some("nor-s29gl"), Some(1 << 20), &nothing)
        .unwrap()
        .unwrap();
    assert!(large.reads() > flash.reads());
    for none in [&b"hsqs"[..], &[0xff; 9000], &[0; 9000]] {
        assert_eq!(look(&none, None, None, &nothing), Ok(None));
    }
}

#[test]
fn a_squashfs_in_a_static_volume_is_checked_and_then_read_by_pages() {
    let mut data = b"hsqs".to_vec();
    data.resize(LEB_SIZE, 7);
    let mut chip = Chip::new(16);
    chip.tables(&[(0, record("app", 1, 2)), (4, record("rootfs", 2, 2))]);
    chip.put(5, &static_vid(4, 0, 1, &data), &data);
    let bytes = chip.bytes.as_slice();
    // 96 bytes of the first page, and 200 of which 48 lie in it and 152 in the second.
    let squashfs = |volume: &dyn rawimage::ReadAt| {
        let mut front = [0; 4];
        volume.read_exact_at(0, &mut front).unwrap();
        assert_eq!(&front, b"hsqs");
        Some(vec![(0, 96), (2000, 200)])
    };
    let flash = look(&bytes, Some("nandsim-128m"), None, &squashfs)
        .unwrap()
        .unwrap();
    assert_eq!(flash.filesystem, "ubiblock+squashfs");
    let stages: Vec<&str> = flash.stages.iter().map(|s| s.what).collect();
    assert_eq!(stages, ["attach", "check", "mount"]);
    let mount = &flash.stages[2];
    assert_eq!((mount.reads, mount.bytes, mount.ns), (2, 296, 3 * 327_000));
    // One that cannot be read leaves what attaching costs.
    let flash = look(&bytes, None, None, &|_| None).unwrap().unwrap();
    assert_eq!((flash.filesystem, flash.stages.len()), ("ubi", 1));
}
