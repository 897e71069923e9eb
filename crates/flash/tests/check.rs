//! What a check says of images that were made for it.

#![allow(clippy::unwrap_used, reason = "a test")]
mod common;

use common::{Random, cases, cleanmarker, log};
use firstlight_flash::jffs2::detect::{Evidence, erase_size};
use firstlight_flash::jffs2::node::{Content, Xref};
use firstlight_flash::jffs2::summary::Condition;
use firstlight_flash::jffs2::walk::{Item, Walk};
use firstlight_flash::jffs2::{
    CheckOptions, Class, Cleanmarkers, Endian, Error, Mode, Oob, Options, Report, Spare, What,
    check, summarize,
};
use rawimage::ReadAt;
use rawimage::foreign::Foreign;
use std::io;

fn summarized(image: &[u8], endian: Endian, erase_size: u32, mode: Mode) -> Vec<u8> {
    let options = Options {
        erase_size,
        endian,
        cleanmarkers: Cleanmarkers::AsFound,
        pad: true,
        mode,
    };
    let mut out = Vec::new();
    summarize(&image, &mut out, &options).unwrap();
    out
}

fn look(image: &[u8]) -> Report {
    check(&image, &CheckOptions::default()).unwrap()
}

/// All nodes that a filesystem is made of, in their order.
fn nodes(image: &[u8], endian: Endian, erase_size: u32) -> Vec<Vec<u8>> {
    let blocks = image.chunks(erase_size as usize);
    let mut found = Vec::new();
    for block in blocks {
        for item in Walk::new(endian, block) {
            if let Item::Node(at, node) = item
                && matches!(
                    node.content,
                    Content::Inode(_) | Content::Dirent(_) | Content::Xattr(_) | Content::Xref(_)
                )
            {
                found.push(block[at..at + node.length as usize].to_vec());
            }
        }
    }
    found
}

#[test]
fn what_is_written_is_read_back_and_checked_without_a_problem() {
    for seed in 0..cases(15, 300) {
        let mut random = Random::new(seed);
        let endian = *random.pick(&Endian::BOTH);
        let erase_size = *random.pick(&[8192, 16_384, 65_536, 131_072, 12_288]);
        let clean = random.one_in(2);
        let image = log(&mut random, endian, erase_size, 6, clean);
        for mode in [Mode::Safe, Mode::Compatible] {
            let out = summarized(&image, endian, erase_size, mode);
            assert_eq!(
                nodes(&out, endian, erase_size),
                nodes(&image, endian, erase_size),
                "seed {seed} {mode:?}"
            );
            let report = look(&out);
            assert_eq!(report.endian, Some(endian));
            assert_eq!(report.erase_size, erase_size, "seed {seed} {mode:?}");
            let odd = &report.problems;
            assert!(odd.is_empty(), "seed {seed} {mode:?}: {odd:?}");
            // All but the last, which may keep room for later writes.
            let with = report.count(Class::FullSummary) + report.count(Class::PartialSummary);
            assert!(report.blocks - with <= 1, "{}", report.map);
            assert!(report.mount.summary_ns <= report.mount.scan_ns);
            assert_eq!(
                report.mount.summary_ns, report.mount.now_ns,
                "{}",
                report.map
            );
        }
        let safe = summarized(&image, endian, erase_size, Mode::Safe);
        let old = summarized(&image, endian, erase_size, Mode::Compatible);
        assert!(safe.len() <= old.len(), "the safe way needs no more blocks");
        let again = summarized(&safe, endian, erase_size, Mode::Safe);
        assert_eq!(again, safe, "a second time changes nothing");
    }
}

#[test]
fn the_erase_size_is_found_in_each_way() {
    for bits in 13..=19 {
        let size = 1 << bits;
        let mut random = Random::new(bits);
        for endian in Endian::BOTH {
            let plain = log(&mut random, endian, size, 12, false);
            let marked = log(&mut random, endian, size, 12, true);
            let summed = summarized(&plain, endian, size, Mode::Safe);
            for (image, n) in [(&plain, 0), (&marked, 1), (&summed, 2)] {
                let found = erase_size(&image.as_slice(), endian).unwrap().unwrap();
                assert_eq!(found.bytes, size, "{:?}", found.evidence);
                let way = match found.evidence {
                    Evidence::Boundaries(_) => 0,
                    Evidence::Cleanmarkers(_) => 1,
                    Evidence::Summaries(_) => 2,
                };
                assert_eq!(way, n);
            }
        }
    }
}

