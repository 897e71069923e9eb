//! How an image is laid out: erase blocks, and perhaps spare bytes.

use super::error::Error;
use super::format::MOST_BLOCKS;
use super::header::{EC_MAGIC, Ec, HEADER, Read, Vid};
use crate::jffs2::{Oob, Spare};
use crate::transfer::TransferError;
use rawimage::Foreign;
use rawimage::ReadAt;
use std::collections::BTreeSet;

/// The smallest erase block that is looked for. Serial NOR chips have 4 KiB.
const SMALLEST: u64 = 2048;
/// The largest erase size that this program works with.
const LARGEST: u64 = 1 << 24;
/// How much of an image is searched.
const SEARCHED: u64 = 1 << 28;
/// So many headers are enough to know their distance.
const ENOUGH: usize = 256;
/// How much is read at a time.
const WINDOW: usize = 1 << 20;
/// Headers stand at multiples of this, with spare bytes or without.
const STEP: usize = 16;

/// How an image is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Size of an erase block, bytes of data.
    pub erase_size: u32,
    /// Where volume identifier headers are in a block.
    pub vid_offset: u32,
    /// Where data begins in a block.
    pub data_offset: u32,
    /// How spare bytes are laid out, if there are any.
    pub oob: Option<Oob>,
}

impl Layout {
    /// Bytes of data in a logical block.
    #[must_use]
    pub fn leb_size(&self) -> u32 {
        self.erase_size.saturating_sub(self.data_offset)
    }

    /// Finds out how an image is laid out, from the distance of its erase
    /// counter headers.
    ///
    /// # Errors
    /// There is none, or what they show is not possible.
    pub fn find(image: &dyn ReadAt, erase_size: Option<u32>, spare: Spare) -> Result<Self, Error> {
        let length = image.length().map_err(TransferError::Length)?;
        let headers = headers(image, length);
        let Some((_, first)) = headers.first() else {
            return Err(not_ubi(image, length));
        };
        let (vid_offset, data_offset) = (first.vid_offset, first.data_offset);
        let places: Vec<u64> = headers.iter().map(|(at, _)| *at).collect();
        let raw = distance(&places);
        let oob = match (spare, raw) {
            (Spare::Given(oob), _) => Some(oob),
            (Spare::Detect, Some(raw)) => find_oob(image, &headers, raw),
            (Spare::None | Spare::Detect, _) => None,
        };
        let found = match (raw, oob) {
            (Some(raw), Some(oob)) => Some(raw / oob.stride() * u64::from(oob.page)),
            (raw, None) => raw,
            (None, Some(_)) => None,
        };
        let found = found.and_then(|size| u32::try_from(size).ok());
        let erase_size = erase_size.or(found).ok_or(Error::UnknownEraseSize)?;
        let least = data_offset.saturating_add(HEADER as u32);
        let header_end = vid_offset.saturating_add(HEADER as u32);
        if erase_size < least
            || u64::from(erase_size) > LARGEST
            || header_end > data_offset
            || vid_offset < HEADER as u32
        {
            return Err(Error::ImpossibleEraseSize {
                given: erase_size,
                least,
            });
        }
        let data = oob.map_or(length, |oob| {
            length / oob.stride().max(1) * u64::from(oob.page)
        });
        let blocks = data / u64::from(erase_size);
        if blocks > MOST_BLOCKS {
            return Err(Error::TooManyBlocks { blocks });
        }
        Ok(Self {
            erase_size,
            vid_offset,
            data_offset,
            oob,
        })
    }
}

fn not_ubi(image: &dyn ReadAt, length: u64) -> Error {
    let mut head = vec![0; usize::try_from(length.min(1 << 18)).unwrap_or(0)];
    if let Err(source) = image.read_exact_at(0, &mut head) {
        let length = head.len();
        return TransferError::Read {
            offset: 0,
            length,
            source,
        }
        .into();
    }
    let looks = Foreign::recognise(&head);
    Error::NotUbi {
        length: length.min(SEARCHED),
        found: (looks != Foreign::Unknown).then_some(looks.name()),
    }
}

