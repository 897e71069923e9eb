//! Logical erase blocks.

use rawimage::ReadAt;
use std::io;

/// The logical blocks that a filesystem is in: a volume of UBI, or a file that
/// `mkfs.ubifs` wrote. What lies past the end reads as erased.
#[derive(Clone, Copy)]
pub struct Lebs<'a> {
    image: &'a dyn ReadAt,
    /// Bytes in a block.
    pub leb_size: u32,
    length: u64,
}

impl<'a> Lebs<'a> {
    /// Blocks of `leb_size` bytes.
    ///
    /// # Errors
    /// The length cannot be read.
    pub fn new(image: &'a dyn ReadAt, leb_size: u32) -> io::Result<Self> {
        Ok(Self {
            image,
            leb_size,
            length: image.length()?,
        })
    }

    /// How many blocks there are, the last one perhaps in part.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.length.div_ceil(u64::from(self.leb_size.max(1)))
    }

    /// Bytes in all of them.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Fills all of `buf` from a place in a block on.
    ///
    /// # Errors
    /// What reading says, or [`io::ErrorKind::InvalidInput`] if that is more
    /// than the block has.
    pub fn read(&self, number: u32, offset: u32, buf: &mut [u8]) -> io::Result<()> {
        let end = (offset as usize).checked_add(buf.len());
        if end.is_none_or(|end| end > self.leb_size as usize) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let start = u64::from(number) * u64::from(self.leb_size) + u64::from(offset);
        let there = self.length.saturating_sub(start).min(buf.len() as u64);
        let (data, past) = buf.split_at_mut(usize::try_from(there).unwrap_or(0));
        past.fill(0xff);
        if data.is_empty() {
            return Ok(());
        }
        self.image.read_exact_at(start, data)
    }
}
