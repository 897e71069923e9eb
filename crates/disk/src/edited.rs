//! An image with changes that are not written yet.

use rawimage::Part;
use rawimage::ReadAt;
use std::collections::BTreeMap;
use std::io;

/// A volume as it will be: what is changed is kept in memory, block by block, and read
/// from there.
pub struct Edited<'a> {
    volume: Part<'a>,
    block_size: usize,
    /// By the number of the block.
    blocks: BTreeMap<u64, Vec<u8>>,
}

impl<'a> Edited<'a> {
    /// `volume`, without a change yet; `block_size` in bytes is 1 at the least.
    #[must_use]
    pub fn new(volume: Part<'a>, block_size: u32) -> Self {
        Self {
            volume,
            block_size: block_size.max(1) as usize,
            blocks: BTreeMap::new(),
        }
    }

    /// Puts `bytes` at byte `at`.
    ///
    /// # Errors
    /// The volume ends before that, or cannot be read.
    pub fn put(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let size = self.block_size as u64;
        let end = at.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > self.volume.len()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut at = at;
        let mut rest = bytes;
        while !rest.is_empty() {
            let number = at / size;
            let within = usize::try_from(at % size).unwrap_or(0);
            let part = rest.len().min(self.block_size - within);
            let (now, later) = rest.split_at(part);
            let block = match self.blocks.entry(number) {
                std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(self.volume.read(number * size, self.block_size)?)
                }
            };
            if let Some(room) = block.get_mut(within..within + part) {
                room.copy_from_slice(now);
            }
            at += part as u64;
            rest = later;
        }
        Ok(())
    }

    /// What has to be written: places in bytes, and what goes there.
    pub fn changes(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let size = self.block_size as u64;
        self.blocks.iter().map(move |(n, b)| (n * size, &**b))
    }
}

impl ReadAt for Edited<'_> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.volume.len())
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.volume.read_exact_at(offset, buf)?;
        let size = self.block_size as u64;
        let end = offset.saturating_add(buf.len() as u64);
        for (number, block) in self.blocks.range(offset / size..end.div_ceil(size)) {
            let start = number * size;
            let from = start.max(offset);
            let until = (start + block.len() as u64).min(end);
            let within = |at: u64, base: u64| usize::try_from(at.saturating_sub(base)).ok();
            let (Some(a), Some(b)) = (within(from, start), within(until, start)) else {
                continue;
            };
            let (Some(to), Some(to_end)) = (within(from, offset), within(until, offset)) else {
                continue;
            };
            if let (Some(new), Some(room)) = (block.get(a..b), buf.get_mut(to..to_end)) {
                room.copy_from_slice(new);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::Edited;
    use proptest::prelude::*;
    use rawimage::Part;
    use rawimage::ReadAt;

    proptest! {
        #[test]
        fn it_reads_as_if_it_were_written(
            puts in prop::collection::vec((0..120u64, prop::collection::vec(any::<u8>(), 0..30)), 0..12),
            reads in prop::collection::vec((0..100u64, 0..40usize), 8),
        ) {
            let base: Vec<u8> = (0..100).collect();
            let slice = base.as_slice();
            let mut edited = Edited::new(Part::whole(&slice).unwrap(), 16);
            let mut written = base.clone();
            for (at, bytes) in &puts {
                let end = *at as usize + bytes.len();
                prop_assert_eq!(edited.put(*at, bytes).is_ok(), end <= 100);
                if end <= 100 {
                    written[*at as usize..end].copy_from_slice(bytes);
                }
            }
            for (at, len) in reads {
                let mut found = vec![0; len.min(100 - at as usize)];
                edited.read_exact_at(at, &mut found).unwrap();
                prop_assert_eq!(&found[..], &written[at as usize..at as usize + found.len()]);
            }
            let mut again = base.clone();
            for (at, bytes) in edited.changes() {
                again[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
            }
            prop_assert_eq!(again, written);
        }
    }
}
