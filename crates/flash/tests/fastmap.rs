//! Each rule of the kernel's for fastmaps, broken alone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]
mod common;

use common::ubi::{Chip, ERASE_SIZE, LEB_SIZE, Map, put_map, record, vid};
use firstlight_flash::ubi::fastmap::Rule;
use firstlight_flash::ubi::header::Vid;
use firstlight_flash::ubi::{LAYOUT_VOLUME, Options, Report, What, check};

const BLOCKS: u32 = 100;

/// A chip with two volumes and a valid fastmap: the tables in blocks 0 and 1,
/// the fastmap in 2, volume 0 in 10 to 19, volume 3 in 20 to 22, pools in 30 to
/// 39, block 50 to be erased, and all others free.
fn chip() -> (Chip, Map) {
    let mut chip = Chip::new(BLOCKS as usize);
    chip.tables(&[(0, record("rootfs", 1, 12)), (3, record("data", 1, 4))]);
    let mut sequence = 10;
    let mut volume = |id: u32, first: u32, count: u32| {
        (0..count)
            .map(|leb| {
                sequence += 1;
                let block = first + leb;
                chip.put(block as usize, &vid(id, leb, sequence), b"data");
                Some(block)
            })
            .collect::<Vec<_>>()
    };
    let mut rootfs = volume(0, 10, 10);
    rootfs.extend([None, None]);
    let data = volume(3, 20, 3);
    let used: Vec<u32> = [0, 1].into_iter().chain(10..23).collect();
    let pool: Vec<u32> = (30..36).collect();
    let wl_pool: Vec<u32> = (36..40).collect();
    let busy = |b: &u32| matches!(*b, 0..=2 | 10..=22 | 30..=39 | 50);
    let map = Map {
        anchor: 2,
        blocks: vec![2],
        free: (0..BLOCKS).filter(|b| !busy(b)).collect(),
        used,
        scrub: vec![],
        erase: vec![50],
        bad: 0,
        pool,
        wl_pool,
        volumes: vec![
            (0, rootfs),
            (3, data),
            (LAYOUT_VOLUME, vec![Some(0), Some(1)]),
        ],
    };
    map.write(&mut chip);
    (chip, map)
}

fn look(chip: &Chip) -> Report {
    check(&chip.bytes.as_slice(), &Options::default()).unwrap()
}

/// Requires that the first broken rule is this one, for this reason.
fn broken(chip: &Chip, rule: Rule, why: &str) {
    let map = look(chip).fastmap;
    let (found, said) = map.broken.unwrap_or_else(|| panic!("{rule:?} holds"));
    assert_eq!(found, rule, "{said}");
    assert!(said.contains(why), "{said}");
}

/// Breaks the fastmap's bytes, and makes the checksum right again.
fn with_bytes(change: impl FnOnce(&mut Vec<u8>)) -> Chip {
    let (mut chip, map) = chip();
    let mut bytes = map.bytes(BLOCKS.into());
    change(&mut bytes);
    put_map(&mut chip, &map.blocks, bytes);
    chip
}

fn with_map(change: impl FnOnce(&mut Map)) -> Chip {
    let (mut chip, mut map) = chip();
    change(&mut map);
    map.write(&mut chip);
    chip
}

#[test]
fn a_valid_fastmap_is_used_and_agrees() {
    let (chip, _) = chip();
    let report = look(&chip);
    assert_eq!(report.fastmap.broken, None);
    assert!(report.fastmap.is_valid() && report.fastmap.is_present());
    assert_eq!(
        (report.fastmap.anchor, report.fastmap.disagrees),
        (Some(2), 0)
    );
    assert_eq!(report.refusal(), None);
    assert!(
        report
            .attach
            .fastmap_ns
            .is_some_and(|ns| ns == report.attach.now_ns)
    );
}

