//! Names in the blocks of a directory.

use crate::boot::bytes::{le16, le32};

/// Calls `each` with the inode and the name of every entry in one block, or in
/// the part of an inode that stands for one. The blocks of a directory's index
/// look like blocks without names. `false` if it is damaged from some entry on.
pub(super) fn entries(block: &[u8], has_types: bool, each: &mut dyn FnMut(u32, &[u8])) -> bool {
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
                Some(name) => each(inode, name),
                None => return false,
            }
        }
        at += length;
    }
    true
}
