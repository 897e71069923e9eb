//! The checksums of images, put right after mutation, so that a reader does not stop at them.
//! None of this is the code of the rooms: a mistake there must not be repeated here.

/// CRC-32 of zlib, U-Boot, GPT and cramfs.
pub fn crc32(bytes: &[u8]) -> u32 {
    !reflected(0xedb8_8320, !0, bytes)
}

/// CRC-32C as ext4 and erofs take it: nothing is inverted, before or after.
pub fn crc32c(start: u32, bytes: &[u8]) -> u32 {
    reflected(0x82f6_3b78, start, bytes)
}

fn reflected(polynomial: u32, start: u32, bytes: &[u8]) -> u32 {
    let mut table = [0_u32; 16];
    for (n, place) in table.iter_mut().enumerate() {
        *place = (0..4).fold(n as u32, |r, _| {
            (r >> 1) ^ (polynomial & (r & 1).wrapping_neg())
        });
    }
    bytes.iter().fold(start, |sum, byte| {
        let sum = sum ^ u32::from(*byte);
        let sum = (sum >> 4) ^ table[(sum & 15) as usize];
        (sum >> 4) ^ table[(sum & 15) as usize]
    })
}

fn crc16(start: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(start, |sum, byte| {
        (0..8).fold(sum ^ u16::from(*byte), |r, _| {
            (r >> 1) ^ (0xa001 & (r & 1).wrapping_neg())
        })
    })
}

fn n16(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at..at + 2) {
        Some(two) => usize::from(u16::from_le_bytes([two[0], two[1]])),
        None => 0,
    }
}

fn n32(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at..at + 4) {
        Some(four) => u32::from_le_bytes([four[0], four[1], four[2], four[3]]) as usize,
        None => 0,
    }
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + what.len()) {
        place.copy_from_slice(what);
    }
}

/// No more groups, inodes or blocks of a directory than this are mended.
const MOST: usize = 64;

/// Of ext4: superblock, descriptors, bitmaps, inodes, and blocks of directories and of extent
/// trees, as `metadata_csum` or `uninit_bg` wants them.
pub fn ext(bytes: &mut [u8]) {
    const AT: usize = 1024;
    if n16(bytes, AT + 0x38) != 0xef53 {
        return;
    }
    let features = n32(bytes, AT + 0x64);
    let (sums, old_sums) = (features & 0x400 != 0, features & 0x10 != 0);
    let block = match n32(bytes, AT + 0x18) {
        shift @ 0..=6 => 1024 << shift,
        _ => return,
    };
    let uuid = bytes[AT + 0x68..AT + 0x78].to_vec();
    let seed = match n32(bytes, AT + 0x60) & 0x2000 {
        0 => crc32c(!0, &uuid),
        _ => n32(bytes, AT + 0x270) as u32,
    };
    let wide = n32(bytes, AT + 0x60) & 0x80 != 0;
    let each = match wide {
        true => n16(bytes, AT + 0xfe).clamp(32, 1024),
        false => 32,
    };
    let blocks_per_group = n32(bytes, AT + 0x20).max(1);
    let groups = n32(bytes, AT + 4).div_ceil(blocks_per_group).min(MOST);
    let inodes = n32(bytes, AT + 0x28);
    let first = n32(bytes, AT + 0x14);
    for group in 0..groups {
        let Some(at) = (first + 1)
            .checked_mul(block)
            .and_then(|at| at.checked_add(group * each))
            .filter(|at| at + each <= bytes.len())
        else {
            break;
        };
        if sums {
            let table = n32(bytes, at + 8).saturating_mul(block);
            for index in 0..inodes.min(MOST) {
                inode(bytes, seed, group * inodes + index + 1, table, index, block);
            }
            for (place, low, high, length) in
                [(0, 0x18, 0x38, blocks_per_group), (4, 0x1a, 0x3a, inodes)]
            {
                let start = n32(bytes, at + place).saturating_mul(block);
                let end = start.saturating_add((length / 8).min(block));
                let Some(bitmap) = bytes.get(start..end) else {
                    continue;
                };
                let [a, b, c, d] = crc32c(seed, bitmap).to_le_bytes();
                put(bytes, at + low, &[a, b]);
                if each >= 64 {
                    put(bytes, at + high, &[c, d]);
                }
            }
        }
        let number = (group as u32).to_le_bytes();
        let mut descriptor = bytes[at..at + each].to_vec();
        let sum = if sums {
            descriptor[0x1e..0x20].fill(0);
            crc32c(crc32c(seed, &number), &descriptor) as u16
        } else if old_sums {
            let sum = crc16(crc16(crc16(!0, &uuid), &number), &descriptor[..0x1e]);
            crc16(sum, &descriptor[0x20..])
        } else {
            continue;
        };
        put(bytes, at + 0x1e, &sum.to_le_bytes());
    }
    if sums && bytes.len() >= 2048 {
        let sum = crc32c(!0, &bytes[AT..AT + 0x3fc]);
        put(bytes, AT + 0x3fc, &sum.to_le_bytes());
    }
}

