//! What programs a cramfs holds, and whether they can be executed where they lie.
//!
//! Layout: `include/uapi/linux/cramfs_fs.h`, little-endian, as all that boots today
//! writes it; pointers with flags: `fs/cramfs/README`, "Block pointers".

use rawimage::Part;
use rawimage::bytes::le32;
use std::collections::BTreeSet;
use std::io;

const MAGIC: u32 = 0x28cd_3d45;

/// Where the superblock's inode of the root stands, and how long an inode is.
const ROOT: u64 = 64;
const INODE: u64 = 12;

/// `CRAMFS_FLAG_EXT_BLOCK_POINTERS`: pointers to blocks have flags.
const FLAG_EXTENDED: u32 = 0x800;

/// `CRAMFS_BLK_FLAG_DIRECT_PTR`: the block lies at a place of its own, to be mapped.
const DIRECT: u32 = 1 << 30;

/// Modes: the kind of a file, and whether somebody may execute it.
const KIND: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const EXECUTE: u32 = 0o111;

/// So many entries are looked at; a cramfs has at most 256 MiB.
const MOST_ENTRIES: usize = 1 << 18;

/// The executable files of a cramfs, in bytes as they are unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// Of those that are packed, and unpacked page by page when they are executed.
    pub packed: u64,
    /// Of those that lie as they are, and are executed there.
    pub in_place: u64,
}

/// The first three words of an inode.
struct Inode {
    mode: u32,
    size: u64,
    name: u64,
    offset: u64,
}

fn inode(image: &Part<'_>, at: u64) -> io::Result<Option<Inode>> {
    let bytes = image.read(at, INODE as usize)?;
    let word = |at| le32(&bytes, at);
    let (Some(mode), Some(size), Some(rest)) = (word(0), word(4), word(8)) else {
        return Ok(None);
    };
    Ok(Some(Inode {
        mode: mode & 0xffff,
        size: u64::from(size & 0xff_ffff),
        name: u64::from(rest & 0x3f) * 4,
        offset: u64::from(rest >> 6) * 4,
    }))
}

/// The programs of the cramfs that `image` is; `None` if it is none. Of a damaged one,
/// those that are found.
///
/// # Errors
/// The image cannot be read.
pub fn programs(image: &Part<'_>) -> io::Result<Option<Programs>> {
    let head = image.read(0, ROOT as usize)?;
    if le32(&head, 0) != Some(MAGIC) {
        return Ok(None);
    }
    let is_extended = le32(&head, 8).is_some_and(|flags| flags & FLAG_EXTENDED != 0);
    let mut found = Programs::default();
    let mut left = MOST_ENTRIES;
    let mut open: Vec<(u64, u64)> = Vec::new();
    let mut seen = BTreeSet::new();
    if let Some(root) = inode(image, ROOT)? {
        open.push((root.offset, root.size));
    }
    while let Some((from, size)) = open.pop() {
        // A damaged folder may hold itself.
        if !seen.insert(from) {
            continue;
        }
        let mut at = from;
        while at < from.saturating_add(size) {
            let entry = inode(image, at)?;
            let (Some(entry), Some(rest)) = (entry, left.checked_sub(1)) else {
                return Ok(Some(found));
            };
            left = rest;
            at = at.saturating_add(INODE + entry.name);
            match entry.mode & KIND {
                FOLDER => open.push((entry.offset, entry.size)),
                FILE if entry.mode & EXECUTE != 0 && entry.size > 0 => {
                    let first = image.read(entry.offset, 4)?;
                    let first = le32(&first, 0).unwrap_or(0);
                    let sum = match is_extended && first & DIRECT != 0 {
                        true => &mut found.in_place,
                        false => &mut found.packed,
                    };
                    *sum = sum.saturating_add(entry.size);
                }
                _ => {}
            }
        }
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::{Programs, programs};
    use rawimage::Part;

    /// A cramfs with two programs and a text in its folder `b`, one of the programs with
    /// a direct pointer.
    fn image(flags: u32) -> Vec<u8> {
        let mut image = vec![0_u8; 256];
        let mut put = |at: usize, word: u32| image[at..at + 4].copy_from_slice(&word.to_le_bytes());
        let mut inode = |at: usize, mode: u32, size: u32, offset: u32| {
            put(at, mode);
            put(at + 4, size);
            put(at + 8, 1 | (offset / 4) << 6);
        };
        inode(64, 0o040_755, 16, 76);
        inode(76, 0o040_755, 48, 96);
        inode(96, 0o100_755, 5_000, 160);
        inode(112, 0o100_755, 7_000, 164);
        inode(128, 0o100_644, 9_000, 160);
        put(0, 0x28cd_3d45);
        put(8, flags);
        put(160, 200);
        put(164, 200 | 1 << 30);
        image
    }

    fn of(bytes: &[u8]) -> Option<Programs> {
        programs(&Part::whole(&bytes).unwrap()).unwrap()
    }

    #[test]
    fn programs_are_packed_or_lie_as_they_are() {
        let found = of(&image(0x800)).unwrap();
        assert_eq!((found.packed, found.in_place), (5_000, 7_000));
        // Without the flag that bit is a part of an address.
        let found = of(&image(0)).unwrap();
        assert_eq!((found.packed, found.in_place), (12_000, 0));
        assert_eq!(of(&[0; 128]), None);
    }

    #[test]
    fn a_damaged_one_comes_to_an_end() {
        // A folder that is its own, and one that ends behind the image.
        for (at, word) in [(76 + 8, 1 | (76 / 4) << 6), (76 + 4, 0xff_ffff)] {
            let mut bytes = image(0);
            bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(word));
            let _ = of(&bytes);
        }
        for length in 0..256 {
            let bytes = image(0);
            let _ = programs(&Part::whole(&&bytes[..length]).unwrap());
        }
    }
}
