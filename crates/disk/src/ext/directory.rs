//! Names in the blocks of a directory.

use super::checksum::put;
use rawimage::bytes::{le16, le32};
use std::collections::BTreeMap;

/// Calls `each` with the inode and the name of every entry in one block, or in
/// the part of an inode that stands for one. The blocks of a directory's index
/// look like blocks without names. `false` if it is damaged from some entry on.
pub(super) fn entries(block: &[u8], has_types: bool, each: &mut dyn FnMut(u32, &[u8])) -> bool {
    places(block, has_types, &mut |_, inode, name| each(inode, name))
}

/// As [`entries`], and where each lies in the block.
fn places(block: &[u8], has_types: bool, each: &mut dyn FnMut(usize, u32, &[u8])) -> bool {
    let mut at: usize = 0;
    while let Some(entry) = block.get(at..).filter(|e| e.len() >= 8) {
        let inode = le32(entry, 0).unwrap_or(0);
        let stated = usize::from(le16(entry, 4).unwrap_or(0));
        // A length of 64 KiB has no room in 16 bits (`ext4_rec_len_from_disk`).
        let length = match stated {
            0 | 0xffff if block.len() >= 65_536 => 65_536 - at,
            stated => stated,
        };
        if length < 8 || length > entry.len() {
            return false;
        }
        let name_length = match has_types {
            true => usize::from(entry.get(6).copied().unwrap_or(0)),
            false => usize::from(le16(entry, 6).unwrap_or(0)),
        };
        if inode != 0 {
            match entry.get(8..length).and_then(|e| e.get(..name_length)) {
                Some(name) => each(at, inode, name),
                None => return false,
            }
        }
        at += length;
    }
    true
}

/// Puts other inodes into a block; `None` if it is damaged, else whether one of its
/// entries has another now.
pub(super) fn renumber(
    block: &mut [u8],
    has_types: bool,
    numbers: &BTreeMap<u32, u32>,
) -> Option<bool> {
    let mut found = Vec::new();
    let sound = places(block, has_types, &mut |at, inode, _| {
        found.extend(numbers.get(&inode).map(|new| (at, *new)));
    });
    for (at, new) in &found {
        put(block, *at, &new.to_le_bytes());
    }
    sound.then_some(!found.is_empty())
}
