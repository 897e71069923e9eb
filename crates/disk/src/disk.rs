//! A whole disk with its partitions, or a filesystem on its own.

use crate::error::Error;
use crate::map::{Extent, Kind, Map, unmapped};
use crate::partitions::{self, Partition, Table};
use rawimage::Foreign;
use rawimage::Part;

/// Something that may hold a filesystem, and what is in it.
#[derive(Debug)]
pub struct Volume {
    /// The partition that it is; `None` if the whole image is it.
    pub partition: Option<u32>,
    /// Where it begins, bytes from the start of the image.
    pub start: u64,
    /// How many bytes.
    pub len: u64,
    /// Who owns what in it, or why that is not known.
    pub map: Result<Map, Error>,
}

/// An image: one volume, or several in partitions.
#[derive(Debug)]
pub struct Disk {
    /// The partition table, if there is one.
    pub table: Option<Table>,
    /// The partitions that it names.
    pub partitions: Vec<Partition>,
    /// In order of place.
    pub volumes: Vec<Volume>,
    /// What is doubtful in the table.
    pub notes: Vec<String>,
    /// Where the table itself lies.
    places: Vec<(u64, u64)>,
}

/// A piece of an image, and the volume that it is in.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'d> {
    /// What it is; it begins at a byte from the start of the image.
    pub extent: Extent,
    /// The volume that it lies in.
    pub volume: Option<&'d Volume>,
}

impl Disk {
    /// Maps an image: the filesystem in it, or those in its partitions. With
    /// `only`, the partition of that number is taken for the whole image.
    ///
    /// # Errors
    /// There is nothing that can be mapped, or reading fails.
    pub fn open(image: &Part<'_>, only: Option<u32>) -> Result<Self, Error> {
        let table = match partitions::gpt(image)? {
            Some(table) => Some(table),
            None if only.is_none() && looks_like(image)?.is_some() => None,
            None => partitions::mbr(image)?,
        };
        let Some(table) = table else {
            if let Some(number) = only {
                let there = "the image has no partition table, so pass none".to_owned();
                return Err(Error::NoPartition { number, there });
            }
            return Ok(Self::of_map(image.len(), filesystem(image)?));
        };
        if let Some(number) = only {
            let found = table.partitions.iter().find(|p| p.number == number);
            let Some(found) = found else {
                let all: Vec<String> = table
                    .partitions
                    .iter()
                    .map(|p| p.number.to_string())
                    .collect();
                let there = match all.as_slice() {
                    [] => "the partition table is empty".to_owned(),
                    all => format!("pass one of {}", all.join(", ")),
                };
                return Err(Error::NoPartition { number, there });
            };
            let part = image.part(found.start, found.len);
            return Ok(Self::of_map(part.len(), filesystem(&part)?));
        }
        let mut volumes = Vec::new();
        for partition in &table.partitions {
            let part = image.part(partition.start, partition.len);
            volumes.push(Volume {
                partition: Some(partition.number),
                start: partition.start,
                len: partition.len,
                map: filesystem(&part),
            });
        }
        volumes.sort_by_key(|v| v.start);
        let mut places = table.places;
        places.sort_unstable();
        Ok(Self {
            table: Some(table.table),
            partitions: table.partitions,
            volumes,
            notes: table.notes,
            places,
        })
    }

    /// A filesystem of `len` bytes on its own.
    #[must_use]
    pub fn of_map(len: u64, map: Map) -> Self {
        Self {
            table: None,
            partitions: Vec::new(),
            volumes: vec![Volume {
                partition: None,
                start: 0,
                len,
                map: Ok(map),
            }],
            notes: Vec::new(),
            places: Vec::new(),
        }
    }

    /// The volumes that could be mapped.
    pub fn maps(&self) -> impl Iterator<Item = (&Volume, &Map)> {
        let volumes = self.volumes.iter();
        volumes.filter_map(|v| Some((v, v.map.as_ref().ok()?)))
    }

