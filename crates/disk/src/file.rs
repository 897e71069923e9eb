//! The content of a file, put together from its pieces.

use crate::map::{Kind, Map};
use rawimage::{Part, ReadAt};
use std::io;

/// The content of a file in a volume, as it would be read.
pub struct File<'a> {
    volume: Part<'a>,
    /// Where in the file, where in the volume, and how many bytes: in order.
    pieces: Vec<(u64, u64, u64)>,
    bytes: u64,
}

impl<'a> File<'a> {
    /// The file with that number in the map of `volume`; `None` if it is no file, or if its
    /// content is packed, has holes or is not in blocks of its own.
    #[must_use]
    pub fn open(volume: Part<'a>, map: &Map, number: u32) -> Option<Self> {
        let inode = map.inode(number).filter(|i| i.kind == Kind::File)?;
        let mut pieces = Vec::new();
        let mut end = 0;
        for piece in map.extents_of(&[number]).pop()? {
            if piece.is_packed || piece.offset != Some(end) {
                return None;
            }
            pieces.push((end, piece.start, piece.len));
            end = end.saturating_add(piece.len);
        }
        (end >= inode.size).then_some(Self {
            volume,
            pieces,
            bytes: inode.size,
        })
    }

    /// Where its first byte lies in the volume; `None` of an empty one.
    #[must_use]
    pub fn start(&self) -> Option<u64> {
        self.pieces.first().map(|(_, start, _)| *start)
    }
}

impl ReadAt for File<'_> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.bytes)
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buf.len() as u64);
        let Some(end) = end.filter(|end| *end <= self.bytes) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let first = self
            .pieces
            .partition_point(|(at, _, len)| at.saturating_add(*len) <= offset);
        for (at, start, len) in self.pieces.get(first..).unwrap_or_default() {
            let (from, to) = ((*at).max(offset), at.saturating_add(*len).min(end));
            if from >= to {
                break;
            }
            let place = |n: u64| usize::try_from(n - offset).ok();
            let into = place(from)
                .zip(place(to))
                .and_then(|(f, t)| buf.get_mut(f..t));
            if let Some(into) = into {
                self.volume
                    .read_exact_at(start.saturating_add(from - at), into)?;
            }
        }
        Ok(())
    }
}