#[test]
fn blocks_of_the_pools_may_be_in_use_by_now() {
    let (mut chip, _) = chip();
    // A new logical block, and a newer copy of an old one.
    chip.put(30, &vid(0, 10, 1000), b"new");
    chip.put(31, &vid(0, 3, 1001), b"newer");
    let report = look(&chip);
    assert_eq!(report.fastmap.broken, None);
    assert_eq!(report.fastmap.disagrees, 0);
    // Outside of the pools nothing may change without the fastmap knowing.
    chip.put(60, &vid(0, 4, 1002), b"unseen");
    let report = look(&chip);
    assert_eq!(report.fastmap.broken, None);
    assert_eq!(report.fastmap.disagrees, 1);
    let told = |p: &firstlight_flash::ubi::Problem| p.what == What::FastmapDisagrees { blocks: 1 };
    assert!(report.problems.iter().any(told));
}

#[test]
fn a_small_chip_has_none() {
    let mut small = Chip::new(64);
    small.tables(&[]);
    broken(&small, Rule::LargeEnough, "it has 64");
}

#[test]
fn a_damaged_header_among_the_first_forbids_it() {
    let (mut chip, _) = chip();
    chip.block(12)[512 + 20] ^= 1;
    broken(&chip, Rule::HeadersGood, "the one of block 12 is");
    let (mut chip, _) = self::chip();
    chip.put(70, &vid(0, 11, 900), b"");
    chip.block(70)[512 + 20] ^= 1;
    assert_eq!(look(&chip).fastmap.broken, None);
}

#[test]
fn without_an_anchor_there_is_none() {
    let mut chip = Chip::new(BLOCKS as usize);
    chip.tables(&[]);
    broken(&chip, Rule::Anchor, "there is no fastmap");
    assert!(!look(&chip).fastmap.is_present());
    // Behind the first 64 blocks nobody looks.
    let (mut chip, map) = self::chip();
    let bytes = map.bytes(BLOCKS.into());
    put_map(&mut chip, &[70], bytes);
    chip.block(2)[512..].fill(0xff);
    broken(&chip, Rule::Anchor, "there is no fastmap");
}

#[test]
fn the_newest_anchor_counts() {
    let (mut chip, map) = chip();
    let bytes = map.bytes(BLOCKS.into());
    // An older copy of it, with its own place in it wrong.
    let header = Vid {
        compatibility: 1,
        ..vid(firstlight_flash::ubi::FASTMAP_ANCHOR, 0, 400)
    };
    chip.put(5, &header, &bytes);
    assert_eq!(look(&chip).fastmap.anchor, Some(2));
    let newer = Vid {
        sequence: 600,
        ..header
    };
    chip.put(5, &newer, &bytes);
    broken(
        &chip,
        Rule::Blocks,
        "Fastmap anchor PEB mismatch: PEB: 2 vs. 5",
    );
}

#[test]
fn the_superblock_must_be_right() {
    for (at, value, why) in [
        (0, 0, "bad super block magic"),
        (4, 9, "bad fastmap version: 9"),
        (12, 1, "number of fastmap blocks is invalid"),
        (15, 0, "number of fastmap blocks is invalid: 0"),
    ] {
        let chip = with_bytes(|b| b[at] = value);
        broken(&chip, Rule::Superblock, why);
    }
}

#[test]
fn a_resized_partition_has_no_fastmap_any_more() {
    let (mut chip, _) = chip();
    // So many blocks that the fastmap would need another one.
    chip.bytes.resize(1200 * ERASE_SIZE, 0xff);
    broken(&chip, Rule::Size, "was the partition resized?");
    // With as many blocks of fastmap as before, their number is noticed.
    let (mut chip, _) = self::chip();
    chip.bytes.resize(101 * ERASE_SIZE, 0xff);
    broken(&chip, Rule::Count, "the chip has 101");
    let options = Options {
        chip_blocks: Some(1200),
        ..Options::default()
    };
    let (chip, _) = self::chip();
    let report = check(&chip.bytes.as_slice(), &options).unwrap();
    assert_eq!(
        report.fastmap.broken.map(|(rule, _)| rule),
        Some(Rule::Size)
    );
}

