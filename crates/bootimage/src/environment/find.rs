//! Finding environments in an image.
//!
//! Neither place nor size is stored. What shows an environment is its list of
//! `name=value` entries and a CRC-32 that fits some size. A size is believed if
//! it is
//!
//! - a multiple of 256 bytes, whatever the padding holds, or
//! - a multiple of 4 bytes, with one and the same byte as padding, or
//! - where that padding, or the image, ends.
//!
//! First all multiples of 512 bytes are looked at, where boot loaders keep
//! environments; if nothing is there, every place, within a bound on the work,
//! for environments that begin with a short entry and have even padding.

use super::copies::{Copy, Header};
use super::data::{Data, list_end};
use super::error::Error;
use rawimage::Endian;
use rawimage::bytes::{Part, be32, le32};

/// No environment is larger: 1 MiB. U-Boot keeps it in memory while it runs;
/// 256 KiB, an erase block of NOR flash, is the largest that is usual.
pub const LARGEST: u64 = 1 << 20;

/// So much of an image is looked at at a time, beside what may follow.
const WINDOW: u64 = 4 << 20;
/// Where boot loaders keep environments: the block size of a disk.
const ALIGNMENT: usize = 512;
/// No name is longer. That of `U-Boot` has no bound; real ones are below 40.
const LONGEST_NAME: usize = 64;
/// Where every place is looked at, the first entry is no longer than this.
const LONGEST_FIRST: usize = 4096;
/// How many bytes the search may look at again, for each byte of the image...
const WORK_PER_BYTE: u64 = 8;
/// ...and on top of that.
const WORK: u64 = 256 << 20;
/// Trying each size costs so much more a byte than a checksum of many.
const BYTEWISE: usize = 4;

/// Where to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: Option<u64>,
    pub(super) size: Option<u64>,
}

/// What a search found.
pub(super) struct Search {
    pub(super) copies: Vec<Copy>,
    /// The search ended here, for want of patience.
    pub(super) gave_up: Option<u64>,
}

/// How sizes are tried.
#[derive(Clone, Copy)]
struct Sizes {
    /// Only this one.
    only: Option<usize>,
    /// Whether multiples of 4 count: where the place is not certain either,
    /// they would let chance in.
    fine: bool,
}

/// Looks through an image.
pub(super) fn search(image: &Part<'_>, place: Place) -> Result<Search, Error> {
    let only = match place.size {
        Some(size) => Some(checked_size(size)?),
        None => None,
    };
    let work = image
        .len()
        .saturating_mul(WORK_PER_BYTE)
        .saturating_add(WORK);
    // Of a stated size the first pass may spend all on places that only look like one.
    let later = only.map_or(0, |_| work);
    let mut finder = Finder {
        sizes: Sizes { only, fine: true },
        work,
        copies: Vec::new(),
    };
    if let Some(offset) = place.offset {
        let bytes = read(image, offset, LARGEST)?;
        finder.try_at(&bytes, 0, offset);
        return Ok(finder.end(None));
    }
    let gave_up = finder.all(image, ALIGNMENT)?;
    if finder.copies.is_empty() {
        finder.sizes.fine = false;
        finder.work += later;
        let gave_up = finder.all(image, 1)?;
        return Ok(finder.end(gave_up));
    }
    Ok(finder.end(gave_up))
}

/// A size that an environment can have.
fn checked_size(size: u64) -> Result<usize, Error> {
    let possible = (8..=LARGEST).contains(&size);
    match usize::try_from(size) {
        Ok(size) if possible => Ok(size),
        _ => Err(Error::ImpossibleSize(size)),
    }
}

pub(super) fn read(image: &Part<'_>, offset: u64, most: u64) -> Result<Vec<u8>, Error> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    image
        .read(offset, most)
        .map_err(|source| Error::Read { offset, source })
}

struct Finder {
    sizes: Sizes,
    work: u64,
    copies: Vec<Copy>,
}

impl Finder {
    fn end(self, gave_up: Option<u64>) -> Search {
        Search {
            copies: self.copies,
            gave_up,
        }
    }

    /// Looks at all multiples of `step`.
    fn all(&mut self, image: &Part<'_>, step: usize) -> Result<Option<u64>, Error> {
        let mut start = 0;
        let mut skip_to = 0;
        while start < image.len() {
            let bytes = read(image, start, WINDOW + LARGEST)?;
            let end = bytes.len().min(usize::try_from(WINDOW).unwrap_or(0));
            let mut at = 0;
            while at < end {
                let offset = start + at as u64;
                if offset >= skip_to && is_candidate(&bytes, at) {
                    if self.work == 0 {
                        return Ok(Some(offset));
                    }
                    if let Some(size) = self.try_at(&bytes, at, offset) {
                        skip_to = offset + size;
                    }
                }
                at = match step {
                    1 => next_candidate(&bytes, at + 1).unwrap_or(end),
                    _ => at + step,
                };
            }
            start += WINDOW;
        }
        Ok(None)
    }

