//! An access list from bytes. Nothing in them is believed.

use super::{AccessList, Entry, Identity, KIND, MOST_BYTES, Range, RangeKind, VERSION, is_plain};
use crate::bytes::crc32;
use thiserror::Error;

/// Why a file is no access list that can be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ListError {
    /// It is something else.
    #[error(
        "not an access list (it does not begin with `{KIND}`); record one with `firstlight \
         prefetch record`"
    )]
    Another,
    /// A later program wrote it.
    #[error(
        "the access list has format version {found}, but this program supports versions up to \
         {VERSION}; use a newer program or record the list again"
    )]
    Newer {
        /// The version that it says.
        found: u32,
    },
    /// Bytes are missing, or there are more than it says.
    #[error(
        "the access list is truncated or has extra data: its header states {expected} bytes, but \
         {found} follow; copy it again"
    )]
    Length {
        /// As it says.
        expected: u64,
        /// As there are.
        found: u64,
    },
    /// The sum over its bytes is not the one that it says.
    #[error(
        "the access list is damaged: expected CRC {expected:08x}, found {found:08x}; copy it again"
    )]
    Damaged {
        /// As it says.
        expected: u32,
        /// As computed.
        found: u32,
    },
    /// A field cannot be.
    #[error("the access list is invalid at byte {at}: expected {expected}; record it again")]
    Wrong {
        /// Where, from the beginning of the file.
        at: u64,
        /// What should stand there.
        expected: &'static str,
    },
    /// A path leaves the root.
    #[error(
        "the access list is invalid at byte {at}: `{path}` is not a plain absolute path, so the \
         list is not used; record it again"
    )]
    Path {
        /// Where, from the beginning of the file.
        at: u64,
        /// The path.
        path: String,
    },
}

/// The list that `file` holds.
///
/// # Errors
/// If it is not one, is of a newer version, is cut short or damaged, or names a
/// path that leaves the root.
pub fn decode(file: &[u8]) -> Result<AccessList, ListError> {
    let start = file.strip_prefix(KIND.as_bytes());
    let start = start.and_then(|f| f.strip_prefix(b" "));
    let start = start.ok_or(ListError::Another)?;
    let digits = start.iter().take_while(|b| b.is_ascii_digit()).count();
    let (version, rest) = start.split_at_checked(digits).ok_or(ListError::Another)?;
    let rest = rest.strip_prefix(b"\n").ok_or(ListError::Another)?;
    let version = str::from_utf8(version).ok().and_then(|v| v.parse().ok());
    match version {
        Some(VERSION) => {}
        Some(found) if found > VERSION => return Err(ListError::Newer { found }),
        _ => return Err(ListError::Another),
    }
    let expected = |length: u64| ListError::Length {
        expected: length,
        found: rest.len() as u64,
    };
    let (length, rest_of) = word(rest).ok_or_else(|| expected(8))?;
    let (crc, body) = word(rest_of).ok_or_else(|| expected(8))?;
    if u64::from(length) != body.len() as u64 || body.len() > MOST_BYTES {
        return Err(ListError::Length {
            expected: length.into(),
            found: body.len() as u64,
        });
    }
    let found = crc32(body);
    if found != crc {
        return Err(ListError::Damaged {
            expected: crc,
            found,
        });
    }
    let mut cursor = Cursor {
        body,
        at: 0,
        before: (file.len() - body.len()) as u64,
    };
    cursor.list()
}

/// Four bytes, the lowest first, and what follows.
fn word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*word), rest))
}

struct Cursor<'a> {
    body: &'a [u8],
    at: usize,
    /// Where the body begins in the file.
    before: u64,
}

impl<'a> Cursor<'a> {
    fn wrong(&self, expected: &'static str) -> ListError {
        ListError::Wrong {
            at: self.before + self.at as u64,
            expected,
        }
    }

