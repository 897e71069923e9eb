//! What mounting costs: the order of requests on small images made here, and that
//! no image makes looking at it panic or grow without bound.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test that cannot go on should stop

use firstlight_disk::mount::{
    Access, Cost, LAB, Plan, State, Step, error_percent, look, squashfs_reads,
};
use proptest::prelude::*;
use rawimage::Part;
use rawimage::ReadAt;

fn plan(bytes: &[u8]) -> Option<Plan> {
    let image: &dyn ReadAt = &bytes;
    look(&Part::whole(image).unwrap()).ok().flatten()
}

/// On a device that takes 1 ms a request and 1 us a KiB, one after another.
fn cost(plan: &Plan) -> Cost {
    let device = || {
        let mut free = 0_u64;
        move |now: u64, _: Access, _: u64, bytes: u64| {
            free = free.max(now) + 1_000_000 + bytes / 1024 * 1_000;
            free
        }
    };
    plan.cost(&LAB, &mut device(), &mut device())
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// Superblocks that get past the first look.
fn samples() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    // erofs: blocks of 4 KiB, the root's inode at 36 * 32.
    let mut image = vec![0; 16 << 10];
    put(&mut image, 1024, &0xe0f5_e1e2_u32.to_le_bytes());
    put(&mut image, 1036, &[12]);
    put(&mut image, 1038, &36_u16.to_le_bytes());
    all.push(image);
    // romfs.
    let mut image = vec![0; 4096];
    put(&mut image, 0, b"-rom1fs-");
    put(&mut image, 16, b"volume");
    all.push(image);
    // cramfs.
    let mut image = vec![0; 32 << 10];
    put(&mut image, 0, &0x28cd_3d45_u32.to_le_bytes());
    all.push(image);
    // squashfs: no tables but that of owners; the root's inode at 4096.
    let mut image = vec![0; 16 << 10];
    put(&mut image, 0, b"hsqs");
    put(&mut image, 12, &(128_u32 << 10).to_le_bytes());
    put(&mut image, 20, &1_u16.to_le_bytes());
    put(&mut image, 26, &1_u16.to_le_bytes());
    put(&mut image, 28, &4_u16.to_le_bytes());
    for at in [56, 80, 88] {
        put(&mut image, at, &u64::MAX.to_le_bytes());
    }
    put(&mut image, 48, &8200_u64.to_le_bytes());
    put(&mut image, 64, &4096_u64.to_le_bytes());
    put(&mut image, 72, &5000_u64.to_le_bytes());
    put(&mut image, 4096, &32_u16.to_le_bytes());
    put(&mut image, 8200, &8192_u64.to_le_bytes());
    put(&mut image, 8192, &0x8004_u16.to_le_bytes());
    all.push(image);
    // xfs: blocks of 4 KiB, two groups of 16, a log of eight blocks.
    let mut image = vec![0; 128 << 10];
    put(&mut image, 0, b"XFSB");
    put(&mut image, 8, &32_u64.to_be_bytes());
    put(&mut image, 48, &8_u64.to_be_bytes());
    put(&mut image, 84, &16_u32.to_be_bytes());
    put(&mut image, 88, &2_u32.to_be_bytes());
    put(&mut image, 96, &8_u32.to_be_bytes());
    put(&mut image, 102, &512_u16.to_be_bytes());
    put(&mut image, 120, &[12]);
    put(&mut image, 124, &[4]);
    put(&mut image, 32 << 10, &0xfeed_babe_u32.to_be_bytes());
    put(&mut image, (32 << 10) + 4, &1_u32.to_be_bytes());
    put(&mut image, (32 << 10) + 40, &1_u32.to_be_bytes());
    put(&mut image, (32 << 10) + 512, &1_u32.to_be_bytes());
    put(&mut image, (32 << 10) + 512 + 9, &[0x20]);
    all.push(image);
    // btrfs: nodes of 16 KiB.
    let mut image = vec![0; 128 << 10];
    put(&mut image, (64 << 10) + 0x40, b"_BHRfS_M");
    put(&mut image, (64 << 10) + 0x94, &(16_u32 << 10).to_le_bytes());
    all.push(image);
    // f2fs: checkpoints at block 512, 50 segments.
    let mut image = vec![0; 64 << 10];
    put(&mut image, 1024, &0xf2f5_2010_u32.to_le_bytes());
    put(&mut image, 1040, &12_u32.to_le_bytes());
    put(&mut image, 1044, &9_u32.to_le_bytes());
    put(&mut image, 1024 + 68, &50_u32.to_le_bytes());
    put(&mut image, 1024 + 76, &1_u32.to_le_bytes());
    put(&mut image, 4096, &7_u64.to_le_bytes());
    put(&mut image, 4096 + 132, &1_u32.to_le_bytes());
    put(&mut image, 4096 + 136, &8_u32.to_le_bytes());
    all.push(image);
    // ext2: blocks of 4 KiB, one group, inodes of 256 bytes from block 4 on.
    let mut image = vec![0; 128 << 10];
    put(&mut image, 1024, &64_u32.to_le_bytes());
    put(&mut image, 1028, &32_u32.to_le_bytes());
    put(&mut image, 1024 + 0x18, &2_u32.to_le_bytes());
    put(&mut image, 1024 + 0x20, &32_768_u32.to_le_bytes());
    put(&mut image, 1024 + 0x28, &64_u32.to_le_bytes());
    put(&mut image, 1024 + 0x38, &[0x53, 0xef]);
    put(&mut image, 1024 + 0x3a, &[1]);
    put(&mut image, 1024 + 0x4c, &[1]);
    put(&mut image, 1024 + 0x58, &256_u16.to_le_bytes());
    put(&mut image, 4096 + 8, &4_u32.to_le_bytes());
    all.push(image);
    // ext4 with a journal of one transaction: block 20 and on, inode 8 in block 4.
    let mut image = all.last().unwrap().clone();
    put(&mut image, 1024 + 0x5c, &4_u32.to_le_bytes());
    put(&mut image, 1024 + 0x60, &(0x40_u32 | 0x4).to_le_bytes());
    put(&mut image, 1024 + 0xe0, &8_u32.to_le_bytes());
    let inode = 4 * 4096 + 7 * 256;
    put(&mut image, inode + 0x20, &0x8_0000_u32.to_le_bytes());
    put(&mut image, inode + 0x28, &0xf30a_u16.to_le_bytes());
    put(&mut image, inode + 0x2a, &1_u16.to_le_bytes());
    put(&mut image, inode + 0x38, &8_u16.to_le_bytes());
    put(&mut image, inode + 0x3c, &20_u32.to_le_bytes());
    let journal = 20 * 4096;
    let mut words = |at: usize, values: &[u32]| {
        for (i, value) in values.iter().enumerate() {
            put(&mut image, at + i * 4, &value.to_be_bytes());
        }
    };
    // Magic, kind, sequence, block size, length, first, sequence, start.
    words(journal, &[0xc03b_3998, 4, 0, 4096, 8, 1, 5, 1]);
    // A descriptor of two blocks: place, flags; the first one also has a UUID.
    words(
        journal + 4096,
        &[0xc03b_3998, 1, 5, 30, 0, 0, 0, 0, 0, 31, 8 | 2],
    );
    words(journal + 4 * 4096, &[0xc03b_3998, 2, 5]);
    all.push(image);
    all
}