#[test]
fn its_blocks_must_be_what_they_say() {
    let (mut chip, _) = chip();
    chip.bytes[2 * ERASE_SIZE + 24..][..4].copy_from_slice(&[1, 2, 3, 4]);
    broken(&chip, Rule::Blocks, "unable to read EC header! PEB:2");
    let bad = Options {
        bad_blocks: [30].into(),
        ..Options::default()
    };
    let (chip, _) = self::chip();
    let report = check(&chip.bytes.as_slice(), &bad).unwrap();
    let (rule, why) = report.fastmap.broken.unwrap();
    assert_eq!(
        (rule, why.as_str()),
        (Rule::Pools, "bad PEB in fastmap pool!")
    );
    let far = with_bytes(|b| b[16..20].copy_from_slice(&4000_u32.to_be_bytes()));
    broken(&far, Rule::Blocks, "block 4000 is outside the image");
}

#[test]
fn a_flipped_bit_is_noticed() {
    let (mut chip, _) = chip();
    chip.block(2)[2048 + 5000] ^= 4;
    broken(&chip, Rule::Checksum, "CRC should be");
}

#[test]
fn its_parts_must_follow_each_other() {
    let pool = 312 + 32;
    for (at, why) in [
        (312, "bad fastmap header magic"),
        (pool, "bad fastmap pool magic"),
        (pool + 1048, "bad fastmap WL pool magic"),
    ] {
        broken(&with_bytes(|b| b[at] ^= 1), Rule::Structure, why);
    }
    let chip = with_bytes(|b| b[pool + 4] = 0xff);
    broken(&chip, Rule::Structure, "bad pool size");
    let chip = with_bytes(|b| b[pool + 6] = 0xff);
    broken(&chip, Rule::Structure, "bad maximal pool size");
    let chip = with_bytes(|b| b[312 + 4] = 1);
    broken(&chip, Rule::Structure, "truncated within");
    let chip = with_bytes(|b| b[312 + 27] = 9);
    broken(&chip, Rule::Structure, "bad fastmap vol header magic");
}

#[test]
fn each_logical_block_must_be_in_use_and_in_one_volume() {
    let chip = with_map(|m| m.volumes[0].1[4] = Some(40));
    broken(&chip, Rule::Tables, "PEB 40 is in EBA but not in used list");
    let chip = with_map(|m| m.volumes[1].0 = 0);
    broken(&chip, Rule::Tables, "volume (ID 0) already exists");
    // Twice in one table: the first took it out of the list.
    let chip = with_map(|m| m.volumes[0].1[4] = Some(10));
    broken(&chip, Rule::Tables, "PEB 10 is in EBA but not in used list");
}

#[test]
fn the_pools_are_looked_at() {
    let (mut chip, _) = chip();
    chip.put(33, &vid(7, 0, 1000), b"");
    broken(&chip, Rule::Pools, "orphaned volume in fastmap pool!");
    let (mut chip, _) = self::chip();
    chip.block(37).fill(0xff);
    broken(&chip, Rule::Pools, "unable to read EC header! PEB:37");
    let chip = with_map(|m| m.pool[2] = 5000);
    broken(&chip, Rule::Pools, "block 5000 is outside the chip");
}

#[test]
fn no_block_may_be_missing() {
    let chip = with_map(|m| m.free.truncate(20));
    broken(&chip, Rule::Count, "the chip has 100");
    let chip = with_map(|m| m.bad = 1);
    broken(&chip, Rule::Count, "1 of them bad");
}

#[test]
fn a_fastmap_of_several_blocks_is_read() {
    let mut chip = Chip::new(1500);
    chip.tables(&[]);
    let map = Map {
        anchor: 3,
        blocks: vec![3, 700],
        free: (2..1500).filter(|b| !matches!(b, 3 | 700)).collect(),
        used: vec![0, 1],
        scrub: vec![],
        erase: vec![],
        bad: 0,
        pool: vec![],
        wl_pool: vec![],
        volumes: vec![(LAYOUT_VOLUME, vec![Some(0), Some(1)])],
    };
    assert_eq!(map.bytes(1500).len(), 2 * LEB_SIZE);
    map.write(&mut chip);
    assert_eq!(look(&chip).fastmap.broken, None);
    let swapped = vid(firstlight_flash::ubi::FASTMAP_ANCHOR, 1, 9);
    let swapped = Vid {
        compatibility: 1,
        ..swapped
    };
    let data = chip.block(700)[2048..].to_vec();
    chip.put(700, &swapped, &data);
    broken(
        &chip,
        Rule::Blocks,
        "block 700 belongs to volume 0x7ffff000",
    );
}
