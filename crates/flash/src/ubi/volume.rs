//! The bytes of one volume.

use super::blocks::{Blocks, Leb, check_crc};
use super::header::VolumeType;
use super::table::{AUTORESIZE, Record, SKIP_CHECK};
use rawimage::ReadAt;
use std::io;

/// A volume: its logical blocks, one after the other. Blocks that are not there
/// read as 0xff.
pub struct Volume<'a> {
    image: &'a dyn ReadAt,
    blocks: &'a Blocks,
    lebs: &'a [Leb],
    /// Its number.
    pub id: u32,
    /// Its record in the volume table.
    pub record: &'a Record,
    /// Bytes in a logical block.
    pub leb_size: u32,
}

/// What checking a static volume found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaticCheck {
    /// Bytes of data that the volume says it has.
    pub bytes: u64,
    /// Logical blocks that are not there.
    pub missing: u32,
    /// Logical blocks whose data has a wrong checksum, or cannot be read.
    pub wrong: Vec<u32>,
}

impl<'a> Volume<'a> {
    /// The volume with this number and record; `image` has no spare bytes.
    #[must_use]
    pub fn new(image: &'a dyn ReadAt, blocks: &'a Blocks, id: u32, record: &'a Record) -> Self {
        let leb_size = blocks.layout.leb_size();
        Self {
            image,
            blocks,
            lebs: blocks.of_volume(id),
            id,
            record,
            leb_size: leb_size.saturating_sub(record.data_pad).max(1),
        }
    }

    /// The logical blocks that are there, by number.
    #[must_use]
    pub fn lebs(&self) -> &'a [Leb] {
        self.lebs
    }

    /// What it is for.
    #[must_use]
    pub fn kind(&self) -> VolumeType {
        self.record.kind().unwrap_or(VolumeType::Dynamic)
    }

    /// Whether it is resized when it is attached for the first time.
    #[must_use]
    pub fn is_autoresize(&self) -> bool {
        self.record.flags & AUTORESIZE != 0
    }

    /// Whether the kernel spares the check of a static volume.
    #[must_use]
    pub fn skips_check(&self) -> bool {
        self.record.flags & SKIP_CHECK != 0
    }

    /// How many logical blocks a static volume says that it has.
    #[must_use]
    pub fn used_blocks(&self) -> u32 {
        self.blocks.seen.get(&self.id).map_or(0, |s| s.used_blocks)
    }

    /// Checks the data of each logical block of a static volume. All of it is
    /// read, which is what the kernel does when the volume is opened for the
    /// first time after it was attached.
    #[must_use]
    pub fn check_static(&self) -> StaticCheck {
        let there = u32::try_from(self.lebs.len()).unwrap_or(u32::MAX);
        let mut done = StaticCheck {
            missing: self.used_blocks().saturating_sub(there),
            ..StaticCheck::default()
        };
        for leb in self.lebs {
            done.bytes += u64::from(leb.data_size);
            let good = check_crc(self.image, &self.blocks.layout, leb);
            if !good.unwrap_or(false) {
                done.wrong.push(leb.leb);
            }
        }
        done
    }

    /// Where a byte of the volume is in the image; `None` if its block is not
    /// there.
    #[must_use]
    pub fn place(&self, offset: u64) -> Option<u64> {
        let size = u64::from(self.leb_size);
        let number = u32::try_from(offset / size).ok()?;
        let found = self.lebs.binary_search_by_key(&number, |l| l.leb).ok()?;
        let block = u64::from(self.lebs.get(found)?.block);
        let layout = &self.blocks.layout;
        let start = block * u64::from(layout.erase_size) + u64::from(layout.data_offset);
        Some(start + offset % size)
    }
}

impl ReadAt for Volume<'_> {
    /// A static volume ends with its data, a dynamic one behind its last block.
    fn length(&self) -> io::Result<u64> {
        let size = u64::from(self.leb_size);
        let Some(last) = self.lebs.last() else {
            return Ok(0);
        };
        let before = u64::from(last.leb) * size;
        Ok(match self.kind() {
            VolumeType::Static => before + u64::from(last.data_size),
            VolumeType::Dynamic => before + size,
        })
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buf.len() as u64);
        if end.is_none_or(|end| self.length().is_ok_and(|length| end > length)) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let size = u64::from(self.leb_size);
        let (mut at, mut rest) = (offset, buf);
        while !rest.is_empty() {
            let room = usize::try_from(size - at % size).unwrap_or(usize::MAX);
            let take = rest.len().min(room);
            let (now, later) = rest.split_at_mut(take);
            match self.place(at) {
                Some(place) => self.image.read_exact_at(place, now)?,
                None => now.fill(0xff),
            }
            at += take as u64;
            rest = later;
        }
        Ok(())
    }
}