#[test]
fn each_filesystem_is_known_and_costs_something() {
    let expected = [
        ("erofs", 1, 4096),
        ("romfs", 1, 1024),
        ("cramfs", 1, 32 << 10),
        // Superblock, list of owners, the root's inode and its owner, twice each.
        ("squashfs", 6, 6 << 10),
        // Not counted here.
        ("xfs", 0, 0),
        ("btrfs", 16, 3 * 4096 + 13 * (16 << 10)),
        ("f2fs", 0, 0),
        ("ext2", 5, 1024 + 4096 * 3 + 4096 * 4),
        ("ext4", 13, 1024 + 4096 * 3 + 4096 * 4 + 4096 * 8),
    ];
    for (sample, (name, reads, bytes)) in samples().iter().zip(expected) {
        let plan = plan(sample).unwrap();
        let cost = cost(&plan);
        assert_eq!(plan.filesystem, name, "{plan:?}");
        assert!(cost.total_ns > cost.storage_ns, "{name}: {cost:?}");
        assert!(cost.storage_ns > cost.reads.min(2) * 1_000_000, "{name}");
        if reads > 0 {
            assert_eq!((cost.reads, cost.read_bytes), (reads, bytes), "{plan:?}");
        }
        let replay = name == "ext4";
        assert_eq!(plan.state == State::Replay, replay, "{name}");
        assert!(plan.is_whole, "{name}");
    }
}

