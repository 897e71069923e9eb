#![no_main]

//! Damaged ext4 images whose sums hold: the readers see what no wrong sum excuses.

use disk::ext::map;
use disk::mount::{LAB, look};
use disk::{Disk, score};
use fuzz::ext4::{IMAGES, damaged, mend};
use rawimage::{Part, ReadAt};

libfuzzer_sys::fuzz_target!(|input: (bool, Vec<(u16, u8)>)| {
    let (plain, damage) = input;
    let bytes = damaged(plain, &damage, true);
    if damage.is_empty() {
        // Of a whole image no sum changes.
        assert_eq!(bytes, IMAGES[usize::from(plain)]);
    }
    let mut twice = bytes.clone();
    mend(&mut twice);
    assert_eq!(twice, bytes);
    let slice: &[u8] = &bytes;
    let Ok(part) = Part::whole(&slice as &dyn ReadAt) else {
        return;
    };
    let Ok(disk) = Disk::open(&part, None) else {
        return;
    };
    let mut at = 0;
    let end = bytes.len() as u64;
    disk.pieces(0, end, &mut |piece| {
        assert_eq!(piece.extent.start, at);
        at += piece.extent.len;
    });
    assert_eq!(at, end);
    let mut paths = Vec::new();
    for (_, map) in disk.maps() {
        for inode in map.inodes().iter().take(50) {
            paths.extend(map.path(inode.number));
        }
    }
    let _ = score(&disk, &paths);
    if let Ok(map) = map(&part) {
        // A wrong sum is the only reason for this note, and there is none.
        assert!(
            !map.notes.iter().any(|n| n.contains("wrong checksum")),
            "{:?}",
            map.notes
        );
    }
    if let Ok(Some(plan)) = look(&part) {
        let mut none = |now, _, _, _| now;
        let mut some = |now: u64, _, _, bytes: u64| now.saturating_add(bytes);
        let cost = plan.cost(&LAB, &mut some, &mut none);
        assert!(cost.total_ns >= cost.storage_ns);
    }
});
