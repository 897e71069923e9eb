//! Numbers at an offset, parts of an image, and reading through one.

use crate::ReadAt;
use std::io::{self, BufRead, Read};

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

/// A little-endian number at `at`; `None` behind the end.
pub fn le16(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

/// A little-endian number at `at`; `None` behind the end.
pub fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

/// A little-endian number at `at`; `None` behind the end.
pub fn le64(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// A big-endian number at `at`; `None` behind the end.
pub fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_be_bytes)
}

/// A big-endian number at `at`; `None` behind the end.
pub fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

/// A big-endian number at `at`; `None` behind the end.
pub fn be64(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_be_bytes)
}

/// Text up to the first NUL, or all of it.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

/// A part of an image, seen as an image of its own.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    image: &'a dyn ReadAt,
    start: u64,
    length: u64,
}

impl<'a> Part<'a> {
    /// The whole of an image.
    ///
    /// # Errors
    /// Its length cannot be found out.
    pub fn whole(image: &'a dyn ReadAt) -> io::Result<Self> {
        Ok(Self {
            image,
            start: 0,
            length: image.length()?,
        })
    }

    /// `length` bytes from `start` on; less where this part ends before.
    #[must_use]
    pub fn part(&self, start: u64, length: u64) -> Self {
        let start = start.min(self.length);
        Self {
            image: self.image,
            start: self.start + start,
            length: length.min(self.length - start),
        }
    }

    /// What begins at `start`.
    #[must_use]
    pub fn from(&self, start: u64) -> Self {
        self.part(start, u64::MAX)
    }

    /// How many bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// At most `most` bytes from `start` on, less at the end.
    ///
    /// # Errors
    /// What reading says.
    pub fn read(&self, start: u64, most: usize) -> io::Result<Vec<u8>> {
        let there = self.length.saturating_sub(start);
        let take = usize::try_from(there).unwrap_or(most).min(most);
        if take == 0 {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; take];
        self.image
            .read_exact_at(self.start.saturating_add(start), &mut bytes)?;
        Ok(bytes)
    }

    /// The bytes in order, a piece at a time.
    #[must_use]
    pub fn cursor(&self) -> Cursor<'a> {
        Cursor {
            part: *self,
            position: 0,
            buffer: Vec::new(),
            used: 0,
        }
    }
}

impl ReadAt for Part<'_> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buf.len() as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.image.read_exact_at(self.start + offset, buf)
    }
}

/// How much is read at a time.
const PIECE: usize = 1 << 16;

/// Reads a part from its front, and knows exactly how far it came.
pub struct Cursor<'a> {
    part: Part<'a>,
    /// Where the buffer ends in the part.
    position: u64,
    buffer: Vec<u8>,
    used: usize,
}

impl Cursor<'_> {
    /// How many bytes were taken.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position - (self.buffer.len() - self.used) as u64
    }

    /// The next `N` bytes, without taking them; `None` if there are less.
    ///
    /// # Errors
    /// What reading says.
    pub fn peek<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        if self.buffer.len() - self.used < N {
            let here = self.position();
            self.buffer = self.part.read(here, PIECE)?;
            self.position = here + self.buffer.len() as u64;
            self.used = 0;
        }
        let rest = self.buffer.get(self.used..).unwrap_or_default();
        Ok(rest.first_chunk::<N>().copied())
    }
}

impl BufRead for Cursor<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.used >= self.buffer.len() {
            self.buffer = self.part.read(self.position, PIECE)?;
            self.position += self.buffer.len() as u64;
            self.used = 0;
        }
        Ok(self.buffer.get(self.used..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.used = self.used.saturating_add(amount).min(self.buffer.len());
    }
}

impl Read for Cursor<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let there = self.fill_buf()?;
        let take = there.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..take), there.get(..take)) {
            to.copy_from_slice(from);
        }
        self.consume(take);
        Ok(take)
    }
}

/// Fills as much of `buf` as there is; less only at the end.
pub fn read_full(reader: &mut dyn Read, buf: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buf.get_mut(done..).filter(|r| !r.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_ends_where_it_ends() {
        let bytes: Vec<u8> = (0..200_u8).collect();
        let image = bytes.as_slice();
        let whole = Part::whole(&image).unwrap();
        let part = whole.part(10, 20);
        assert_eq!(part.read(15, 100).unwrap(), [25, 26, 27, 28, 29]);
        assert!(part.read_exact_at(18, &mut [0; 3]).is_err());
        assert_eq!(whole.part(190, 100).len(), 10);
        assert_eq!(whole.from(500).len(), 0);
        let mut cursor = part.cursor();
        let mut three = [0; 3];
        cursor.read_exact(&mut three).unwrap();
        assert_eq!((three, cursor.position()), ([10, 11, 12], 3));
        let mut rest = Vec::new();
        cursor.read_to_end(&mut rest).unwrap();
        assert_eq!((rest.len(), cursor.position()), (17, 20));
    }
}
