//! Small ext4 images that stay consistent when they are damaged: all sums are computed
//! again afterwards, so that the fuzzer gets past them.
//!
//! The sums are computed here from their description in the kernel's documentation
//! (`Documentation/filesystems/ext4`), not by the code that is fuzzed.

/// Whole filesystems of 64 blocks of 1 KiB, with and without sums over all metadata.
pub const IMAGES: [&[u8]; 2] = [
    include_bytes!("images/checksums.img"),
    include_bytes!("images/plain.img"),
];

/// The length of a block in these images, in bytes.
const BLOCK: usize = 1024;
const SUPERBLOCK: usize = 1024;
/// The only group's descriptor.
const DESCRIPTORS: usize = 2 * BLOCK;

/// The image, damaged at some places, with sums that hold if `mended`.
pub fn damaged(plain: bool, damage: &[(u16, u8)], mended: bool) -> Vec<u8> {
    let mut bytes = IMAGES[usize::from(plain)].to_vec();
    for (at, value) in damage {
        if let Some(byte) = bytes.get_mut(usize::from(*at)) {
            *byte ^= value;
        }
    }
    if mended {
        mend(&mut bytes);
    }
    bytes
}

fn crc32c(start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 * (crc & 1))
        })
    })
}

fn crc16(start: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(start, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xa001 * (crc & 1))
        })
    })
}

fn word(bytes: &[u8], at: usize) -> usize {
    let place: Option<[u8; 4]> = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
    place.map_or(0, |b| u32::from_le_bytes(b) as usize)
}

fn half(bytes: &[u8], at: usize) -> usize {
    let place: Option<[u8; 2]> = bytes.get(at..at + 2).and_then(|b| b.try_into().ok());
    place.map_or(0, |b| usize::from(u16::from_le_bytes(b)))
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + what.len()) {
        place.copy_from_slice(what);
    }
}

/// Computes all sums again: those of blocks before those of what names them.
pub fn mend(bytes: &mut [u8]) {
    let all = word(bytes, SUPERBLOCK + 0x64) & 0x400 != 0;
    let seed = match word(bytes, SUPERBLOCK + 0x60) & 0x2000 {
        0 => crc32c(
            !0,
            bytes
                .get(SUPERBLOCK + 0x68..SUPERBLOCK + 0x78)
                .unwrap_or_default(),
        ),
        _ => word(bytes, SUPERBLOCK + 0x270) as u32,
    };
    if all {
        inodes(bytes, seed);
    }
    let size = match half(bytes, SUPERBLOCK + 0xfe) {
        0 => 32,
        size => size.min(BLOCK),
    };
    put(bytes, DESCRIPTORS + 0x1e, &[0; 2]);
    let descriptor = bytes
        .get(DESCRIPTORS..DESCRIPTORS + size)
        .unwrap_or_default();
    let sum = match all {
        true => crc32c(crc32c(seed, &[0; 4]), descriptor) as u16,
        false => {
            let uuid = bytes
                .get(SUPERBLOCK + 0x68..SUPERBLOCK + 0x78)
                .unwrap_or_default();
            let head = crc16(
                crc16(crc16(!0, uuid), &[0; 4]),
                descriptor.get(..0x1e).unwrap_or_default(),
            );
            crc16(head, descriptor.get(0x20..).unwrap_or_default())
        }
    };
    put(bytes, DESCRIPTORS + 0x1e, &sum.to_le_bytes());
    if all {
        let sum = crc32c(
            !0,
            bytes
                .get(SUPERBLOCK..SUPERBLOCK + 0x3fc)
                .unwrap_or_default(),
        );
        put(bytes, SUPERBLOCK + 0x3fc, &sum.to_le_bytes());
    }
}

fn inodes(bytes: &mut [u8], seed: u32) {
    let table = word(bytes, DESCRIPTORS + 8).saturating_mul(BLOCK);
    let count = word(bytes, SUPERBLOCK + 0x28).min(64);
    let size = half(bytes, SUPERBLOCK + 0x58);
    if !(128..=BLOCK).contains(&size) {
        return;
    }
    for number in 1..=count {
        let at = table.saturating_add((number - 1) * size);
        let Some(inode) = bytes.get(at..at.saturating_add(size)).map(<[u8]>::to_vec) else {
            return;
        };
        let own = crc32c(seed, &(number as u32).to_le_bytes());
        let own = crc32c(own, inode.get(0x64..0x68).unwrap_or_default());
        let is_folder = half(&inode, 0) & 0xf000 == 0x4000;
        if word(&inode, 0x20) & 0x8_0000 != 0 {
            extents(bytes, own, &inode[0x28..0x64], is_folder, 0);
        }
        let wide = size > 128 && half(&inode, 0x80) >= 4;
        put(bytes, at + 0x7c, &[0; 2]);
        if wide {
            put(bytes, at + 0x82, &[0; 2]);
        }
        let sum = crc32c(own, bytes.get(at..at + size).unwrap_or_default()).to_le_bytes();
        put(bytes, at + 0x7c, &sum[..2]);
        if wide {
            put(bytes, at + 0x82, &sum[2..]);
        }
    }
}

/// The blocks below a node of an extent tree, and those of a folder.
fn extents(bytes: &mut [u8], seed: u32, node: &[u8], is_folder: bool, depth: u8) {
    let entries = half(node, 2).min(84);
    let is_leaf = half(node, 6) == 0;
    for entry in node
        .get(12..)
        .unwrap_or_default()
        .chunks_exact(12)
        .take(entries)
    {
        let start = match is_leaf {
            true => word(entry, 8),
            false => word(entry, 4),
        };
        let at = start.saturating_mul(BLOCK);
        let Some(block) = bytes.get(at..at.saturating_add(BLOCK)).map(<[u8]>::to_vec) else {
            continue;
        };
        if is_leaf && is_folder {
            let tail = BLOCK - 12;
            if block[tail..tail + 8] == [0, 0, 0, 0, 12, 0, 0, 0xde] {
                put(
                    bytes,
                    at + tail + 8,
                    &crc32c(seed, &block[..tail]).to_le_bytes(),
                );
            }
        }
        if !is_leaf && depth < 5 {
            extents(bytes, seed, &block, is_folder, depth + 1);
            let tail = 12 + 12 * half(&block, 4);
            if let Some(covered) = block.get(..tail) {
                let sum = crc32c(seed, covered).to_le_bytes();
                put(bytes, (at + tail).min(at + BLOCK - 4), &sum);
            }
        }
    }
}