#[test]
fn a_wrong_erase_size_is_told_and_refused() {
    let mut random = Random::new(7);
    let endian = Endian::Little;
    let plain = log(&mut random, endian, 65_536, 8, false);
    let summed = summarized(&plain, endian, 65_536, Mode::Safe);
    for image in [&plain, &summed] {
        for given in [32_768, 131_072] {
            let options = CheckOptions {
                erase_size: Some(given),
                ..CheckOptions::default()
            };
            let report = check(&image.as_slice(), &options).unwrap();
            let told = report.problems.first().unwrap();
            assert!(matches!(told.what, What::WrongEraseSize { found } if found.bytes == 65_536));
            assert_eq!(told.block, None);
            let options = Options {
                erase_size: given,
                endian,
                cleanmarkers: Cleanmarkers::None,
                pad: false,
                mode: Mode::Safe,
            };
            let refused = summarize(&image.as_slice(), &mut Vec::new(), &options);
            assert!(matches!(
                refused,
                Err(Error::WrongEraseSize { .. } | Error::NodeAcrossBlocks { .. })
            ));
        }
    }
}

#[test]
fn each_condition_of_a_summary_is_told_apart() {
    let mut random = Random::new(8);
    for endian in Endian::BOTH {
        let size = 16_384;
        let plain = log(&mut random, endian, size, 3, false);
        let good = summarized(&plain, endian, size, Mode::Safe);
        let (Content::Summary, at, length) = find_summary(&good, endian, size) else {
            panic!("no summary");
        };
        let end = size as usize;
        let mut cases = vec![
            (end - 1, Condition::Marker),
            (at + 9, Condition::HeaderCrc),
            (at + 13, Condition::NodeCrc),
            (at + 30, Condition::NodeCrc),
            (at + 33, Condition::EntriesCrc),
            (at + 25, Condition::EntriesCrc),
        ];
        // The marker's offset: low byte of a word in this byte order.
        let low = if endian == Endian::Little { 8 } else { 5 };
        cases.push((end - low, Condition::Length));
        for (byte, expected) in cases {
            let mut image = good.clone();
            // A bit that keeps the offset in the block and a multiple of four.
            image[byte] ^= 4;
            let report = look(&image);
            assert_eq!(report.count(Class::BrokenSummary), 1, "{byte} {expected:?}");
            let told = report.problems.iter().find_map(|p| match p.what {
                What::BrokenSummary(condition) => Some((p.block, condition)),
                _ => None,
            });
            // A marker that points elsewhere finds no header there.
            let found = told.unwrap();
            let expected = match (found.1, expected) {
                (Condition::HeaderCrc, Condition::Length) => Condition::HeaderCrc,
                _ => expected,
            };
            assert_eq!(found, (Some(0), expected), "byte {byte}, node {length}");
            assert_eq!(report.map.as_bytes()[0], b'=');
        }
        assert_eq!(look(&good).map.as_bytes()[0], b'S');
    }
}

fn find_summary(image: &[u8], endian: Endian, size: u32) -> (Content<'_>, usize, u32) {
    Walk::new(endian, &image[..size as usize])
        .find_map(|item| match item {
            Item::Node(at, node) if node.content == Content::Summary => {
                Some((node.content, at, node.length))
            }
            _ => None,
        })
        .unwrap()
}

#[test]
fn a_summary_that_lies_is_told() {
    let mut random = Random::new(9);
    let size = 16_384;
    let plain = log(&mut random, Endian::Little, size, 3, false);
    let mut image = summarized(&plain, Endian::Little, size, Mode::Safe);
    // The first node becomes another one; the summary stays.
    let xref = Xref {
        ino: 9,
        xid: 9,
        sequence: 0,
    };
    image[..28].copy_from_slice(&xref.bytes(Endian::Little));
    let told = look(&image);
    let lies = told
        .problems
        .iter()
        .any(|p| matches!(p.what, What::SummaryDisagrees { wrong, .. } if wrong > 0));
    assert!(lies, "{:?}", told.problems);
}