    /// Tries the environment whose header begins at `at`; its size, if there
    /// is one.
    fn try_at(&mut self, bytes: &[u8], at: usize, offset: u64) -> Option<u64> {
        let header = bytes.get(at..)?;
        let stored = [
            (Endian::Little, le32(header, 0)?),
            (Endian::Big, be32(header, 0)?),
        ];
        for begin in [4, 5] {
            let Some(size) = self.fits(header, begin, stored.map(|s| s.1)) else {
                continue;
            };
            let data = Data::new(header.get(begin..size)?.to_vec())?;
            let sum = crc32fast::hash(data.bytes());
            let (endian, crc) = stored.into_iter().find(|(_, crc)| *crc == sum)?;
            let flags = header.get(4).copied().filter(|_| begin == 5);
            self.copies.push(Copy {
                offset,
                size: size as u64,
                header: flags.map_or(Header::Plain, Header::Flags),
                endian: Some(endian),
                crc,
                data: Some(data),
            });
            return Some(size as u64);
        }
        None
    }

    /// The size whose checksum is stored, for data that begins at `begin`.
    fn fits(&mut self, header: &[u8], begin: usize, stored: [u32; 2]) -> Option<usize> {
        let most = header.len().min(usize::try_from(LARGEST).ok()?);
        let all = header.get(begin..most)?;
        // Each checksum of a stated size costs all of that size: where every place is
        // looked at, what cannot be an environment must not use up the work.
        let certain = self.sizes.only.is_some() && self.sizes.fine;
        if !certain && !(plausible(all) && (self.sizes.fine || is_text(all))) {
            return None;
        }
        if let Some(size) = self.sizes.only {
            let data = header.get(begin..size)?;
            self.spend(data.len());
            return stored.contains(&crc32fast::hash(data)).then_some(size);
        }
        let list = list_end(all);
        self.spend(list.unwrap_or(all.len()));
        let list = list?;
        let mut register = !crc32fast::hash(all.get(..list)?);
        let pad = all.get(list).copied();
        let mut uniform = true;
        for length in list.. {
            let size = begin + length;
            let next = all.get(length).copied();
            let ends = uniform && next.is_none_or(|n| Some(n) != pad || length == list);
            let believed = size.is_multiple_of(256)
                || uniform && self.sizes.fine && size.is_multiple_of(4)
                || ends;
            if believed && stored.contains(&!register) {
                return Some(size);
            }
            let Some(next) = next else { break };
            self.spend(BYTEWISE);
            uniform &= Some(next) == pad;
            // One place among many must have more to show for itself.
            if !uniform && !self.sizes.fine {
                break;
            }
            register = step(register, next);
        }
        None
    }

    fn spend(&mut self, work: usize) {
        self.work = self.work.saturating_sub(work as u64);
    }
}

/// One byte of a CRC-32, on the register before its final inversion.
fn step(register: u32, byte: u8) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let mut value = i as u32;
            let mut bit = 0;
            while bit < 8 {
                value = (value >> 1) ^ (0xedb8_8320 & (value & 1).wrapping_neg());
                bit += 1;
            }
            table[i] = value;
            i += 1;
        }
        table
    };
    let index = usize::from((register as u8) ^ byte);
    TABLE.get(index).copied().unwrap_or(0) ^ (register >> 8)
}

/// Whether the entries may begin here: a name and an equals sign.
fn plausible(data: &[u8]) -> bool {
    let name = data.iter().take(LONGEST_NAME + 1);
    let name = name.take_while(|b| is_name(**b)).count();
    (1..=LONGEST_NAME).contains(&name) && data.get(name) == Some(&b'=')
}

/// Whether the first entry is text, of a length that real ones have.
fn is_text(data: &[u8]) -> bool {
    let entry = data.iter().take(LONGEST_FIRST + 1);
    let is_text = |b: &&u8| **b >= b' ' || matches!(**b, b'\t' | b'\n' | b'\r');
    let length = entry.take_while(is_text).count();
    length <= LONGEST_FIRST && data.get(length) == Some(&0)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'='
}

fn is_candidate(bytes: &[u8], at: usize) -> bool {
    [4, 5].into_iter().any(|begin| {
        let data = bytes.get(at + begin..);
        data.is_some_and(plausible)
    })
}

/// The next place, from `from` on, where the header of an environment could
/// begin: before a name that has an equals sign behind it.
fn next_candidate(bytes: &[u8], from: usize) -> Option<usize> {
    let mut search = from + 4;
    loop {
        let equals = search + memchr::memchr(b'=', bytes.get(search..)?)?;
        let before = bytes.get(..equals)?;
        let name = before.iter().rev().take(LONGEST_NAME);
        let name = name.take_while(|b| is_name(**b)).count();
        // The name may begin anywhere in these bytes; its header has 5 or 4.
        let first = (equals - name).saturating_sub(5).max(from);
        if name > 0 && first + 5 <= equals {
            return Some(first);
        }
        search = equals + 1;
    }
}