    fn number(&mut self) -> Result<u64, ListError> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.body.get(self.at).copied();
            let byte = byte.ok_or_else(|| self.wrong("a number"))?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(self.wrong("a number of at most 64 bits"));
            }
            n |= bits << shift;
            self.at += 1;
            if byte & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err(self.wrong("a number of at most 64 bits"))
    }

    fn small(&mut self) -> Result<u32, ListError> {
        let n = self.number()?;
        u32::try_from(n).map_err(|_| self.wrong("a number of at most 32 bits"))
    }

    /// How many of something follow, each of which takes at least `least` bytes:
    /// memory is only asked for what can be there.
    fn count(&mut self, least: usize) -> Result<usize, ListError> {
        let n = self.number()?;
        let left = self.body.len().saturating_sub(self.at);
        match usize::try_from(n) {
            Ok(n) if n <= left / least => Ok(n),
            _ => Err(self.wrong("at most as many items as remaining bytes")),
        }
    }

    fn bytes(&mut self) -> Result<&'a [u8], ListError> {
        let length = self.count(1)?;
        let end = self.at.saturating_add(length);
        let bytes = self.body.get(self.at..end);
        let bytes = bytes.ok_or_else(|| self.wrong("a text"))?;
        self.at = end;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<String, ListError> {
        let bytes = self.bytes()?;
        let text = str::from_utf8(bytes).map_err(|_| self.wrong("text in UTF-8"))?;
        Ok(text.to_owned())
    }

    fn list(&mut self) -> Result<AccessList, ListError> {
        let recordings = self.small()?;
        let shift = self.number()?;
        // Linux has pages from 4 KiB to 256 KiB.
        if !(9..=20).contains(&shift) || recordings == 0 {
            return Err(self.wrong("at least one recording and a page size of 512 bytes to 1 MiB"));
        }
        let mut list = AccessList {
            recordings,
            page_bytes: 1 << shift,
            machine: self.text()?,
            title: self.text()?,
            ..AccessList::default()
        };
        for _ in 0..self.count(1)? {
            list.programs.push(self.text()?);
        }
        list.directories = self.number()?;
        let entries = self.count(8)?;
        let mut before = (false, Vec::new());
        for _ in 0..entries {
            let entry = self.entry(&before.1, &list)?;
            let place = (entry.is_device(), entry.path.clone());
            if place <= before {
                return Err(self.wrong("entries sorted by path, devices last"));
            }
            before = place;
            list.entries.push(entry);
        }
        match self.at == self.body.len() {
            true => Ok(list),
            false => Err(self.wrong("the end")),
        }
    }

    fn entry(&mut self, before: &[u8], list: &AccessList) -> Result<Entry, ListError> {
        let at = self.before + self.at as u64;
        let shared = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let shared = before.get(..shared);
        let mut path = shared
            .ok_or_else(|| self.wrong("at most as many shared bytes as the previous path has"))?
            .to_vec();
        path.extend_from_slice(self.bytes()?);
        if !is_plain(&path) {
            let path = String::from_utf8_lossy(&path).into_owned();
            return Err(ListError::Path { at, path });
        }
        let identity = match self.number()? {
            0 => Identity::File {
                size: self.number()?,
                mtime_s: {
                    let folded = self.number()?;
                    (folded >> 1).cast_signed() ^ -(folded & 1).cast_signed()
                },
                mtime_ns: self.small()?,
                inode: self.number()?,
                generation: self.small()?,
            },
            1 => Identity::Device {
                size: self.number()?,
                kind: self.number()?,
                number: self.number()?,
            },
            _ => return Err(self.wrong("0 for a file or 1 for a device")),
        };
        let program = self.small()?;
        if !list.programs.is_empty() && program as usize >= list.programs.len() {
            return Err(self.wrong("the index of a program in the list"));
        }
        let first = self.number()?;
        let count = self.count(4)?;
        let mut ranges = Vec::with_capacity(count);
        let mut end = 0u64;
        for _ in 0..count {
            let page = end.checked_add(self.number()?);
            let length = self.number()?;
            let first_us = first.checked_add(self.number()?);
            let seen = self.small()?;
            let pages = length >> 1;
            let (Some(page), Some(first_us)) = (page, first_us) else {
                return Err(self.wrong("a range with an end"));
            };
            // All of it has to be below what a file offset can say.
            let bytes = page
                .checked_add(pages)
                .and_then(|e| e.checked_mul(u64::from(list.page_bytes)));
            if pages == 0 || bytes.is_none_or(|b| b > i64::MAX as u64) {
                return Err(self.wrong("a page range within the file size limit"));
            }
            if seen == 0 || seen > list.recordings {
                return Err(self.wrong("a range that occurs in 1 to all recordings"));
            }
            end = page + pages;
            ranges.push(Range {
                page,
                pages,
                first_us,
                seen,
                kind: match length & 1 {
                    0 => RangeKind::Around,
                    _ => RangeKind::Touched,
                },
            });
        }
        Ok(Entry {
            path,
            identity,
            program,
            ranges,
        })
    }
}