#[test]
fn the_picture_shows_each_kind_of_block() {
    let mut random = Random::new(10);
    let endian = Endian::Little;
    let size = 16_384_usize;
    let plain = log(&mut random, endian, 16_384, 3, true);
    let full = summarized(&plain, endian, 16_384, Mode::Safe);
    let mut image = full[..2 * size].to_vec();
    let block = |front: &[u8]| {
        let mut block = front.to_vec();
        block.resize(size, 0xff);
        block
    };
    image.extend(block(&plain[..size]));
    image.extend(block(&[]));
    image.extend(block(&cleanmarker(endian)));
    // Nodes in less than half a block, and the same with a summary.
    let xref = Xref {
        ino: 2,
        xid: 3,
        sequence: 2,
    };
    let few = [&cleanmarker(endian)[..], &xref.bytes(endian)].concat();
    image.extend(block(&few));
    let squashfs = [b"hsqs".as_slice(), &[7; 100]].concat();
    image.extend(block(&squashfs));
    image.extend(block(&vec![9; size]));
    let report = look(&image);
    assert_eq!(report.map, "SS=..--=");
    let classes: Vec<_> = report.classes.iter().map(|(c, n)| (c.name(), *n)).collect();
    assert_eq!(
        classes,
        [
            ("bad", 0),
            ("erased", 1),
            ("erased_cleanmarker", 1),
            ("partial", 1),
            ("partial_summary", 0),
            ("full", 1),
            ("full_summary", 2),
            ("broken_summary", 0),
            ("foreign", 2),
        ]
    );
    let told: Vec<_> = report
        .problems
        .iter()
        .map(|p| (p.block, p.blocks, p.what))
        .collect();
    assert_eq!(
        told,
        [
            (None, 1, What::NoSummary { blocks: 1 }),
            (None, 1, What::NoCleanmarker { blocks: 1 }),
            (Some(6), 2, What::Foreign(Foreign::Squashfs)),
        ]
    );
}

/// A dump with spare bytes: error correction that is never 0xff, behind the bad
/// block mark.
fn dump(random: &mut Random, image: &[u8], oob: Oob) -> Vec<u8> {
    let mut out = Vec::new();
    for page in image.chunks(oob.page as usize) {
        out.extend(page);
        out.resize(out.len() + oob.page as usize - page.len(), 0xff);
        let mut spare: Vec<u8> = (0..oob.spare).map(|_| random.below(255) as u8).collect();
        let erased = page.iter().all(|b| *b == 0xff);
        spare[..6].fill(0xff);
        if erased {
            spare.fill(0xff);
        }
        out.extend(spare);
    }
    out
}

#[test]
fn dumps_with_spare_bytes_of_all_sizes_are_read() {
    let layouts = [
        (256, 8),
        (512, 16),
        (2048, 64),
        (2048, 128),
        (4096, 128),
        (4096, 224),
        (4096, 256),
        (8192, 448),
        (8192, 640),
        (16_384, 1280),
    ];
    for (n, (page, spare)) in layouts.into_iter().enumerate() {
        let oob = Oob { page, spare };
        let mut random = Random::new(n as u64);
        let endian = *random.pick(&Endian::BOTH);
        let size = 131_072;
        let plain = log(&mut random, endian, size, 2, false);
        let mut image = summarized(&plain, endian, size, Mode::Safe);
        image.resize(image.len() + 2 * size as usize, 0xff);
        let expected = look(&image);
        let mut dumped = dump(&mut random, &image, oob);
        let found = look(&dumped);
        assert_eq!(found.oob, Some(oob));
        assert_eq!(found.map, expected.map, "{oob:?}");
        assert_eq!(found.problems, expected.problems, "{oob:?}");

        // The last block is bad, the one before has its clean marker.
        let stride = oob.stride() as usize;
        let pages = (size / page) as usize;
        let blocks = dumped.len() / stride / pages;
        let mark = ((blocks - 1) * pages + 1) * stride + page as usize;
        dumped[mark + oob.bad_marker() as usize] = 0;
        let clean = (blocks - 2) * pages * stride + page as usize;
        let at = dumped[clean..clean + spare as usize].len() - 8;
        dumped[clean + at..clean + at + 8].copy_from_slice(&{
            let mut marker = cleanmarker(endian);
            marker[4..8].copy_from_slice(&endian.put32(8));
            <[u8; 8]>::try_from(&marker[..8]).unwrap()
        });
        let found = look(&dumped);
        assert_eq!(found.count(Class::Bad), 1, "{oob:?} {}", found.map);
        assert_eq!(found.count(Class::ErasedCleanmarker), 1, "{oob:?}");
        let given = CheckOptions {
            spare: Spare::Given(oob),
            ..CheckOptions::default()
        };
        assert_eq!(check(&dumped.as_slice(), &given).unwrap(), found);
    }
}

/// A device on which one block cannot be read.
struct Broken<'a>(&'a [u8], std::ops::Range<u64>);

impl ReadAt for Broken<'_> {
    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if offset < self.1.end && offset + buf.len() as u64 > self.1.start {
            return Err(io::Error::other("uncorrectable"));
        }
        self.0.read_exact_at(offset, buf)
    }
}

#[test]
fn a_dump_with_spare_bytes_gets_no_summaries() {
    let mut random = Random::new(5);
    let image = log(&mut random, Endian::Big, 131_072, 4, false);
    let oob = Oob {
        page: 2048,
        spare: 64,
    };
    let dump = dump(&mut random, &image, oob);
    let options = Options {
        erase_size: 131_072,
        endian: Endian::Big,
        cleanmarkers: Cleanmarkers::None,
        pad: false,
        mode: Mode::Safe,
    };
    let mut out = Vec::new();
    let refused = summarize(&dump.as_slice(), &mut out, &options).unwrap_err();
    assert!(
        matches!(refused, Error::SpareBytes(found) if found == oob),
        "{refused}"
    );
    assert!(out.is_empty());
    summarize(&image.as_slice(), &mut out, &options).unwrap();
}

