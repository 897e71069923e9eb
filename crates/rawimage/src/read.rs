//! The only way in: reading bytes at an offset.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Something that bytes can be read from, at any offset: an image, a device, a
/// slice in a test.
pub trait ReadAt {
    /// The length in bytes.
    ///
    /// # Errors
    /// The device could not be asked.
    fn length(&self) -> io::Result<u64>;

    /// Fills all of `buf` from `offset` on.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] where the image ends before that, and
    /// whatever the device says.
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()>;
}

impl ReadAt for [u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|s| Some(s..s.checked_add(buf.len())?));
        match range.and_then(|r| self.get(r)) {
            Some(bytes) => {
                buf.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn length(&self) -> io::Result<u64> {
        (**self).length()
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        (**self).read_exact_at(offset, buf)
    }
}

impl ReadAt for File {
    fn length(&self) -> io::Result<u64> {
        let metadata = self.metadata()?;
        if metadata.is_file() {
            return Ok(metadata.len());
        }
        // A block or character device: its end is where seeking stops.
        use std::io::{Seek, SeekFrom};
        let mut file = self;
        file.seek(SeekFrom::End(0))
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        FileExt::read_exact_at(self, buf, offset)
    }
}

/// The part of something from a byte on.
pub struct From<'a> {
    /// The whole.
    pub image: &'a dyn ReadAt,
    /// Where the part begins.
    pub start: u64,
}

impl ReadAt for From<'_> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.image.length()?.saturating_sub(self.start))
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        match self.start.checked_add(offset) {
            Some(offset) => self.image.read_exact_at(offset, buf),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
