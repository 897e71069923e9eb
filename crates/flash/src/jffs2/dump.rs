//! Recognizing a NAND dump that carries the spare bytes of each page.

use super::error::Error;
use super::node::is_evidence;
use super::oob::{Oob, PAGES, SPARES, Stripped};
use super::walk::{Item, Walk, is_header};
use rawimage::ReadAt;
use rawimage::endian::Endian;

/// How much of an image is looked at.
const SAMPLE: usize = 512 * 1024;

impl Oob {
    /// Itself, if it is possible.
    ///
    /// # Errors
    /// [`Error::ImpossibleOob`].
    pub fn checked(self) -> Result<Self, Error> {
        let possible = (256..=65_536).contains(&self.page) && self.spare < self.page;
        if possible {
            Ok(self)
        } else {
            Err(Error::ImpossibleOob(self))
        }
    }

    /// Refuses a dump with spare bytes: what lies between nodes there is no damage.
    ///
    /// # Errors
    /// [`Error::SpareBytes`].
    pub fn refuse(image: &dyn ReadAt, endian: Endian) -> Result<(), Error> {
        match Self::detect(image, endian) {
            Some(oob) => Err(Error::SpareBytes(oob)),
            None => Ok(()),
        }
    }

    /// Finds the layout of a dump by trying all usual ones on the first bytes
    /// that hold nodes. `None` if it has no spare bytes, or nothing shows that
    /// it has: no good node lies across the end of a page.
    #[must_use]
    pub fn detect(image: &dyn ReadAt, endian: Endian) -> Option<Self> {
        let length = image.length().ok()?;
        let start = first_node(image, endian, length)?;
        let mut best = None;
        let end = length.min(start + SAMPLE as u64);
        let mut score = good_bytes(image, endian, start, end);
        for page in PAGES {
            for spare in SPARES {
                let oob = Self { page, spare };
                let stride = oob.stride();
                if spare * 2 > page || !length.is_multiple_of(stride) {
                    continue;
                }
                // The same bytes of the dump, so that the counts can be compared.
                let stripped = Stripped { image, oob };
                let page = u64::from(page);
                let (start, end) = (start / stride * page, end / stride * page);
                let found = good_bytes(&stripped, endian, start, end);
                if found > score {
                    (best, score) = (Some(oob), found);
                }
            }
        }
        best
    }
}

/// Where the first header is.
fn first_node(image: &dyn ReadAt, endian: Endian, length: u64) -> Option<u64> {
    let mut buffer = vec![0; SAMPLE];
    let mut at = 0;
    while at < length {
        let take = SAMPLE.min(usize::try_from(length - at).unwrap_or(SAMPLE));
        let window = &mut buffer[..take];
        // A bad block of a device is no reason to give up.
        if image.read_exact_at(at, window).is_ok() {
            let first = Walk::new(endian, window).find(is_header);
            if let Some(Item::Node(offset, _) | Item::Damaged(offset, _)) = first {
                return Some(at + offset as u64);
            }
        }
        at += take as u64;
    }
    None
}

/// How many bytes of good nodes there are in a part of an image. Under a wrong
/// layout, the checksums of nodes fail that lie across the end of a page.
fn good_bytes(image: &dyn ReadAt, endian: Endian, start: u64, end: u64) -> u64 {
    let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).unwrap_or(0)];
    if image.read_exact_at(start, &mut bytes).is_err() {
        return 0;
    }
    Walk::new(endian, &bytes)
        .map(|item| match item {
            Item::Node(_, node) if is_evidence(&node) => u64::from(node.length),
            _ => 0,
        })
        .sum()
}