#[test]
fn a_block_that_cannot_be_read_is_bad_and_does_not_move_the_others() {
    let mut random = Random::new(11);
    let plain = log(&mut random, Endian::Little, 1 << 20, 4, false);
    let size = 1 << 20;
    let mut image = summarized(&plain, Endian::Little, size, Mode::Safe);
    image.truncate(4 << 20);
    let options = CheckOptions {
        erase_size: Some(size),
        ..CheckOptions::default()
    };
    let whole = check(&image.as_slice(), &options).unwrap().map;
    let broken = Broken(&image, 2 << 20..3 << 20);
    let report = check(&broken, &options).unwrap();
    assert_eq!(report.map, format!("{}B{}", &whole[..2], &whole[3..]));
    let told = What::Unreadable(io::ErrorKind::Other);
    assert!(
        report
            .problems
            .iter()
            .any(|p| (p.block, p.what) == (Some(2), told))
    );
    let marked = CheckOptions {
        bad_blocks: [1].into(),
        ..options
    };
    let report = check(&image.as_slice(), &marked).unwrap();
    assert_eq!(report.map.as_bytes()[1], b'B');
    let warned = |p: &firstlight_flash::jffs2::Problem| matches!(p.what, What::BadWithNodes { .. });
    assert!(report.problems.iter().any(warned));
}

#[test]
fn what_is_not_jffs2_gets_one_clear_sentence() {
    let mut tar = vec![0; 4096];
    tar[257..262].copy_from_slice(b"ustar");
    let cases: [(&[u8], &str); 3] = [
        (
            b"",
            "no JFFS2 node of either byte order in 0 bytes; pass a JFFS2 image",
        ),
        (
            &[0; 5000],
            "no JFFS2 node of either byte order in 5000 bytes, which look like zero bytes; pass a JFFS2 image",
        ),
        (
            &tar,
            "no JFFS2 node of either byte order in 4096 bytes, which look like a tar archive; pass a JFFS2 image",
        ),
    ];
    for (image, expected) in cases {
        let error = check(&image, &CheckOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let mut random = Random::new(12);
    let image = log(&mut random, Endian::Big, 8192, 4, false);
    let options = CheckOptions {
        endian: Some(Endian::Little),
        ..CheckOptions::default()
    };
    let error = check(&image.as_slice(), &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "little-endian was given, but the nodes of the image are big-endian; pass --big-endian"
    );
}

#[test]
fn an_image_that_does_not_show_its_erase_size_is_looked_at_all_the_same() {
    let assumed = |report: &Report| {
        let told = |p: &firstlight_flash::jffs2::Problem| p.what == What::EraseSizeAssumed;
        report.problems.iter().any(told)
    };
    let erased = look(&[0xff; 300_000]);
    assert_eq!((erased.erase_size, erased.map.as_str()), (131_072, "..."));
    assert!(assumed(&erased));
    let mut random = Random::new(3);
    let log = log(&mut random, Endian::Little, 32_768, 1, false);
    let one = look(&log);
    assert_eq!((one.erase_size, one.map.as_str()), (65_536, "-"));
    assert!(assumed(&one));
    let given = CheckOptions {
        erase_size: Some(32_768),
        ..CheckOptions::default()
    };
    let given = check(&log.as_slice(), &given).unwrap();
    assert_eq!(given.map, "=");
    assert!(!assumed(&given));
}

#[test]
fn the_chip_is_the_one_that_the_clean_markers_are_for() {
    for (clean, name) in [(true, "nor-s29gl"), (false, "nandsim-128m")] {
        let mut random = Random::new(4);
        let image = log(&mut random, Endian::Little, 8192, 4, clean);
        assert_eq!(look(&image).mount.profile.name, name);
    }
}

#[test]
fn other_content_of_a_chip_is_named() {
    let mut image = vec![0xff; 6 * 65_536];
    for block in image.chunks_mut(65_536).take(4) {
        block[..4].copy_from_slice(b"UBI#");
        block[64..40_000].fill(3);
    }
    let report = look(&image);
    assert_eq!((report.map.as_str(), report.erase_size), ("====..", 65_536));
    assert_eq!(report.count(Class::Foreign), 4);
    assert_eq!(report.problems.len(), 1);
    assert_eq!(report.problems[0].blocks, 4);
}
