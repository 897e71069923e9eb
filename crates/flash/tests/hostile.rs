//! No image makes anything panic, hang or write outside its place.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]
mod common;

use common::{Making, Random, cases, damage, has, obsolete, tree};
use firstlight_flash::files::{Attribute, Device, Entry, Sink, extract};
use firstlight_flash::jffs2::node::crc;
use firstlight_flash::jffs2::{
    CheckOptions, Cleanmarkers, Endian, Error, Filesystem, Mode, Oob, OpenOptions, Options, Spare,
    check, summarize, verify,
};
use proptest::prelude::*;
use std::fs;
use std::io;

/// Takes everything, and looks at each path.
#[derive(Default)]
struct Watcher {
    bytes: u64,
}

impl Watcher {
    fn path(&self, entry: &Entry) {
        for part in entry.path.split(|b| *b == b'/') {
            assert!(!matches!(part, b"" | b"." | b".."), "{:?}", entry.path);
            assert!(!part.contains(&0));
        }
    }
}

impl Sink for Watcher {
    fn directory(&mut self, entry: &Entry) -> io::Result<()> {
        self.path(entry);
        Ok(())
    }

    fn file(&mut self, entry: &Entry) -> io::Result<()> {
        self.path(entry);
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        assert!(offset + bytes.len() as u64 <= u64::from(u32::MAX));
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn symlink(&mut self, entry: &Entry, target: &[u8]) -> io::Result<()> {
        self.path(entry);
        assert!(!target.is_empty() && !target.contains(&0));
        Ok(())
    }

    fn hard_link(&mut self, entry: &Entry, _original: &[u8]) -> io::Result<()> {
        self.path(entry);
        Ok(())
    }

    fn special(&mut self, entry: &Entry, _device: Option<Device>) -> io::Result<bool> {
        self.path(entry);
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn metadata(&mut self, _entry: &Entry, _attributes: &[Attribute]) -> io::Result<()> {
        Ok(())
    }
}

/// Does everything that the library does with an image.
fn everything(image: &[u8], erase_size: Option<u32>, spare: Spare) {
    let options = CheckOptions {
        erase_size,
        spare,
        ..CheckOptions::default()
    };
    if let Ok(report) = check(&image, &options) {
        assert_eq!(report.map.len() as u64, report.blocks);
        let counted: u64 = report.classes.iter().map(|(_, n)| n).sum();
        assert_eq!(counted, report.blocks);
        for problem in &report.problems {
            assert!(!problem.what.to_string().is_empty());
        }
    }
    for endian in Endian::BOTH {
        for mode in [Mode::Safe, Mode::Compatible] {
            let options = Options {
                erase_size: erase_size.unwrap_or(65_536),
                endian,
                cleanmarkers: Cleanmarkers::AsFound,
                pad: image.len().is_multiple_of(2),
                mode,
            };
            let mut out = Vec::new();
            if let Ok(outcome) = summarize(&image, &mut out, &options) {
                assert_eq!(outcome.bytes_out, out.len() as u64);
                assert_eq!(outcome.bytes_in, image.len() as u64);
                again(&out, &options);
            }
        }
    }
    let options = OpenOptions {
        erase_size,
        endian: None,
        spare,
    };
    if let Ok(filesystem) = Filesystem::open(&image, &options) {
        verify(&filesystem).unwrap();
        extract(&filesystem, &mut Watcher::default()).unwrap();
        for ino in filesystem.inodes() {
            filesystem.history(ino).unwrap();
            filesystem.attributes(ino).unwrap();
        }
    }
}

/// The output of either mode has no damage, and holds the same once more.
fn again(out: &[u8], options: &Options) {
    let mut second = Vec::new();
    let options = Options {
        mode: Mode::Safe,
        ..*options
    };
    match summarize(&out, &mut second, &options) {
        Ok(outcome) => assert_eq!(outcome.lost, []),
        // A node of the input may lie so that no block of this size shows.
        Err(
            Error::WrongEraseSize { .. }
            | Error::NodeAcrossBlocks { .. }
            | Error::NodeTooLong { .. },
        ) => {}
        Err(other) => panic!("{other}"),
    }
}

/// Sets random fields of random nodes and makes the checksums right again.
fn lie(random: &mut Random, image: &mut [u8], big: bool) {
    let endian = if big { Endian::Big } else { Endian::Little };
    for _ in 0..1 + random.below(6) {
        let from = random.below(image.len() as u64) as usize;
        let magic = endian.put16(0x1985);
        let found = (from.next_multiple_of(4)..image.len().saturating_sub(68))
            .step_by(4)
            .find(|&i| image[i..i + 2] == magic);
        let Some(at) = found else { continue };
        let node = &mut image[at..];
        let value = *random.pick(&[
            0,
            1,
            4,
            12,
            67,
            255,
            4096,
            1 << 16,
            1 << 20,
            1 << 31,
            u32::MAX,
        ]);
        let value = value ^ random.below(3) as u32;
        let field = 4 * random.below(17) as usize;
        match field {
            0 => node[2..4].copy_from_slice(&endian.put16(*random.pick(&[
                0xe001, 0xe002, 0x2003, 0x2004, 0x2006, 0xe008, 0xe009, 0x2007, 0x600a, 0xa00b,
                0xe00c,
            ]))),
            56 => node[56] = random.below(10) as u8,
            _ => node[field..field + 4].copy_from_slice(&endian.put32(value)),
        }
        let kind = [node[2], node[3]];
        let header = crc(&node[..8]);
        node[8..12].copy_from_slice(&endian.put32(header));
        let fix = |node: &mut [u8], end: usize, place: usize| {
            let sum = crc(&node[..end]);
            node[place..place + 4].copy_from_slice(&endian.put32(sum));
        };
        if kind == endian.put16(0xe002) {
            let word = <[u8; 4]>::try_from(&node[48..52]).unwrap();
            let size = if big {
                u32::from_be_bytes(word)
            } else {
                u32::from_le_bytes(word)
            };
            if let Some(data) = node[68..].get(..size as usize) {
                let sum = crc(data);
                node[60..64].copy_from_slice(&endian.put32(sum));
            }
            fix(node, 60, 64);
        } else if kind == endian.put16(0xe001) {
            let name = crc(&node[40..(40 + usize::from(node[28])).min(node.len())]);
            node[36..40].copy_from_slice(&endian.put32(name));
            fix(node, 32, 32);
        } else if kind == endian.put16(0xe008) {
            fix(node, 28, 28);
        } else if kind == endian.put16(0xe009) || kind == endian.put16(0x2006) {
            fix(node, 24, if kind == endian.put16(0xe009) { 24 } else { 28 });
        }
    }
}

#[test]
fn real_images_with_any_damage_are_survived() {
    if !has("mkfs.jffs2") {
        return;
    }
    for seed in 0..cases(8, 400) {
        let mut random = Random::new(5000 + seed);
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir(&root).unwrap();
        tree(&mut random, &root);
        let making = Making::random(&mut random);
        let made = dir.path().join("image");
        if making.make(&root, &made).is_none() {
            continue;
        }
        let clean = fs::read(&made).unwrap();
        for round in 0..4 {
            let mut image = clean.clone();
            if round % 2 == 0 {
                damage(&mut random, &mut image, making.big);
            }
            lie(&mut random, &mut image, making.big);
            let given = random.one_in(2).then_some(making.erase_kib * 1024);
            everything(&image, given, Spare::Detect);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("FIRSTLIGHT_TEST_ALL").is_some() { 5000 } else { 64 }))]

    #[test]
    fn any_bytes_are_survived(
        bytes in proptest::collection::vec(any::<u8>(), 0..3000),
        headers in proptest::collection::vec((0_usize..750, 0_usize..11, 0_u32..4000), 0..40),
        big in any::<bool>(),
        erase in proptest::option::of(0_u32..20_000),
        page in 0_u32..600,
        spare in 0_u32..64,
    ) {
        let endian = if big { Endian::Big } else { Endian::Little };
        let mut image = bytes;
        let kinds = [0xe001_u16, 0xe002, 0x2003, 0x2004, 0x2006, 0xe008, 0xe009, 0x0001, 0x4001, 0x8001, 0xc001];
        for (word, kind, length) in headers {
            if let Some(node) = image.get_mut(word * 4..word * 4 + 12) {
                node[..2].copy_from_slice(&endian.put16(0x1985));
                node[2..4].copy_from_slice(&endian.put16(kinds[kind] | 0x2000));
                node[4..8].copy_from_slice(&endian.put32(length));
                let sum = crc(&node[..8]);
                node[8..12].copy_from_slice(&endian.put32(sum));
            }
        }
        everything(&image, erase, Spare::Detect);
        everything(&image, erase, Spare::Given(Oob { page, spare }));
        if image.len() > 12 {
            obsolete(&mut image, 0, big);
            everything(&image, erase.map(|e| e * 4), Spare::None);
        }
    }
}

/// Headers that make a careless reader read a megabyte for each of them.
#[test]
fn many_long_headers_do_not_multiply_the_work() {
    let endian = Endian::Little;
    let mut image = Vec::new();
    while image.len() < 1 << 20 {
        let at = image.len();
        image.extend(endian.put16(0x1985));
        image.extend(endian.put16(*[0xe002, 0x2006, 0xe001].get(at % 3).unwrap()));
        image.extend(endian.put32(100_000));
        let sum = crc(&image[at..at + 8]);
        image.extend(endian.put32(sum));
    }
    // The work is counted in bytes that are read, not in seconds.
    let counting = Counting(&image, std::cell::Cell::new(0));
    let options = CheckOptions {
        erase_size: Some(1 << 17),
        ..CheckOptions::default()
    };
    check(&counting, &options).unwrap();
    let read = counting.1.get();
    assert!(read < 40 << 20, "{read} bytes were read of {}", image.len());
}

struct Counting<'a>(&'a [u8], std::cell::Cell<u64>);

impl rawimage::ReadAt for Counting<'_> {
    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.1.set(self.1.get() + buf.len() as u64);
        self.0.read_exact_at(offset, buf)
    }
}