#[test]
fn a_journal_is_replayed_to_where_it_says() {
    let all = samples();
    let plan = plan(all.last().unwrap()).unwrap();
    let writes: Vec<_> = (plan.steps.iter())
        .filter_map(|s| match s {
            Step::Write(at, bytes) => Some((at / 4096, bytes / 4096)),
            _ => None,
        })
        .collect();
    // Blocks 30 and 31 together; the journal twice, the superblock.
    assert_eq!(writes, [(30, 2), (20, 1), (20, 1), (0, 1)]);
    let flushes = plan.steps.iter().filter(|s| **s == Step::Flush).count();
    assert_eq!(flushes, 4);
}

#[test]
fn a_log_that_does_not_end_with_an_unmount_is_to_be_replayed() {
    let mut image = samples().swap_remove(4);
    image[(32 << 10) + 512 + 9] = 0x01;
    let plan = plan(&image).unwrap();
    assert_eq!(plan.state, State::Replay);
    assert!(!plan.is_whole);
}

#[test]
fn what_was_asked_for_ahead_is_not_waited_for_twice() {
    let mut plan = plan(&samples()[1]).unwrap();
    plan.steps = vec![
        Step::Ahead(0, 1024),
        Step::Work(5_000_000),
        Step::Wait(0),
        Step::Wait(0),
    ];
    let cost = cost(&plan);
    assert!(
        cost.total_ns >= 5_000_000 && cost.total_ns < 5_200_000,
        "{cost:?}"
    );
    assert_eq!(cost.storage_ns, 1_001_000);
}

/// What cannot be read has no forecast: squashfs 3, and erofs with 48-bit block numbers.
#[test]
fn what_cannot_be_read_is_not_forecast() {
    let mut all = samples();
    put(&mut all[3], 28, &3_u16.to_le_bytes());
    put(&mut all[0], 1024 + 80, &0x80_u32.to_le_bytes());
    assert!(plan(&all[3]).is_none() && plan(&all[0]).is_none());
}

#[test]
fn every_filesystem_of_the_model_says_how_far_off_it_may_be() {
    for name in ["ext4", "squashfs", "erofs"] {
        assert!(error_percent(name).unwrap() <= 15, "{name}");
    }
    assert_eq!(error_percent("minix"), None);
}

/// Looks and times; the work is bounded by the image.
fn survives(bytes: &[u8]) {
    if let Some(plan) = plan(bytes) {
        assert!(plan.steps.len() < 5_000_000);
        let cost = cost(&plan);
        assert!(cost.total_ns >= cost.storage_ns);
    }
    let image: &dyn ReadAt = &bytes;
    let _ = squashfs_reads(image);
}

#[test]
fn every_truncation_survives() {
    for sample in samples() {
        for length in (0..sample.len().min(9000))
            .step_by(61)
            .chain([sample.len()])
        {
            survives(&sample[..length]);
        }
    }
}

proptest! {
    #[test]
    fn no_superblock_is_too_odd(
        which in 0..9_usize,
        changes in proptest::collection::vec((0..1_usize << 17, any::<u64>(), 0..4_u8), 0..12),
    ) {
        let mut image = samples().swap_remove(which);
        // Most damage is done where the superblock is.
        for (at, value, near) in changes {
            let base = [0, 0, 1024, 64 << 10][usize::from(near)];
            let at = if near == 0 { at } else { base + at % 300 };
            let bytes = value.to_le_bytes();
            for (to, from) in image.iter_mut().skip(at).zip(bytes) {
                *to = from;
            }
        }
        survives(&image);
    }

    #[test]
    fn no_bytes_are_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..6000)) {
        survives(&bytes);
    }
}
