//! FAT12, FAT16 and FAT32, with long names.
//!
//! Format: Microsoft's "FAT32 File System Specification", version 1.03; where it leaves a
//! choice, as the kernel's `fs/fat` decides.

mod boot_sector;
mod directory;
mod table;
#[cfg(test)]
mod tests;

use crate::build::{Builder, Sharing};
use crate::error::Error;
use crate::map::{Inode, Kind, Map};
use boot_sector::{BootSector, Width};
use directory::{Entry, Listing};
use rawimage::Part;
use table::{Chain, Table};

/// What places are counted in, bytes: each size of a sector is a multiple of it.
const UNIT: u64 = 512;
/// The root directory has no entry of its own; this is its number here.
const ROOT: u32 = 1;
/// The longest directory that the specification allows: 65,536 entries of 32 bytes.
const LONGEST_DIRECTORY: u64 = 2 << 20;

/// What the boot sector, the table and the root say.
///
/// # Errors
/// It is damaged in its boot sector; and whatever reading says.
pub(super) fn facts(volume: &Part<'_>) -> Result<super::Facts, Error> {
    described(volume, &BootSector::read(volume)?)
}

fn described(volume: &Part<'_>, sector: &BootSector) -> Result<super::Facts, Error> {
    let mut table = Table::new(volume, sector);
    let free = match sector.width {
        Width::Bits32 => sector.stated_free(volume)?,
        Width::Bits12 | Width::Bits16 => Some(table.free()?),
    };
    let mut facts = sector.facts(free);
    let root = root_places(sector, &mut table)?;
    if let Some(label) = directory::list(volume, &root.places)?.label {
        facts.label = label;
    }
    Ok(facts)
}

/// Maps a FAT filesystem. It has no inodes: its files and directories are numbered in the
/// order in which they are found.
///
/// # Errors
/// It is damaged in its boot sector; and whatever reading says.
pub fn map(volume: &Part<'_>) -> Result<Map, Error> {
    let sector = BootSector::read(volume)?;
    let facts = described(volume, &sector)?;
    let mut table = Table::new(volume, &sector);
    // Each cluster is somebody's once, and what lies before them is four pieces.
    let most = u64::from(sector.clusters).saturating_add(3);
    let mut map = Builder::new(UNIT, ROOT, most);
    let units = |bytes: u64| bytes / UNIT;
    map.add(0, units(sector.table_start), Kind::BootBlock, 0, 0);
    let tables = sector.table_bytes.saturating_mul(sector.tables);
    map.add(
        units(sector.table_start),
        units(tables),
        Kind::AllocationTable,
        0,
        0,
    );
    let end = sector.data_start.saturating_add(sector.data_bytes());
    if end > volume.len() {
        map.note(format!(
            "the image is truncated: it has {} of {end} bytes",
            volume.len()
        ));
    }
    let mut next = ROOT;
    let mut open = vec![(ROOT, root_places(&sector, &mut table)?)];
    while let Some((number, chain)) = open.pop() {
        let places = chain.places.iter();
        let bytes = places.fold(0_u64, |sum, (_, len)| sum.saturating_add(*len));
        add(&mut map, number, Kind::Directory, bytes, &chain);
        let Listing {
            entries, damaged, ..
        } = directory::list(volume, &chain.places)?;
        if damaged > 0 {
            map.note(format!(
                "directory {number}: {damaged} names are damaged; the short names are shown"
            ));
        }
        for entry in entries {
            let Some(own) = next.checked_add(1) else {
                break;
            };
            next = own;
            let Entry {
                name,
                short,
                is_directory,
                first,
                size,
            } = entry;
            if !map.names.add(number, name.as_bytes(), own) {
                map.names.add(number, short.as_bytes(), own);
            }
            let most = if is_directory {
                LONGEST_DIRECTORY
            } else {
                u64::MAX
            };
            let chain = table.chain(sector.first(first), most)?;
            if is_directory {
                open.push((own, chain));
            } else {
                add(&mut map, own, Kind::File, size, &chain);
                if chain.bytes < size {
                    map.note(format!(
                        "{name} has {size} bytes, and only {} are found in the allocation table",
                        chain.bytes
                    ));
                }
            }
        }
    }
    let mut map = map.finish(facts, Sharing::Damage);
    map.block = sector.cluster_bytes;
    Ok(map)
}

/// The root: after the tables, or in clusters as any other directory.
fn root_places(sector: &BootSector, table: &mut Table<'_>) -> Result<Chain, Error> {
    match sector.root_cluster {
        Some(cluster) => table.chain(cluster, LONGEST_DIRECTORY),
        None => Ok(Chain {
            places: vec![(sector.root_start, sector.root_bytes)],
            bytes: sector.root_bytes,
            broken: None,
        }),
    }
}

/// An owner and its pieces.
fn add(map: &mut Builder, number: u32, kind: Kind, size: u64, chain: &Chain) {
    map.inodes.push(Inode { number, size, kind });
    let mut offset = 0;
    for (start, len) in &chain.places {
        map.add(start / UNIT, len / UNIT, kind, number, offset / UNIT);
        offset += len;
    }
    if let Some(why) = chain.broken {
        map.note(format!("number {number}: {why}"));
    }
}
