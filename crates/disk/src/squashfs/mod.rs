//! squashfs 4.0.
//!
//! Format: the kernel's `fs/squashfs/squashfs_fs.h` and the description by
//! the squashfs-tools-ng project.

mod directory;
mod inode;
mod metadata;
mod superblock;
#[cfg(test)]
mod tests;

use crate::build::{Builder, Sharing};
use crate::error::Error;
use crate::map::{Inode as Known, Kind, Map};
use inode::{Content, Inode, NO_FRAGMENT};
use metadata::{Region, region, table_blocks};
use rawimage::Part;
use std::collections::HashMap;
use superblock::{NO_TABLE, Superblock};

/// A data block whose bytes lie as they are has this bit in its size.
const PLAIN: u32 = 1 << 24;
/// A fragment as it is listed: start, stored size.
type Fragment = (u64, u32);

/// What the superblock says.
///
/// # Errors
/// There is none, or it is damaged or uses what cannot be read.
pub(super) fn facts(volume: &Part<'_>) -> Result<super::Facts, Error> {
    Ok(Superblock::read(volume)?.facts)
}

/// Maps a squashfs.
///
/// # Errors
/// It is none, is damaged in its superblock or tables, or uses what cannot be
/// read; and whatever reading says.
pub fn map(volume: &Part<'_>) -> Result<Map, Error> {
    let sb = Superblock::read(volume)?;
    let inodes = region(volume, &sb, sb.inode_table, sb.directory_table)?;
    let directories = region(
        volume,
        &sb,
        sb.directory_table,
        sb.end_of_directories(volume)?,
    )?;
    // Each piece is told of by four bytes at least, in a table.
    let told = inodes.data.len() / 4 + 4096;
    let mut map = Builder::new(1, inodes.root_number(&sb), told as u64);
    map.add(0, superblock::SIZE, Kind::Superblock, 0, 0);
    let fragments = fragments(volume, &sb)?;
    tables(volume, &sb, &mut map, &inodes, &directories)?;
    let mut sharing: HashMap<u32, u32> = HashMap::new();
    let mut listed = Vec::new();
    let mut at = 0;
    let mut count = 0;
    while count < sb.inodes && at < inodes.data.len() {
        let Some((inode, length)) = Inode::read(&inodes.data, at, sb.block_size) else {
            map.note(format!(
                "the inode table is damaged at its byte {at}; the inodes after it are omitted"
            ));
            break;
        };
        take(
            &mut map,
            &inode,
            &fragments,
            &mut sharing,
            u64::from(sb.block_size),
        );
        if let Content::Directory { block, offset, len } = inode.content {
            listed.push((inode.number, block, offset, len));
        }
        at += length;
        count += 1;
    }
    place_fragments(&mut map, &fragments, &sharing);
    // No directory is told of twice in a sound image: together they are no
    // longer than their table.
    let mut left = directories.data.len();
    for (number, block, offset, len) in listed {
        let len = len as usize;
        if len > left {
            map.note("the directories are larger than their table");
            break;
        }
        left -= len;
        let start = directories.position(block, offset);
        let bytes = start.and_then(|s| directories.data.get(s..s.checked_add(len)?));
        let sound = bytes.is_some_and(|bytes| {
            directory::entries(bytes, &mut |inode, name| {
                map.names.add(number, name, inode);
            })
        });
        if !sound {
            map.note(format!("directory {number} is damaged"));
        }
    }
    let cut = inodes.cut || directories.cut;
    if cut || sb.facts.bytes > volume.len() {
        map.note(format!(
            "the image is truncated: it has {} of {} bytes or damaged",
            volume.len(),
            sb.facts.bytes
        ));
    }
    Ok(map.finish(sb.facts, Sharing::Usual))
}