/// The first erase counter headers with right checksums, and where they are.
fn headers(image: &dyn ReadAt, length: u64) -> Vec<(u64, Ec)> {
    let mut found = Vec::new();
    let mut buffer = vec![0; WINDOW];
    let mut base = 0;
    let end = length.min(SEARCHED);
    while base < end && found.len() < ENOUGH {
        let take = WINDOW.min(usize::try_from(length - base).unwrap_or(WINDOW));
        let window = &mut buffer[..take];
        // A bad block of a device is no reason to give up.
        if image.read_exact_at(base, window).is_ok() {
            for (i, bytes) in window.chunks(STEP).enumerate() {
                if !bytes.starts_with(&EC_MAGIC) {
                    continue;
                }
                let at = i * STEP;
                let header = window.get(at..at + HEADER).map(Ec::parse);
                if let Some(Read::Good(header)) = header {
                    found.push((base + at as u64, header));
                }
            }
        }
        base += take as u64;
    }
    found.truncate(ENOUGH);
    found
}

/// The distance of the blocks' headers: the smallest at which most blocks have
/// one. Data may hold headers too, of another image, which are at no regular
/// distance from the first one.
fn distance(places: &[u64]) -> Option<u64> {
    let (first, last) = (*places.first()?, *places.last()?);
    let all: BTreeSet<u64> = places.iter().copied().collect();
    let possible: BTreeSet<u64> = places.iter().map(|at| at - first).collect();
    let mut possible = possible
        .into_iter()
        .filter(|d| (SMALLEST..=2 * LARGEST).contains(d));
    possible.find(|distance| {
        let blocks = (last - first) / distance + 1;
        if blocks > 2 * places.len() as u64 {
            return false;
        }
        let with = (0..blocks).filter(|n| all.contains(&(first + n * distance)));
        with.count() as u64 * 2 > blocks
    })
}

/// The layout of a dump with spare bytes. Blocks of a dump without them are at
/// a power of two from each other.
fn find_oob(image: &dyn ReadAt, headers: &[(u64, Ec)], distance: u64) -> Option<Oob> {
    if distance.is_power_of_two() {
        return None;
    }
    let is_vid = |at: u64| {
        let mut bytes = [0; HEADER];
        image.read_exact_at(at, &mut bytes).is_ok() && matches!(Vid::parse(&bytes), Read::Good(_))
    };
    let mut best = None;
    for page in crate::jffs2::oob::PAGES {
        for spare in crate::jffs2::oob::SPARES {
            let oob = Oob { page, spare };
            let stride = oob.stride();
            let pages = distance / stride;
            if !distance.is_multiple_of(stride) || !pages.is_power_of_two() || pages < 8 {
                continue;
            }
            // Identifier headers are found where the layout puts them.
            let found = headers.iter().take(64).filter(|(at, ec)| {
                let offset = u64::from(ec.vid_offset);
                let page = u64::from(page);
                is_vid(at + offset / page * stride + offset % page)
            });
            // A page is the smallest write, behind which data begins.
            let follows = headers.first().is_some_and(|(_, ec)| {
                let end = ec.vid_offset.saturating_add(HEADER as u32);
                end.checked_next_multiple_of(page) == Some(ec.data_offset)
            });
            let found = (found.count(), follows);
            if best.is_none_or(|(most, _)| found > most) {
                best = Some((found, oob));
            }
        }
    }
    best.map(|(_, oob)| oob)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_in_the_data_do_not_count() {
        let size = 131_072;
        let blocks = |n: u64| (0..n).map(|b| b * size);
        let plain: Vec<u64> = blocks(10).collect();
        assert_eq!(distance(&plain), Some(size));
        // An image in a volume: its headers begin behind those of each block.
        let mut nested: Vec<u64> = blocks(10).collect();
        nested.extend((0..20).map(|b| 4096 + b * 65_536));
        nested.sort_unstable();
        assert_eq!(distance(&nested), Some(size));
        // Some blocks are bad.
        let holes: Vec<u64> = blocks(20).filter(|at| at / size % 5 != 2).collect();
        assert_eq!(distance(&holes), Some(size));
        assert_eq!(distance(&[0]), None);
        assert_eq!(distance(&[]), None);
    }
}
