//! What lies behind a kernel in one file: firmware of OpenWrt is a kernel, a squashfs and
//! the beginning of a JFFS2, one after the other, and no table says where.

use crate::item::{Item, Kind};
use flash::jffs2::detect;
use memchr::memmem;
use rawimage::{Part, ReadAt};
use std::io;

/// A squashfs is looked for in so much of what follows, bytes.
const SEARCHED: u64 = 64 << 20;
/// A JFFS2 begins with an erase block, and so within this, bytes.
const LARGEST_BLOCK: u64 = 1 << 20;
/// Erase blocks begin at multiples of this, bytes.
const SMALLEST_BLOCK: u64 = 4096;
/// How much is read at a time, bytes.
const WINDOW: usize = 1 << 20;
/// The magic numbers of a squashfs, and of JFFS2 in both byte orders.
const SQUASHFS: &[u8] = b"hsqs";
const JFFS2: [[u8; 2]; 2] = [[0x85, 0x19], [0x19, 0x85]];

/// What follows `front` in `image`.
///
/// # Errors
/// Whatever reading says.
pub fn followers(image: &Part<'_>, front: &Item) -> io::Result<Vec<Item>> {
    let mut found = Vec::new();
    let root = match &front.kind {
        Kind::Filesystem(_) => Some((front.offset, front.kind.clone())),
        Kind::Boot(_) => squashfs(image, front.offset.saturating_add(front.size))?,
        _ => None,
    };
    let Some((at, Kind::Filesystem(facts))) = root else {
        return Ok(found);
    };
    let end = at.saturating_add(facts.bytes);
    if facts.filesystem != "squashfs" || end > image.len() {
        return Ok(found);
    }
    if at != front.offset {
        found.push(Item {
            offset: at,
            size: facts.bytes,
            kind: Kind::Filesystem(facts),
            notes: Vec::new(),
            inside: Vec::new(),
            files: Vec::new(),
            packed: None,
        });
    }
    found.extend(jffs2(image, end)?);
    Ok(found)
}

/// The first squashfs from a place on, with what it says of itself.
fn squashfs(image: &Part<'_>, from: u64) -> io::Result<Option<(u64, Kind)>> {
    let end = image.len().min(from.saturating_add(SEARCHED));
    let mut at = from;
    while at < end {
        // A magic number may lie across the end of a window.
        let window = image.read(at, WINDOW + SQUASHFS.len() - 1)?;
        for place in memmem::find_iter(&window, SQUASHFS) {
            let start = at.saturating_add(place as u64);
            if let Ok(Some(facts)) = disk::facts(&image.part(start, image.len() - start)) {
                return Ok(Some((start, Kind::Filesystem(facts))));
            }
        }
        at = at.saturating_add(WINDOW as u64);
    }
    Ok(None)
}

/// The JFFS2 whose first block begins behind `from`.
fn jffs2(image: &Part<'_>, from: u64) -> io::Result<Option<Item>> {
    let mut at = from.next_multiple_of(SMALLEST_BLOCK);
    let end = image.len().min(from.saturating_add(LARGEST_BLOCK));
    while at < end {
        let head = image.read(at, 2)?;
        if JFFS2.iter().any(|magic| head == magic) {
            let part = image.part(at, image.len() - at);
            if let Some(endian) = detect::endian(&part)? {
                let erase_size = detect::erase_size(&part, endian)?.map(|e| e.bytes);
                return Ok(Some(Item {
                    offset: at,
                    size: part.length()?,
                    kind: Kind::Jffs2 { endian, erase_size },
                    notes: Vec::new(),
                    inside: Vec::new(),
                    files: Vec::new(),
                    packed: None,
                }));
            }
        }
        at += SMALLEST_BLOCK;
    }
    Ok(None)
}
