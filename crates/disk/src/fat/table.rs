//! The file allocation table: which cluster follows which.

use super::boot_sector::{BootSector, Width};
use crate::error::Error;
use rawimage::Part;
use rawimage::bytes::{le16, le32};

/// So much of the table is read at a time, bytes.
const WINDOW: u64 = 4096;

/// The first table, and which clusters have been followed.
pub(super) struct Table<'a> {
    part: Part<'a>,
    sector: BootSector,
    /// A part of the table, and where it begins in it.
    window: Vec<u8>,
    window_start: u64,
    /// A bit for each cluster that is somebody's.
    taken: Vec<u64>,
}

/// Where something lies.
pub(super) struct Chain {
    /// Start and length of each piece, in bytes.
    pub places: Vec<(u64, u64)>,
    /// The length of all.
    pub bytes: u64,
    /// Why there is no more of it, if that is a damage.
    pub broken: Option<&'static str>,
}

/// What stands in the table for a cluster.
enum Next {
    Cluster(u32),
    End,
    Wrong,
}

impl<'a> Table<'a> {
    pub fn new(volume: &Part<'a>, sector: &BootSector) -> Self {
        Self {
            part: volume.part(sector.table_start, sector.table_bytes),
            sector: sector.clone(),
            window: Vec::new(),
            window_start: 0,
            taken: Vec::new(),
        }
    }

    /// The clusters from `first` on, as pieces of at most `most` bytes in all. None is
    /// followed twice, so that a circle ends, and so does whatever leads into another file.
    pub fn chain(&mut self, first: u32, most: u64) -> Result<Chain, Error> {
        let mut chain = Chain {
            places: Vec::new(),
            bytes: 0,
            broken: None,
        };
        let mut at = first;
        // What has no content has no cluster.
        while at != 0 {
            let Some(start) = self.sector.place(at) else {
                chain.broken = Some("its clusters lead out of the file system");
                break;
            };
            if !self.take(at) {
                chain.broken = Some("its clusters lead into a circle or into another file");
                break;
            }
            let len = self.sector.cluster_bytes;
            match chain.places.last_mut() {
                Some((from, so_far)) if *from + *so_far == start => *so_far += len,
                _ => chain.places.push((start, len)),
            }
            chain.bytes += len;
            if chain.bytes >= most {
                break;
            }
            at = match self.next(at)? {
                Next::Cluster(next) => next,
                Next::End => break,
                Next::Wrong => {
                    chain.broken = Some("its clusters end in one that is free or bad");
                    break;
                }
            };
        }
        Ok(chain)
    }

    /// How many clusters are free.
    pub fn free(&mut self) -> Result<u64, Error> {
        let mut free = 0;
        for cluster in 0..self.sector.clusters {
            if self.entry(cluster + 2)? == Some(0) {
                free += 1;
            }
        }
        Ok(free)
    }

    /// Whether nobody had this cluster.
    fn take(&mut self, cluster: u32) -> bool {
        let (word, bit) = (cluster as usize / 64, 1 << (cluster % 64));
        if self.taken.len() <= word {
            self.taken.resize(word + 1, 0);
        }
        match self.taken.get_mut(word) {
            Some(word) if *word & bit == 0 => {
                *word |= bit;
                true
            }
            _ => false,
        }
    }

    fn next(&mut self, cluster: u32) -> Result<Next, Error> {
        let last = match self.sector.width {
            Width::Bits12 => 0xff8,
            Width::Bits16 => 0xfff8,
            Width::Bits32 => 0x0fff_fff8,
        };
        Ok(match self.entry(cluster)? {
            Some(value) if value >= last => Next::End,
            // The one before stands for a bad cluster.
            Some(value) if value >= 2 && value < last - 1 => Next::Cluster(value),
            _ => Next::Wrong,
        })
    }

    /// `None` behind the end of the image.
    fn entry(&mut self, cluster: u32) -> Result<Option<u32>, Error> {
        let n = u64::from(cluster);
        Ok(match self.sector.width {
            Width::Bits12 => {
                let pair = self.bytes::<2>(n + n / 2)?;
                let pair = pair.and_then(|p| le16(&p, 0)).map(u32::from);
                pair.map(|p| if n % 2 == 0 { p & 0xfff } else { p >> 4 })
            }
            Width::Bits16 => {
                let bytes = self.bytes::<2>(n * 2)?;
                bytes.and_then(|b| le16(&b, 0)).map(u32::from)
            }
            Width::Bits32 => {
                let bytes = self.bytes::<4>(n * 4)?;
                bytes.and_then(|b| le32(&b, 0)).map(|v| v & 0x0fff_ffff)
            }
        })
    }

    fn bytes<const N: usize>(&mut self, at: u64) -> Result<Option<[u8; N]>, Error> {
        let end = self.window_start + self.window.len() as u64;
        if at < self.window_start || at + N as u64 > end {
            // An entry of 12 bits may begin with the last byte of a window.
            self.window_start = at;
            self.window = self.part.read(at, WINDOW as usize)?;
        }
        let skipped = usize::try_from(at - self.window_start).unwrap_or(usize::MAX);
        let bytes = self.window.get(skipped..).unwrap_or_default();
        Ok(bytes.first_chunk::<N>().copied())
    }
}
