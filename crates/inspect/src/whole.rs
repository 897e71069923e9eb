//! What a file is, of all that can be read here: boot images, flash and disks.

use crate::boot_partition;
use crate::followers::followers;
pub use crate::item::{BootFile, Item, Kind, Role};
use bootimage::info;
use flash::jffs2::detect;
use rawimage::bytes::read_full;
use rawimage::compression::{Compression, Decoder};
use rawimage::{Foreign, Part};
use std::io;

/// JFFS2 is looked for in so much of an image.
const SEARCHED: u64 = 64 << 20;

/// So much of a partition says what it is, bytes: the magic number of btrfs and
/// reiserfs lies behind 64 KiB.
const RECOGNISED: usize = 68 << 10;

/// What `image` is, in order of place; one item, but for environments. Each stream in
/// it may decompress to `limit` bytes.
///
/// # Errors
/// It is empty, or reading fails.
pub fn inspect(image: &Part<'_>, limit: u64) -> Result<Vec<Item>, info::Error> {
    let front = item(image, info::front(image, limit)?)?;
    let unknown = [Foreign::Unknown, Foreign::UbootEnvironment];
    if !matches!(&front.kind, Kind::Boot(info::Kind::Foreign(f)) if unknown.contains(f)) {
        let behind = followers(image, &front)?;
        return Ok([vec![front], behind].concat());
    }
    // What has no magic number at its front.
    let found = info::search(image)?.into_iter().map(|i| item(image, i));
    let found: Vec<Item> = found.collect::<io::Result<_>>()?;
    Ok(if found.is_empty() { vec![front] } else { found })
}

/// An item of `image`, and what is in it, with what disks and flash know of them.
fn item(image: &Part<'_>, found: info::Item) -> io::Result<Item> {
    let part = image.part(found.offset, found.size);
    let inside = found.inside.into_iter().map(|i| item(image, i));
    let mut item = Item {
        offset: found.offset,
        size: found.size,
        inside: inside.collect::<io::Result<_>>()?,
        kind: Kind::Boot(found.kind),
        notes: found.notes,
        files: Vec::new(),
        packed: None,
    };
    match item.kind {
        // A damaged one; why, is in the notes.
        Kind::Boot(info::Kind::Foreign(Foreign::DeviceTree)) => {}
        Kind::Boot(info::Kind::Foreign(foreign)) => recognise(&part, foreign, &mut item)?,
        Kind::Boot(info::Kind::Packed(ref payload)) if payload.content.banner.is_none() => {
            item.packed = packed(&part, payload.compression);
        }
        _ => {}
    }
    Ok(item)
}

/// What packed data is, by its front: `an ext4 filesystem`.
fn packed(part: &Part<'_>, compression: Compression) -> Option<String> {
    let mut front = vec![0; RECOGNISED];
    let mut decoder = Decoder::new(compression, part, u64::MAX).ok()?;
    let there = read_full(&mut decoder, &mut front).ok()?;
    let front = front.get(..there)?;
    let part = Part::whole(&front).ok()?;
    if let Ok(Some(facts)) = ::disk::facts(&part) {
        let name = facts.filesystem;
        let article = if name.starts_with('e') { "an" } else { "a" };
        return Some(format!("{article} {name} filesystem"));
    }
    if let Ok(Some((table, _))) = ::disk::partitions(&part) {
        return Some(format!("a disk with a partition table ({})", table.name()));
    }
    match Foreign::recognise(front) {
        Foreign::Unknown | Foreign::Zeros => None,
        foreign => Some(foreign.name().to_owned()),
    }
}

/// The files of a FAT that say how a system boots: boot loaders read no other filesystem as
/// often.
fn boot_files(part: &Part<'_>, facts: &::disk::Facts) -> Vec<BootFile> {
    let map = facts
        .is_fat()
        .then(|| ::disk::fat::map(part).ok())
        .flatten();
    map.map_or_else(Vec::new, |map| boot_partition::files(part, &map))
}

/// What a boot loader does not read: a filesystem, a disk, JFFS2.
fn recognise(part: &Part<'_>, foreign: Foreign, item: &mut Item) -> io::Result<()> {
    match ::disk::facts(part) {
        Ok(Some(facts)) => {
            if facts.bytes > part.len() {
                item.notes.push(format!(
                    "The filesystem has {} bytes, and the image only {}: it is cut short.",
                    facts.bytes,
                    part.len()
                ));
            }
            item.files = boot_files(part, &facts);
            item.kind = Kind::Filesystem(facts);
            return Ok(());
        }
        Ok(None) => {}
        Err(e) => {
            item.notes.push(format!("{e}."));
            return Ok(());
        }
    }
    if let Ok(Some((table, partitions))) = ::disk::partitions(part) {
        for partition in &partitions {
            let inner = part.part(partition.start, partition.len);
            let mut files = Vec::new();
            let kind = match ::disk::facts(&inner) {
                Ok(Some(facts)) => {
                    files = boot_files(&inner, &facts);
                    Kind::Filesystem(facts)
                }
                Ok(None) => match Foreign::recognise(&inner.read(0, RECOGNISED)?) {
                    Foreign::Unknown | Foreign::Zeros => continue,
                    // What cannot be looked into still has a name.
                    foreign => Kind::Boot(info::Kind::Foreign(foreign)),
                },
                Err(_) => continue,
            };
            item.inside.push(Item {
                offset: item.offset.saturating_add(partition.start),
                size: partition.len.min(part.len()),
                kind,
                notes: Vec::new(),
                inside: Vec::new(),
                files,
                packed: None,
            });
        }
        item.kind = Kind::Disk(table, partitions);
        return Ok(());
    }
    if foreign == Foreign::Unknown {
        let front = part.part(0, SEARCHED);
        if let Some(endian) = detect::endian(&front)? {
            let erase_size = detect::erase_size(&front, endian)?.map(|e| e.bytes);
            item.kind = Kind::Jffs2 { endian, erase_size };
        }
    }
    Ok(())
}
