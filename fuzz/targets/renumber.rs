#![no_main]

use disk::ext::map;
use disk::ext::renumber::renumber;
use disk::{Edited, Map};
use rawimage::Part;
use rawimage::ReadAt;

/// Whole filesystems of 64 blocks of 1 KiB, with and without checksums.
const IMAGES: [&[u8]; 2] = [
    include_bytes!("../images/checksums.img"),
    include_bytes!("../images/plain.img"),
];

/// The content of every path that leads somewhere, by path.
fn content(map: &Map, bytes: &[u8]) -> Vec<(Vec<u8>, u64, Vec<Vec<u8>>)> {
    let mut all: Vec<_> = map
        .inodes()
        .iter()
        .filter_map(|inode| {
            let path = map.path(inode.number)?;
            let is_directory = inode.kind == disk::Kind::Directory;
            let pieces = map.extents_of(&[inode.number]).remove(0);
            let pieces = pieces.iter().filter(|_| !is_directory).map(|piece| {
                bytes[piece.start as usize..(piece.start + piece.len) as usize].to_vec()
            });
            Some((path, inode.size, pieces.collect()))
        })
        .collect();
    all.sort();
    all
}

libfuzzer_sys::fuzz_target!(|input: (bool, u16, Vec<(u16, u8)>, Vec<u8>)| {
    let (plain, cut, damage, wanted) = input;
    let mut bytes = IMAGES[usize::from(plain)].to_vec();
    for (at, value) in &damage {
        if let Some(byte) = bytes.get_mut(usize::from(*at)) {
            *byte ^= value;
        }
    }
    // Right checksums, so that damage is not all that is found.
    if cut & 1 == 0 {
        fuzz::sums::ext(&mut bytes);
    }
    // Most of the time all of it is there.
    if cut > 60_000 {
        bytes.truncate(usize::from(cut));
    }
    let is_whole = damage.iter().all(|(_, value)| *value == 0) && cut <= 60_000;
    let slice: &[u8] = &bytes;
    let Ok(part) = Part::whole(&slice as &dyn ReadAt) else {
        return;
    };
    let Ok(before) = map(&part) else { return };
    let wanted: Vec<u32> = wanted.into_iter().map(u32::from).collect();
    let mut edited = Edited::new(part, before.facts.block_size);
    let done = match renumber(&mut edited, &before, &wanted) {
        Ok(done) => done,
        Err(why) => {
            assert!(!is_whole, "{why}");
            return;
        }
    };
    let mut after = bytes.clone();
    for (at, block) in edited.changes() {
        after[at as usize..at as usize + block.len()].copy_from_slice(block);
    }
    if !is_whole {
        return;
    }
    let slice: &[u8] = &after;
    let part = Part::whole(&slice as &dyn ReadAt).expect("it is as long as before");
    let now = map(&part).expect("what was renumbered can be read");
    assert_eq!(now.notes, before.notes);
    assert_eq!(content(&now, &after), content(&before, &bytes));
    for (old, new) in &done.numbers {
        assert_eq!(now.path(*new), before.path(*old));
    }
});