/// The sums of an inode, and of the blocks that it leads to.
fn inode(bytes: &mut [u8], seed: u32, number: usize, table: usize, index: usize, block: usize) {
    let size = n16(bytes, 1024 + 0x58).clamp(128, 1024);
    let Some(at) = table.checked_add(index * size) else {
        return;
    };
    let Some(whole) = bytes.get(at..at + size) else {
        return;
    };
    let whole = whole.to_vec();
    let own = crc32c(seed, &(number as u32).to_le_bytes());
    let own = crc32c(own, &whole[0x64..0x68]);
    let (has_extents, entries, depth) = (
        n32(&whole, 0x20) & 0x8_0000 != 0,
        n16(&whole, 0x2a).min(4),
        n16(&whole, 0x2e),
    );
    if has_extents {
        for entry in whole[0x34..0x64].chunks(12).take(entries) {
            if depth > 0 {
                let start = n32(entry, 4).saturating_mul(block);
                let end = start.saturating_add(block);
                if let Some(node) = bytes.get_mut(start..end) {
                    let tail = 12 + 12 * n16(node, 4);
                    if tail + 4 <= node.len() {
                        let sum = crc32c(own, &node[..tail]);
                        put(node, tail, &sum.to_le_bytes());
                    }
                }
            } else if n16(&whole, 0) >> 12 == 4 {
                for n in 0..n16(entry, 4).min(MOST) {
                    let start = (n32(entry, 8) + n).saturating_mul(block);
                    let end = start.saturating_add(block);
                    if let Some(node) = bytes.get_mut(start..end) {
                        let tail = block - 12;
                        if node[tail..tail + 8] == [0, 0, 0, 0, 12, 0, 0, 0xde] {
                            let sum = crc32c(own, &node[..tail]);
                            put(node, tail + 8, &sum.to_le_bytes());
                        }
                    }
                }
            }
        }
    }
    let mut zeroed = whole;
    let is_wide = size > 128 && n16(&zeroed, 0x80) >= 4;
    zeroed[0x7c..0x7e].fill(0);
    if is_wide {
        zeroed[0x82..0x84].fill(0);
    }
    let [a, b, c, d] = crc32c(own, &zeroed).to_le_bytes();
    put(bytes, at + 0x7c, &[a, b]);
    if is_wide {
        put(bytes, at + 0x82, &[c, d]);
    }
}

/// Of erofs: the block with the superblock, from there on.
pub fn erofs(bytes: &mut [u8]) {
    const AT: usize = 1024;
    if n32(bytes, AT) != 0xe0f5_e1e2 || n32(bytes, AT + 8) & 1 == 0 {
        return;
    }
    let block = match bytes[AT + 12] {
        bits @ 9..=16 => 1 << bits,
        _ => return,
    };
    let end = (AT / block * block + block).min(bytes.len());
    put(bytes, AT + 4, &[0; 4]);
    if AT < end {
        let sum = crc32c(!0, &bytes[AT..end]);
        put(bytes, AT + 4, &sum.to_le_bytes());
    }
}

/// Of cramfs: over all that its superblock says it has.
pub fn cramfs(bytes: &mut [u8]) {
    if n32(bytes, 0) != 0x28cd_3d45 {
        return;
    }
    let end = n32(bytes, 4).min(bytes.len());
    put(bytes, 32, &[0; 4]);
    if end >= 76 {
        let sum = crc32(&bytes[..end]);
        put(bytes, 32, &sum.to_le_bytes());
    }
}

/// Of a GPT in sectors of 512 bytes: the entries, then the header.
pub fn gpt(bytes: &mut [u8]) {
    const AT: usize = 512;
    if bytes.get(AT..AT + 8) != Some(b"EFI PART") {
        return;
    }
    let start = n32(bytes, AT + 72).saturating_mul(512);
    let length = n32(bytes, AT + 80).saturating_mul(n32(bytes, AT + 84));
    if let Some(entries) = start.checked_add(length).and_then(|e| bytes.get(start..e)) {
        let sum = crc32(entries);
        put(bytes, AT + 88, &sum.to_le_bytes());
    }
    put(bytes, AT + 16, &[0; 4]);
    if let Some(header) = bytes.get(AT..AT + n32(bytes, AT + 12).min(512)) {
        let sum = crc32(header);
        put(bytes, AT + 16, &sum.to_le_bytes());
    }
}

/// Of a legacy image of U-Boot: the data, then the header.
pub fn uimage(bytes: &mut [u8]) {
    if bytes.len() < 64 {
        return;
    }
    let stated = u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]) as usize;
    if let Some(data) = bytes[64..].get(..stated) {
        let sum = crc32(data);
        put(bytes, 24, &sum.to_be_bytes());
    }
    put(bytes, 4, &[0; 4]);
    let sum = crc32(&bytes[..64]);
    put(bytes, 4, &sum.to_be_bytes());
}
