//! What a file is, of all that can be read here: boot images, flash and disks.

use ::disk::{Facts, Partition, Table};
use bootimage::info;
use flash::jffs2::detect;
use rawimage::{Endian, Foreign, Part};
use std::io;

/// JFFS2 is looked for in so much of an image.
const SEARCHED: u64 = 64 << 20;

/// Something recognised.
#[derive(Clone, Debug)]
pub struct Item {
    /// Where it begins, bytes from the start of the file.
    pub offset: u64,
    /// How many bytes it takes there.
    pub size: u64,
    /// What it is.
    pub kind: Kind,
    /// What is worth saying about it, a sentence each.
    pub notes: Vec<String>,
    /// What is in it, where it is not compressed.
    pub inside: Vec<Item>,
}

/// What something is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// What a boot loader reads, or what is only recognised.
    Boot(info::Kind),
    /// A JFFS2 filesystem.
    Jffs2 {
        /// Its byte order.
        endian: Endian,
        /// The size of an erase block, if the image shows it.
        erase_size: Option<u32>,
    },
    /// A filesystem of a disk.
    Filesystem(Facts),
    /// A disk with partitions.
    Disk(Table, Vec<Partition>),
}

impl Kind {
    /// The word used in every output.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Boot(kind) => kind.name(),
            Self::Jffs2 { .. } => "jffs2",
            Self::Filesystem(_) => "filesystem",
            Self::Disk(..) => "disk",
        }
    }

    /// As a boot image.
    #[must_use]
    pub const fn boot(&self) -> Option<&info::Kind> {
        match self {
            Self::Boot(kind) => Some(kind),
            _ => None,
        }
    }
}

/// What `image` is, in order of place; one item, but for environments. Each stream in
/// it may decompress to `limit` bytes.
///
/// # Errors
/// It is empty, or reading fails.
pub fn inspect(image: &Part<'_>, limit: u64) -> Result<Vec<Item>, info::Error> {
    let front = item(image, info::front(image, limit)?)?;
    let unknown = [Foreign::Unknown, Foreign::UbootEnvironment];
    if !matches!(&front.kind, Kind::Boot(info::Kind::Foreign(f)) if unknown.contains(f)) {
        return Ok(vec![front]);
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
    };
    match item.kind {
        // A damaged one; why, is in the notes.
        Kind::Boot(info::Kind::Foreign(Foreign::DeviceTree)) => {}
        Kind::Boot(info::Kind::Foreign(foreign)) => recognise(&part, foreign, &mut item)?,
        _ => {}
    }
    Ok(item)
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
            if let Ok(Some(facts)) = ::disk::facts(&inner) {
                item.inside.push(Item {
                    offset: item.offset.saturating_add(partition.start),
                    size: partition.len.min(part.len()),
                    kind: Kind::Filesystem(facts),
                    notes: Vec::new(),
                    inside: Vec::new(),
                });
            }
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
