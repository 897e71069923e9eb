#![no_main]

use disk::mount::{LAB, look, squashfs_reads};
use rawimage::Part;
use rawimage::ReadAt;

/// What decides which filesystem is seen.
const MAGICS: [(usize, &[u8]); 12] = [
    (1080, &[0x53, 0xef]),
    (0, b"hsqs"),
    (1024, &[0xe2, 0xe1, 0xf5, 0xe0]),
    (0, b"XFSB"),
    (1024, &[0x10, 0x20, 0xf5, 0xf2]),
    (0x1_0040, b"_BHRfS_M"),
    (0, b"-rom1fs-"),
    (0, &[0x45, 0x3d, 0xcd, 0x28]),
    (0, b"UBI#"),
    (0, &[0x85, 0x19]),
    (0, &[0x19, 0x85]),
    (0, &[0x31, 0x18, 0x10, 0x06]),
];

libfuzzer_sys::fuzz_target!(|input: (u8, Vec<u8>)| {
    let (kind, mut bytes) = input;
    if let Some((at, magic)) = MAGICS.get(usize::from(kind % 16)) {
        // The superblock of btrfs lies far behind.
        if *at > bytes.len() && *at < 1 << 17 && kind % 16 == 5 {
            bytes.resize(at + 4096, 0);
        }
        if let Some(place) = bytes.get_mut(*at..at + magic.len()) {
            place.copy_from_slice(magic);
        }
    }
    let slice: &[u8] = &bytes;
    let Ok(part) = Part::whole(&slice as &dyn ReadAt) else {
        return;
    };
    if let Ok(Some(plan)) = look(&part) {
        // No device is faster than one that takes no time.
        let mut none = |now, _, _, _| now;
        let mut some = |now: u64, _, _, bytes: u64| now.saturating_add(bytes);
        let cost = plan.cost(&LAB, &mut some, &mut none);
        assert!(cost.total_ns >= cost.storage_ns);
        assert!(plan.steps.len() < 5_000_000);
    }
    let _ = flash::mount::look(&slice, None, Some(1 << 30), &squashfs_reads);
});
