//! The safe way to give an image summaries: what it drops, and what it refuses.

#![allow(clippy::unwrap_used, reason = "a test")]
mod common;

use common::{Random, cleanmarker, log, obsolete};
use firstlight_flash::jffs2::node::{Dirent, Inode, crc};
use firstlight_flash::jffs2::{
    CheckOptions, Class, Cleanmarkers, Endian, Error, Filesystem, Loss, Mode, OpenOptions, Options,
    Outcome, check, summarize,
};
use std::io;

const SIZE: u32 = 16_384;

fn options(mode: Mode) -> Options {
    Options {
        erase_size: SIZE,
        endian: Endian::Big,
        cleanmarkers: Cleanmarkers::AsFound,
        pad: true,
        mode,
    }
}

fn run(image: &[u8], options: &Options) -> Result<(Vec<u8>, Outcome), Error> {
    let mut out = Vec::new();
    let outcome = summarize(&image, &mut out, options)?;
    Ok((out, outcome))
}

fn push(image: &mut Vec<u8>, node: &[u8]) {
    image.extend(node);
    image.resize(image.len().next_multiple_of(4), 0xff);
}

fn dirent(version: u32, name: &[u8], ino: u32) -> Vec<u8> {
    let node = Dirent {
        parent: 1,
        version,
        ino,
        mctime: 0,
        file_type: 8,
        name,
    };
    node.bytes(Endian::Big)
}

fn inode(ino: u32, data: &[u8]) -> Vec<u8> {
    let node = Inode {
        ino,
        version: 1,
        mode: 0o100_644,
        uid: 0,
        gid: 0,
        isize: data.len() as u32,
        atime: 0,
        mtime: 0,
        ctime: 0,
        offset: 0,
        dsize: data.len() as u32,
        compression: 0,
        user_compression: 0,
        flags: 0,
        data,
    };
    node.bytes(Endian::Big)
}

/// A header with a right checksum, and nothing else.
fn bare(kind: u16, length: u32) -> Vec<u8> {
    let endian = Endian::Big;
    let mut node = [endian.put16(0x1985), endian.put16(kind)].concat();
    node.extend(endian.put32(length));
    let sum = crc(&node);
    node.extend(endian.put32(sum));
    node.resize(length as usize, 7);
    node
}

fn names(image: &[u8]) -> Vec<Vec<u8>> {
    let options = OpenOptions {
        erase_size: Some(SIZE),
        ..OpenOptions::default()
    };
    let filesystem = Filesystem::open(&image, &options).unwrap();
    let names = filesystem.directory(1).unwrap();
    names.into_iter().map(|n| n.name).collect()
}

#[test]
fn a_deleted_file_stays_deleted_and_sumtool_brings_it_back() {
    let mut image = Vec::new();
    push(&mut image, &inode(2, b"secret"));
    let at = image.len();
    push(&mut image, &dirent(1, b"deleted", 2));
    push(&mut image, &dirent(2, b"kept", 2));
    // On NOR, deleting a file clears a bit of its name.
    obsolete(&mut image, at, true);
    assert_eq!(names(&image), [b"kept"]);

    let (safe, outcome) = run(&image, &options(Mode::Safe)).unwrap();
    assert_eq!(names(&safe), [b"kept"]);
    let lost: Vec<_> = outcome
        .lost
        .iter()
        .map(|l| (l.why, l.count, l.first))
        .collect();
    assert_eq!(lost, [(Loss::Obsolete, 1, at as u64)]);
    assert_eq!((outcome.nodes, outcome.resurrected), (2, 0));

    let (old, outcome) = run(&image, &options(Mode::Compatible)).unwrap();
    assert_eq!(names(&old), [&b"deleted"[..], b"kept"]);
    assert_eq!((outcome.nodes, outcome.resurrected), (3, 1));
}

