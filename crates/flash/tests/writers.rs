//! What is written reads back as what it was, and can be taken back.

#![allow(clippy::unwrap_used, reason = "a test")]
mod common;

use common::ubi::{Chip, LEB_SIZE, record, static_vid};
use common::{Random, cleanmarker, log, obsolete};
use firstlight_flash::files::{Attribute, Device, Entry, Extracted, Sink, extract};
use firstlight_flash::jffs2::node::{Dirent, Inode, Xattr, Xref};
use firstlight_flash::jffs2::{
    CheckOptions, Class, Cleanmarkers, Endian, Filesystem, Mode, OpenOptions, Options, Outcome,
    check, summarize,
};
use firstlight_flash::ubi;
use proptest::prelude::*;
use std::io;

const ERASE_SIZE: u32 = 8192;

/// All that extraction hands out, in its order.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    steps: Vec<(Entry, Option<Device>, Vec<u8>)>,
    bytes: Vec<(u64, Vec<u8>)>,
    attributes: Vec<(Entry, Vec<Attribute>)>,
    done: Extracted,
}

impl Seen {
    fn made(&mut self, entry: &Entry, device: Option<Device>, to: &[u8]) -> io::Result<()> {
        self.steps.push((entry.clone(), device, to.to_vec()));
        Ok(())
    }
}

impl Sink for Seen {
    fn directory(&mut self, entry: &Entry) -> io::Result<()> {
        self.made(entry, None, b"directory")
    }

    fn file(&mut self, entry: &Entry) -> io::Result<()> {
        self.made(entry, None, b"file")
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.bytes.push((offset, bytes.to_vec()));
        Ok(())
    }

    fn symlink(&mut self, entry: &Entry, target: &[u8]) -> io::Result<()> {
        self.made(entry, None, target)
    }

    fn hard_link(&mut self, entry: &Entry, original: &[u8]) -> io::Result<()> {
        self.made(entry, None, original)
    }

    fn special(&mut self, entry: &Entry, device: Option<Device>) -> io::Result<bool> {
        self.made(entry, device, b"special").map(|()| true)
    }

    fn metadata(&mut self, entry: &Entry, attributes: &[Attribute]) -> io::Result<()> {
        self.attributes.push((entry.clone(), attributes.to_vec()));
        Ok(())
    }
}

fn files(image: &[u8], endian: Endian) -> Seen {
    let options = OpenOptions {
        erase_size: Some(ERASE_SIZE),
        endian: Some(endian),
        ..OpenOptions::default()
    };
    let filesystem = Filesystem::open(&image, &options).unwrap();
    let mut seen = Seen::default();
    seen.done = extract(&filesystem, &mut seen).unwrap();
    seen
}

/// A history of few files, so that nodes speak of the same ones: names made,
/// renamed and deleted, pieces written over others, attributes given and taken.
fn history(random: &mut Random, endian: Endian, clean: bool) -> Vec<u8> {
    let mut image = Vec::new();
    let mut version = 0;
    for _ in 0..1 + random.below(5) {
        let mut block = Vec::new();
        if clean {
            block.extend(cleanmarker(endian));
        }
        for _ in 0..random.below(60) {
            version += 1;
            let length = random.below(300);
            let data = random.bytes(length);
            let name = [b'a' + random.below(5) as u8];
            let kind = *random.pick(&[4_u8, 8, 8, 8, 10]);
            let ino = 1 + random.below(7) as u32;
            let node = match random.below(8) {
                0..3 => Inode {
                    ino,
                    version,
                    mode: u32::from(kind) << 12 | 0o644,
                    uid: 1,
                    gid: 2,
                    isize: random.below(2000) as u32,
                    atime: 3,
                    mtime: version,
                    ctime: 5,
                    offset: random.below(1500) as u32,
                    dsize: data.len() as u32,
                    compression: 0,
                    user_compression: 0,
                    flags: 0,
                    data: &data,
                }
                .bytes(endian),
                3..6 => Dirent {
                    parent: 1 + random.below(3) as u32,
                    version,
                    // Sometimes the name is deleted.
                    ino: ino - u32::from(random.one_in(5)),
                    mctime: 6,
                    file_type: kind,
                    name: &name,
                }
                .bytes(endian),
                6 => Xattr {
                    xid: ino,
                    version,
                    prefix: 1,
                    name: &name,
                    value: &data,
                }
                .bytes(endian),
                _ => Xref {
                    ino,
                    xid: 1 + random.below(7) as u32,
                    sequence: version,
                }
                .bytes(endian),
            };
            if block.len() + node.len() > ERASE_SIZE as usize {
                break;
            }
            block.extend(node);
            block.resize(block.len().next_multiple_of(4), 0xff);
        }
        block.resize(ERASE_SIZE as usize, 0xff);
        image.extend(block);
    }
    // One that the root is in, whatever came before.
    image.extend(log(random, endian, ERASE_SIZE, 1, clean));
    image
}

