//! The boot sector: where everything lies.

use crate::error::Error;
use crate::facts::{Facts, State};
use rawimage::Part;
use rawimage::bytes::{le16, le32};

/// So many clusters or more, and an entry of the table has 16 bits (`MAX_FAT12`).
const FEWEST_16: u64 = 4085;
/// The largest table of 16 bits has so many entries (`MAX_FAT16`).
const MOST_16: u64 = TOO_MANY_16 - 1;
const TOO_MANY_16: u64 = 0xfff5;
/// The largest table of 32 bits has so many entries (`MAX_FAT32`).
const MOST_32: u64 = 0x0fff_fff6;

/// How many bits an entry of the table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Bits12,
    Bits16,
    Bits32,
}

/// Where everything lies, in bytes from the start of the filesystem.
#[derive(Clone, Debug)]
pub(super) struct BootSector {
    pub width: Width,
    pub cluster_bytes: u64,
    /// Where the first table begins.
    pub table_start: u64,
    pub table_bytes: u64,
    /// How many tables there are, each a copy of the first.
    pub tables: u64,
    /// The root directory of 12 and 16 bits.
    pub root_start: u64,
    pub root_bytes: u64,
    /// The first cluster of the root directory of 32 bits.
    pub root_cluster: Option<u32>,
    pub data_start: u64,
    /// How many clusters; they are numbered from 2 on.
    pub clusters: u32,
    total_bytes: u64,
    /// Where the count of free clusters is, with 32 bits.
    info: Option<u64>,
    label: String,
    serial: u32,
    is_dirty: bool,
}

impl BootSector {
    pub fn read(volume: &Part<'_>) -> Result<Self, Error> {
        let head = volume.read(0, 512)?;
        let n8 = |at: usize| u64::from(head.get(at).copied().unwrap_or(0));
        let n16 = |at| u64::from(le16(&head, at).unwrap_or(0));
        let n32 = |at| u64::from(le32(&head, at).unwrap_or(0));
        let sector = n16(11);
        if !matches!(sector, 512 | 1024 | 2048 | 4096) {
            return Err(Error::corrupt(11, format!("a sector of {sector} bytes")));
        }
        let per_cluster = n8(13);
        if !per_cluster.is_power_of_two() {
            return Err(Error::corrupt(
                13,
                format!("a cluster of {per_cluster} sectors, not a power of two"),
            ));
        }
        let (reserved, tables) = (n16(14), n8(16));
        if reserved == 0 || tables == 0 {
            return Err(Error::corrupt(
                14,
                format!(
                    "{reserved} reserved sectors and {tables} allocation tables, expected at least one of each"
                ),
            ));
        }
        let is_wide = n16(22) == 0;
        let of_table = if is_wide { n32(36) } else { n16(22) };
        let total = match n16(19) {
            0 => n32(32),
            total => total,
        };
        let root_sectors = (n16(17) * 32).div_ceil(sector);
        // No number here has more than 32 bits, so nothing overflows.
        let data = reserved + tables * of_table + root_sectors;
        let clusters = total.saturating_sub(data) / per_cluster;
        if of_table == 0 || clusters == 0 {
            return Err(Error::corrupt(
                19,
                format!("{total} sectors, of which {data} come before the first file"),
            ));
        }
        let width = match (is_wide, clusters) {
            (true, _) => Width::Bits32,
            (false, FEWEST_16..=MOST_16) => Width::Bits16,
            (false, TOO_MANY_16..) => {
                return Err(Error::corrupt(
                    19,
                    format!("{clusters} clusters, too many for a table of 16 bits"),
                ));
            }
            (false, _) => Width::Bits12,
        };
        let table_bytes = of_table * sector;
        let entries = match width {
            Width::Bits12 => table_bytes * 2 / 3,
            Width::Bits16 => table_bytes / 2,
            Width::Bits32 => table_bytes / 4,
        };
        let clusters = clusters.min(entries.saturating_sub(2)).min(MOST_32);
        // What is behind the boot parameters stands elsewhere with 32 bits.
        let more = if is_wide { 64 } else { 36 };
        let has_more = matches!(n8(more + 2), 0x28 | 0x29);
        let label = head
            .get(more + 7..more + 18)
            .filter(|_| n8(more + 2) == 0x29);
        let label = label.map(|l| String::from_utf8_lossy(l).trim_end().to_owned());
        Ok(Self {
            width,
            cluster_bytes: per_cluster * sector,
            table_start: reserved * sector,
            table_bytes,
            tables,
            root_start: (reserved + tables * of_table) * sector,
            root_bytes: root_sectors * sector,
            root_cluster: is_wide.then(|| le32(&head, 44).unwrap_or(0)),
            data_start: data * sector,
            clusters: u32::try_from(clusters).unwrap_or(u32::MAX),
            total_bytes: total * sector,
            info: is_wide.then(|| n16(48) * sector),
            label: label.filter(|l| l != "NO NAME").unwrap_or_default(),
            serial: if has_more {
                le32(&head, more + 3).unwrap_or(0)
            } else {
                0
            },
            is_dirty: n8(more + 1) & 1 != 0,
        })
    }

    /// The first cluster of a file: its upper half means something else in small tables.
    pub const fn first(&self, stated: u32) -> u32 {
        match self.width {
            Width::Bits32 => stated,
            Width::Bits12 | Width::Bits16 => stated & 0xffff,
        }
    }

    /// How many bytes all clusters have.
    pub fn data_bytes(&self) -> u64 {
        u64::from(self.clusters).saturating_mul(self.cluster_bytes)
    }

    /// Where a cluster begins; `None` if there is none of that number.
    pub fn place(&self, cluster: u32) -> Option<u64> {
        let index = cluster.checked_sub(2).filter(|i| *i < self.clusters)?;
        Some(self.data_start + u64::from(index) * self.cluster_bytes)
    }

    /// What is known of the filesystem; `free` clusters are free.
    pub fn facts(&self, free: Option<u64>) -> Facts {
        let filesystem = match self.width {
            Width::Bits12 => "FAT12",
            Width::Bits16 => "FAT16",
            Width::Bits32 => "FAT32",
        };
        let state = match self.is_dirty {
            true => State::NotClean,
            false => State::Clean,
        };
        // At most 128 sectors of 4 KiB.
        let cluster = u32::try_from(self.cluster_bytes).unwrap_or(u32::MAX);
        Facts {
            blocks: u64::from(self.clusters),
            free_blocks: free,
            label: self.label.clone(),
            uuid: (self.serial != 0)
                .then(|| format!("{:04X}-{:04X}", self.serial >> 16, self.serial & 0xffff)),
            ..Facts::bare(filesystem, self.total_bytes, cluster, state)
        }
    }

    /// The count of free clusters that stands beside a table of 32 bits, where it can be right.
    pub fn stated_free(&self, volume: &Part<'_>) -> Result<Option<u64>, Error> {
        let Some(at) = self.info else {
            return Ok(None);
        };
        let info = volume.read(at, 512)?;
        let signed = info.get(484..).is_some_and(|i| i.starts_with(b"rrAa"));
        let is_one = info.starts_with(b"RRaA") && signed;
        let free = le32(&info, 488).filter(|f| is_one && *f <= self.clusters);
        Ok(free.map(u64::from))
    }
}