/// The first byte of each fragment, and its stored size.
fn fragments(volume: &Part<'_>, sb: &Superblock) -> Result<Vec<Fragment>, Error> {
    if sb.fragments == 0 || sb.fragment_table == NO_TABLE {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    let bytes = table_blocks(volume, sb, sb.fragment_table, u64::from(sb.fragments) * 16)?;
    for entry in bytes.data.chunks_exact(16) {
        let start = rawimage::bytes::le64(entry, 0).unwrap_or(0);
        let size = rawimage::bytes::le32(entry, 8).unwrap_or(0);
        all.push((start, size));
    }
    Ok(all)
}

/// Adds the tables to the map.
fn tables(
    volume: &Part<'_>,
    sb: &Superblock,
    map: &mut Builder,
    inodes: &Region,
    directories: &Region,
) -> Result<(), Error> {
    let mut put = |start: u64, end: u64, kind| {
        if start < end {
            map.add(start, end - start, kind, 0, 0);
        }
    };
    if sb.has_options {
        put(
            superblock::SIZE,
            sb.data_start(volume)?,
            Kind::CompressorOptions,
        );
    }
    put(inodes.start, inodes.end, Kind::InodeTable);
    put(directories.start, directories.end, Kind::DirectoryTable);
    let lookups = [
        (
            sb.fragment_table,
            u64::from(sb.fragments) * 16,
            Kind::FragmentTable,
        ),
        (sb.export_table, u64::from(sb.inodes) * 8, Kind::ExportTable),
        (sb.id_table, u64::from(sb.ids) * 4, Kind::IdTable),
    ];
    for (table, bytes, kind) in lookups {
        if table == NO_TABLE || bytes == 0 {
            continue;
        }
        for (start, end) in metadata::places(volume, sb, table, bytes)? {
            put(start, end, kind);
        }
    }
    if sb.xattr_table != NO_TABLE {
        for (start, end) in metadata::xattr_places(volume, sb)? {
            put(start, end, Kind::Xattr);
        }
    }
    Ok(())
}

/// Adds an inode and its blocks.
fn take(
    map: &mut Builder,
    inode: &Inode<'_>,
    fragments: &[Fragment],
    sharing: &mut HashMap<u32, u32>,
    block_size: u64,
) {
    let kind = match &inode.content {
        Content::Directory { .. } => Kind::Directory,
        Content::Symlink(_) => Kind::Symlink,
        _ => Kind::File,
    };
    map.inodes.push(Known {
        number: inode.number,
        size: inode.size,
        kind,
    });
    match &inode.content {
        Content::Symlink(target) => map.names.add_target(inode.number, target),
        Content::File {
            start,
            sizes,
            fragment,
            fragment_offset,
        } => {
            let mut at = *start;
            let mut offset: u64 = 0;
            for size in sizes.chunks_exact(4) {
                let stored = rawimage::bytes::le32(size, 0).unwrap_or(0);
                let len = u64::from(stored & (PLAIN - 1));
                if len > 0 && stored & PLAIN != 0 {
                    map.add(at, len, Kind::File, inode.number, offset);
                } else if len > 0 {
                    map.add_packed(at, len, Kind::File, inode.number, offset);
                }
                at = at.saturating_add(len);
                offset = offset.saturating_add(block_size);
            }
            let listed = usize::try_from(*fragment)
                .ok()
                .filter(|_| *fragment != NO_FRAGMENT)
                .and_then(|f| fragments.get(f));
            if let Some((start, size)) = listed {
                let mut len = u64::from(size & (PLAIN - 1));
                let mut from = *start;
                if size & PLAIN != 0 {
                    // What is not packed lies at a place of its own.
                    from = from.saturating_add(u64::from(*fragment_offset));
                    len = inode.size.saturating_sub(offset).min(len);
                    map.add(from, len, Kind::File, inode.number, offset);
                } else {
                    map.share(from, len, inode.number, offset);
                    sharing
                        .entry(*fragment)
                        .and_modify(|owner| *owner = 0)
                        .or_insert(inode.number);
                }
            }
        }
        _ => {}
    }
}

/// Adds the fragments: the end of one file, or of several.
fn place_fragments(map: &mut Builder, fragments: &[Fragment], sharing: &HashMap<u32, u32>) {
    for (number, (start, size)) in (0_u32..).zip(fragments) {
        let len = u64::from(size & (PLAIN - 1));
        if len > 0 && size & PLAIN == 0 {
            let owner = sharing.get(&number).copied().unwrap_or(0);
            map.add_packed(*start, len, Kind::Fragment, owner, 0);
        }
    }
}