#[test]
fn all_that_is_dropped_is_told() {
    let mut image = Vec::new();
    let mut places = Vec::new();
    push(&mut image, &[1, 2, 3, 4, 5, 6, 7, 8]);
    for damage in [9, 13, 70] {
        places.push(image.len() as u64);
        let mut node = inode(2, b"some data");
        node[damage] ^= 1;
        push(&mut image, &node);
    }
    push(&mut image, &bare(0x2abc, 40));
    push(&mut image, &inode(3, b"good"));
    let (_, outcome) = run(&image, &options(Mode::Safe)).unwrap();
    let told: Vec<_> = outcome.lost.iter().map(|l| (l.why, l.first)).collect();
    assert_eq!(
        told,
        [
            (Loss::Garbage, 0),
            (Loss::HeaderCrc, places[0]),
            (Loss::NodeCrc, places[1]),
            (Loss::DataCrc, places[2]),
            (Loss::Unknown, places[2] + 80),
        ]
    );
    assert_eq!(outcome.nodes, 1);
}

#[test]
fn unknown_nodes_are_dropped_kept_or_refused_as_they_ask() {
    let image = |kind: u16| {
        let mut image = log(&mut Random::new(2), Endian::Big, SIZE, 3, true);
        let mut block = cleanmarker(Endian::Big).to_vec();
        push(&mut block, &bare(kind, 100));
        push(&mut block, &inode(9, b"beside it"));
        block.resize(SIZE as usize, 0xff);
        image.extend(block);
        image.extend(log(&mut Random::new(3), Endian::Big, SIZE, 3, true));
        image
    };
    let find = |bytes: &[u8], kind: u16| {
        let wanted = bare(kind, 100);
        bytes.windows(100).any(|w| w == wanted)
    };
    // May be deleted.
    let (out, outcome) = run(&image(0x2abc), &options(Mode::Safe)).unwrap();
    assert!(!find(&out, 0x2abc));
    assert_eq!(outcome.lost.len(), 1);
    // Must be copied: its block has no summary, which could not speak of it.
    let (out, outcome) = run(&image(0x6abc), &options(Mode::Safe)).unwrap();
    assert!(find(&out, 0x6abc));
    assert_eq!(outcome.lost, []);
    let report = check(&out.as_slice(), &CheckOptions::default()).unwrap();
    assert_eq!(report.count(Class::Full), 1, "{}", report.map);
    // Must not be touched.
    for kind in [0xaabc, 0xeabc] {
        let refused = run(&image(kind), &options(Mode::Safe));
        assert!(matches!(refused, Err(Error::Unsupported { kind: k, .. }) if k == kind));
    }
}

#[test]
fn impossible_options_are_refused() {
    let image = inode(2, b"x");
    let with = |change: &dyn Fn(&mut Options)| {
        let mut options = options(Mode::Safe);
        change(&mut options);
        run(&image, &options).unwrap_err().to_string()
    };
    assert_eq!(
        with(&|o| o.erase_size = 4096),
        "impossible erase block size of 4096 bytes; pass a multiple of 4 from 8 KiB to 8 MiB"
    );
    assert!(with(&|o| o.erase_size = 16_385).contains("16385"));
    assert!(with(&|o| o.erase_size = u32::MAX).contains("4294967295"));
    assert_eq!(
        with(&|o| o.cleanmarkers = Cleanmarkers::Sized(11)),
        "impossible clean marker of 11 bytes; pass 12 bytes to half an erase block"
    );
    let long = inode(2, &[5; SIZE as usize - 100]);
    let error = run(&long, &options(Mode::Safe)).unwrap_err();
    assert!(
        matches!(error, Error::NodeTooLong { offset: 0, .. }),
        "{error}"
    );
}

/// A disk that is full after some bytes.
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_work_with_an_error() {
    let image = log(&mut Random::new(4), Endian::Big, SIZE, 40, true);
    for room in [0, 20_000, 100_000] {
        let done = summarize(&image.as_slice(), &mut Full(room), &options(Mode::Safe));
        assert!(
            matches!(done, Err(Error::Transfer(firstlight_flash::TransferError::Write(e))) if e.kind() == io::ErrorKind::StorageFull)
        );
    }
}