fn summarized(image: &[u8], options: &Options) -> (Vec<u8>, Outcome) {
    let mut out = Vec::new();
    let outcome = summarize(&image, &mut out, options).unwrap();
    (out, outcome)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The files of an image with summaries are those of the image without, and
    /// the kernel uses each summary. What is dead stays dead in the safe way.
    #[test]
    fn summaries_leave_the_files_as_they_are(
        seed: u64,
        big: bool,
        pad: bool,
        dead in 0_usize..5,
        cleanmarkers in 0_usize..3,
    ) {
        let endian = if big { Endian::Big } else { Endian::Little };
        let mut random = Random::new(seed);
        let clean = random.one_in(2);
        let mut image = history(&mut random, endian, clean);
        for _ in 0..dead {
            let at = random.below(image.len() as u64) as usize;
            obsolete(&mut image, at, big);
        }
        let before = files(&image, endian);
        for mode in [Mode::Safe, Mode::Compatible] {
            let options = Options {
                erase_size: ERASE_SIZE,
                endian,
                cleanmarkers: [
                    Cleanmarkers::AsFound,
                    Cleanmarkers::Sized(60),
                    Cleanmarkers::None,
                ][cleanmarkers],
                pad,
                mode,
            };
            let (out, outcome) = summarized(&image, &options);
            if mode == Mode::Safe {
                prop_assert_eq!(outcome.resurrected, 0);
            }
            if outcome.resurrected == 0 {
                prop_assert_eq!(&files(&out, endian), &before, "{:?}", mode);
            }
            let looked = CheckOptions { erase_size: Some(ERASE_SIZE), ..CheckOptions::default() };
            let report = check(&out.as_slice(), &looked).unwrap();
            prop_assert_eq!(report.count(Class::BrokenSummary), 0);
            let with = report.count(Class::FullSummary) + report.count(Class::PartialSummary);
            prop_assert_eq!(with, outcome.summaries);
        }
    }

    /// The flag of a static volume: two records, nothing else, and back again.
    #[test]
    fn a_spared_check_is_taken_back(
        number in 0_u32..60,
        flags in 0_u8..2,
        lengths in proptest::collection::vec(1_usize..LEB_SIZE, 1..4),
    ) {
        let mut chip = Chip::new(10);
        let mut volume = record("v", 2, 4);
        volume.flags = flags;
        chip.tables(&[(number, volume)]);
        for (leb, length) in lengths.iter().enumerate() {
            // All but the last block of a static volume are full.
            let length = if leb + 1 < lengths.len() { LEB_SIZE } else { *length };
            let data = vec![leb as u8; length];
            chip.put(3 + leb, &static_vid(number, leb as u32, lengths.len() as u32, &data), &data);
        }
        let before = chip.bytes.as_slice();
        let options = ubi::Options::default();
        let mut with = Vec::new();
        let done = ubi::skip_check(&before, "v", true, &options, &mut with).unwrap();
        prop_assert_eq!(done.places.len(), 2);
        let report = ubi::check(&with.as_slice(), &options).unwrap();
        prop_assert_eq!(report.volumes[0].record.flags, flags | 2);
        prop_assert_eq!(report.refusal(), None);
        let changed = with.iter().zip(before).filter(|(a, b)| a != b).count();
        prop_assert!(changed <= 10, "{} bytes changed", changed);
        let mut without = Vec::new();
        ubi::skip_check(&with.as_slice(), "v", false, &options, &mut without).unwrap();
        prop_assert!(without == before);
    }
}
