//! NAND dumps that carry the spare bytes of each page ("OOB") with them.

use super::node::{header, kind};
use rawimage::ReadAt;
use rawimage::endian::Endian;
use std::io;

/// How a dump is laid out: after each page its spare bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Oob {
    /// Bytes of data in a page.
    pub page: u32,
    /// Spare bytes after each page.
    pub spare: u32,
}

/// Page sizes of NAND chips.
pub(crate) const PAGES: [u32; 7] = [2048, 512, 4096, 8192, 16384, 1024, 256];

/// Sizes of the spare area, from data sheets: 8 per 256 bytes on the first
/// chips, 16 per 512 for years, then whatever the error correction asks for.
pub(crate) const SPARES: [u32; 30] = [
    64, 16, 128, 224, 256, 8, 32, 96, 112, 192, 200, 208, 216, 218, 232, 376, 400, 432, 436, 448,
    512, 640, 744, 752, 1024, 1216, 1280, 1664, 1872, 2048,
];

impl Oob {
    /// Bytes of a page with its spare bytes.
    #[must_use]
    pub fn stride(self) -> u64 {
        u64::from(self.page) + u64::from(self.spare)
    }

    /// Where the factory marks a bad block in the spare bytes of its first or
    /// second page: byte 5 on pages of up to 512 bytes, else byte 0.
    #[must_use]
    pub fn bad_marker(self) -> u32 {
        if self.page <= 512 { 5 } else { 0 }
    }
}

/// A dump without its spare bytes.
pub struct Stripped<'a> {
    /// The dump.
    pub image: &'a dyn ReadAt,
    /// Its layout.
    pub oob: Oob,
}

impl Stripped<'_> {
    /// The spare bytes of a page; `None` past the end.
    ///
    /// # Errors
    /// What reading says.
    pub fn spare(&self, page: u64) -> io::Result<Option<Vec<u8>>> {
        let offset = page
            .checked_mul(self.oob.stride())
            .and_then(|o| o.checked_add(u64::from(self.oob.page)));
        let Some(offset) = offset else {
            return Ok(None);
        };
        let end = offset.checked_add(u64::from(self.oob.spare));
        if end.is_none_or(|end| self.image.length().is_ok_and(|l| end > l)) {
            return Ok(None);
        }
        let mut spare = vec![0; self.oob.spare as usize];
        self.image.read_exact_at(offset, &mut spare)?;
        Ok(Some(spare))
    }
}

impl ReadAt for Stripped<'_> {
    fn length(&self) -> io::Result<u64> {
        let pages = self.image.length()? / self.oob.stride().max(1);
        Ok(pages * u64::from(self.oob.page))
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let page = u64::from(self.oob.page);
        let stride = self.oob.stride();
        let Some(first) = offset.checked_div(page) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        // Whole pages at a time, with a bounded detour.
        let mut raw = vec![0; stride as usize * (64 * 1024 / page.max(1)).max(1) as usize];
        let mut skip = (offset - first * page) as usize;
        let mut at = first
            .checked_mul(stride)
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut rest = buf;
        while !rest.is_empty() {
            let pages = (skip + rest.len()).div_ceil(page as usize);
            // The last page is read without its spare bytes: a dump may end there.
            let want = pages * stride as usize - self.oob.spare as usize;
            let take = want.min(raw.len());
            let raw = &mut raw[..take];
            self.image.read_exact_at(at, raw)?;
            for piece in raw.chunks(stride as usize) {
                let data = piece.get(..page as usize).unwrap_or(piece);
                let data = data.get(skip..).unwrap_or_default();
                skip = 0;
                let count = data.len().min(rest.len());
                let (head, tail) = rest.split_at_mut(count);
                head.copy_from_slice(&data[..count]);
                rest = tail;
            }
            at = at.saturating_add(take as u64);
        }
        Ok(())
    }
}

/// Whether spare bytes hold the kernel's clean marker: a header of eight bytes,
/// without a checksum, wherever the error correction leaves room.
#[must_use]
pub fn has_cleanmarker(endian: Endian, spare: &[u8]) -> bool {
    let wanted = &header(endian, kind::CLEANMARKER, 8)[..8];
    spare.windows(8).any(|w| w == wanted)
}