    /// Calls `each` for the pieces of `len` bytes from `start` on, in order and
    /// without gaps.
    pub fn pieces<'d>(&'d self, start: u64, len: u64, each: &mut dyn FnMut(Piece<'d>)) {
        let end = start.saturating_add(len);
        let mut at = start;
        // Partitions that overlap are a damage: each byte is told of once.
        for volume in &self.volumes {
            if volume.start >= end || at >= end {
                break;
            }
            let volume_end = volume.start.saturating_add(volume.len);
            if volume_end <= at {
                continue;
            }
            if volume.start > at {
                self.outside(at, volume.start, each);
                at = volume.start;
            }
            let stop = volume_end.min(end);
            let (from, len) = (at - volume.start, stop - at);
            match &volume.map {
                Ok(map) => map.pieces(from, len, &mut |mut extent| {
                    extent.start = extent.start.saturating_add(volume.start);
                    each(Piece {
                        extent,
                        volume: Some(volume),
                    });
                }),
                Err(_) => each(Piece {
                    extent: unmapped(at, len),
                    volume: Some(volume),
                }),
            }
            at = stop;
        }
        if at < end {
            self.outside(at, end, each);
        }
    }

    /// What lies in no partition: the table itself, or nothing.
    fn outside<'d>(&'d self, start: u64, end: u64, each: &mut dyn FnMut(Piece<'d>)) {
        let mut at = start;
        let mut put = |extent: Extent| {
            if extent.len > 0 {
                each(Piece {
                    extent,
                    volume: None,
                });
            }
        };
        for (place, len) in &self.places {
            let from = (*place).max(at);
            let to = place.saturating_add(*len).min(end);
            if from >= to {
                continue;
            }
            put(unmapped(at, from - at));
            let mut extent = unmapped(from, to - from);
            extent.kind = Kind::PartitionTable;
            put(extent);
            at = to;
        }
        put(unmapped(at, end.saturating_sub(at)));
    }
}

/// The filesystem that an image begins with, by its magic numbers.
fn looks_like(volume: &Part<'_>) -> Result<Option<Foreign>, Error> {
    let head = volume.read(0, 4096)?;
    let found = Foreign::recognise(&head);
    let known = matches!(
        found,
        Foreign::Ext
            | Foreign::Squashfs
            | Foreign::Erofs
            | Foreign::Ubi
            | Foreign::Ubifs
            | Foreign::Cramfs
            | Foreign::Romfs
            | Foreign::Xfs
            | Foreign::F2fs
            | Foreign::Fat
            | Foreign::Exfat
            | Foreign::Ntfs
            | Foreign::Luks
            | Foreign::Lvm
    );
    Ok(known.then_some(found))
}

/// Maps the filesystem that a volume begins with.
fn filesystem(volume: &Part<'_>) -> Result<Map, Error> {
    // The superblock of btrfs lies at 64 KiB.
    let head = volume.read(0, 68 << 10)?;
    let not_yet = |what: &str| {
        Err(Error::NotYet {
            what: what.to_owned(),
        })
    };
    match Foreign::recognise(&head) {
        Foreign::Ext => super::ext::map(volume),
        Foreign::Squashfs => super::squashfs::map(volume),
        Foreign::Erofs => super::erofs::map(volume),
        Foreign::Fat => super::fat::map(volume),
        Foreign::Ubi | Foreign::Ubifs => not_yet("UBIFS (it moves its data on every write)"),
        Foreign::Cramfs => not_yet("cramfs"),
        Foreign::Romfs => not_yet("romfs"),
        Foreign::F2fs => not_yet("f2fs"),
        Foreign::Xfs => not_yet("xfs"),
        Foreign::Btrfs => not_yet("btrfs"),
        found => Err(Error::Unknown { at: 0, found }),
    }
}

/// What the filesystem that a volume begins with says of itself; `None` if it
/// is none that can be mapped.
///
/// # Errors
/// It is damaged in its superblock, or uses what cannot be read; and whatever
/// reading says.
pub fn facts(volume: &Part<'_>) -> Result<Option<super::Facts>, Error> {
    let head = volume.read(0, 4096)?;
    Ok(match Foreign::recognise(&head) {
        Foreign::Ext => Some(super::ext::facts(volume)?),
        Foreign::Squashfs => Some(super::squashfs::facts(volume)?),
        Foreign::Erofs => Some(super::erofs::facts(volume)?),
        Foreign::Fat => Some(super::fat::facts(volume)?),
        _ => None,
    })
}

/// The partitions of a disk; `None` if it has no table, or is a filesystem.
///
/// # Errors
/// Whatever reading says.
pub fn partitions(disk: &Part<'_>) -> Result<Option<(Table, Vec<Partition>)>, Error> {
    let table = match partitions::gpt(disk)? {
        Some(table) => Some(table),
        None if looks_like(disk)?.is_some() => None,
        None => partitions::mbr(disk)?,
    };
    Ok(table.map(|t| (t.table, t.partitions)))
}
