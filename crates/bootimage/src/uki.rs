//! Unified kernel images: EFI programs that hold a kernel and its command line as sections.
//!
//! Layout: "PE Format", COFF file header and section table. The section `.cmdline` is named by
//! the UAPI group's specification of unified kernel images. `systemd-stub` reads as many bytes
//! of it as its virtual size says.

use rawimage::bytes::{Part, le16, le32};
use std::io;
use std::ops::Range;

/// A section that a unified kernel image has, besides its command line.
const KERNEL: &[u8] = b".linux";

const CMDLINE: &[u8] = b".cmdline";

/// An entry of the section table, in bytes.
const ENTRY: usize = 40;

/// More sections than this are no program's.
const MOST_SECTIONS: usize = 96;

/// Why a command line cannot be put into an image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The image cannot be read.
    #[error("the image cannot be read: {0}")]
    Io(#[from] io::Error),
    /// There is no room for it.
    #[error(
        "the section .cmdline has room for {room} bytes, and the new command line has {wanted}; \
         build the image again with a longer command line"
    )]
    NoRoom {
        /// Bytes of memory up to the next section.
        room: usize,
        /// Bytes of the new command line.
        wanted: usize,
    },
}

/// The section `.cmdline` of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// Its text, without zeros and line ends behind it.
    pub text: Vec<u8>,
    /// Where its entry of the section table is.
    entry: usize,
    /// Its bytes in the file.
    raw: Range<usize>,
    /// Bytes of memory from its beginning to the next section.
    room: usize,
    /// The alignment of sections in the file.
    align: usize,
}

struct Section {
    at: usize,
    name: Vec<u8>,
    virtual_size: usize,
    address: usize,
    raw_size: usize,
    raw_at: usize,
}

/// The command line of a unified kernel image; `None`: the bytes are none, or the image has
/// no command line of its own.
///
/// # Errors
/// The bytes cannot be read.
pub fn command_line(image: &Part<'_>) -> Result<Option<CommandLine>, Error> {
    let Some((sections, align)) = sections(image)? else {
        return Ok(None);
    };
    let named = |name: &[u8]| sections.iter().find(|s| s.name == name);
    let (Some(_), Some(line)) = (named(KERNEL), named(CMDLINE)) else {
        return Ok(None);
    };
    let used = line.virtual_size.min(line.raw_size);
    let mut text = image.read(line.raw_at as u64, used)?;
    let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
    text.truncate(end);
    while text.last().is_some_and(u8::is_ascii_whitespace) {
        text.pop();
    }
    let next = sections.iter().map(|s| s.address);
    let next = next.filter(|a| *a > line.address).min();
    Ok(Some(CommandLine {
        text,
        entry: line.at,
        raw: line.raw_at..line.raw_at.saturating_add(line.raw_size),
        // The last section may grow to the end of its page.
        room: next.map_or(line.virtual_size.next_multiple_of(4096), |next| {
            next - line.address
        }),
        align,
    }))
}

/// The sections of a program for EFI, and their alignment in the file.
fn sections(image: &Part<'_>) -> Result<Option<(Vec<Section>, usize)>, Error> {
    let Ok(head) = image.read(0, 64) else {
        return Ok(None);
    };
    if !head.starts_with(b"MZ") {
        return Ok(None);
    }
    let at = le32(&head, 0x3c).unwrap_or(0) as usize;
    let Ok(header) = image.read(at as u64, 24 + 64) else {
        return Ok(None);
    };
    if !header.starts_with(b"PE\0\0") {
        return Ok(None);
    }
    let field = |at: usize| usize::from(le16(&header, at).unwrap_or(0));
    let (count, optional) = (field(6), field(20));
    let align = le32(&header, 24 + 36).unwrap_or(0) as usize;
    let table = at.saturating_add(24).saturating_add(optional);
    if count > MOST_SECTIONS {
        return Ok(None);
    }
    let Ok(entries) = image.read(table as u64, count * ENTRY) else {
        return Ok(None);
    };
    let section = |(n, bytes): (usize, &[u8])| {
        let field = |at: usize| le32(bytes, at).unwrap_or(0) as usize;
        let name = bytes.get(..8).unwrap_or_default();
        let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
        Section {
            at: table + n * ENTRY,
            name: name.get(..end).unwrap_or_default().to_vec(),
            virtual_size: field(8),
            address: field(12),
            raw_size: field(16),
            raw_at: field(20),
        }
    };
    let all = entries.chunks_exact(ENTRY).enumerate().map(section);
    Ok(Some((all.collect(), align.clamp(1, 1 << 16))))
}

impl CommandLine {
    /// The image with this command line in place of its own. Where the section's bytes in the
    /// file are too few, it moves to the end of the file.
    ///
    /// # Errors
    /// [`Error::NoRoom`].
    pub fn replaced(&self, image: &[u8], text: &[u8]) -> Result<Vec<u8>, Error> {
        if text.len() > self.room {
            return Err(Error::NoRoom {
                room: self.room,
                wanted: text.len(),
            });
        }
        let mut new = image.to_vec();
        let mut raw = self.raw.clone();
        if text.len() > raw.len() {
            let at = new.len().next_multiple_of(self.align);
            let size = text.len().next_multiple_of(self.align);
            new.resize(at + size, 0);
            raw = at..at + size;
        }
        let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let bytes = new.get_mut(raw.clone()).ok_or_else(cut)?;
        bytes.fill(0);
        for (to, from) in bytes.iter_mut().zip(text) {
            *to = *from;
        }
        for (at, value) in [(8, text.len()), (16, raw.len()), (20, raw.start)] {
            let at = self.entry + at;
            let value = u32::try_from(value).map_err(|_| cut())?.to_le_bytes();
            let field = new.get_mut(at..at + 4).ok_or_else(cut)?;
            field.copy_from_slice(&value);
        }
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    /// An image with these sections: name, address, content. Sections have `raw` bytes.
    fn image(sections: &[(&str, u32, &[u8])], raw: usize) -> Vec<u8> {
        let mut bytes = vec![0; 512];
        bytes[..2].copy_from_slice(b"MZ");
        bytes[0x3c] = 0x80;
        bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
        bytes[0x86] = sections.len() as u8;
        bytes[0x94] = 112;
        bytes[0x80 + 24 + 36..][..4].copy_from_slice(&512_u32.to_le_bytes());
        let mut data: Vec<u8> = Vec::new();
        for (n, (name, address, content)) in sections.iter().enumerate() {
            let at = 0x80 + 24 + 112 + n * ENTRY;
            bytes[at..at + name.len()].copy_from_slice(name.as_bytes());
            let place = 512 + data.len();
            for (field, value) in [
                (8, content.len()),
                (12, *address as usize),
                (16, raw),
                (20, place),
            ] {
                bytes[at + field..at + field + 4].copy_from_slice(&(value as u32).to_le_bytes());
            }
            data.extend_from_slice(content);
            data.resize(place - 512 + raw, 0);
        }
        bytes.extend(data);
        bytes
    }

    fn read(bytes: &[u8]) -> Option<CommandLine> {
        command_line(&Part::whole(&bytes).unwrap()).unwrap()
    }

    #[test]
    fn a_command_line_is_read_and_replaced_in_place() {
        let before = image(
            &[
                (".cmdline", 0x1000, b"root=/dev/sda2 rw\n"),
                (".linux", 0x2000, b"kernel"),
            ],
            512,
        );
        let line = read(&before).unwrap();
        assert_eq!(line.text, b"root=/dev/sda2 rw");
        let after = line.replaced(&before, b"root=/dev/sda2 rw quiet").unwrap();
        assert_eq!(after.len(), before.len());
        assert_eq!(read(&after).unwrap().text, b"root=/dev/sda2 rw quiet");
        // Nothing else is different.
        let changed: Vec<usize> = (0..before.len())
            .filter(|i| before[*i] != after[*i])
            .collect();
        let section = 512..1024;
        let table = 0x80 + 24 + 112..0x80 + 24 + 112 + ENTRY;
        assert!(
            changed
                .iter()
                .all(|i| section.contains(i) || table.contains(i)),
            "{changed:?}"
        );
        let short = line.replaced(&before, b"x").unwrap();
        assert_eq!(read(&short).unwrap().text, b"x");
    }

    #[test]
    fn a_longer_one_moves_to_the_end_and_one_without_room_is_refused() {
        let before = image(
            &[(".cmdline", 0x1000, b"rw"), (".linux", 0x2000, b"kernel")],
            512,
        );
        let line = read(&before).unwrap();
        let long = vec![b'a'; 600];
        let after = line.replaced(&before, &long).unwrap();
        assert_eq!(after.len(), 1536 + 1024);
        assert_eq!(read(&after).unwrap().text, long);
        let said = line.replaced(&before, &[b'a'; 5000]).unwrap_err();
        assert!(said.to_string().contains("room for 4096 bytes"), "{said}");
    }

    #[test]
    fn what_is_no_unified_image_has_none_at_any_length() {
        let kernel = image(&[(".text", 0x1000, b"x")], 512);
        assert_eq!(read(&kernel), None);
        let whole = image(
            &[(".cmdline", 0x1000, b"rw"), (".linux", 0x2000, b"kernel")],
            512,
        );
        for end in 0..whole.len() {
            let cut = &whole[..end];
            if let Ok(Some(line)) = command_line(&Part::whole(&cut).unwrap()) {
                line.replaced(cut, b"root=/dev/sda2 quiet").ok();
            }
        }
        assert_eq!(read(b"MZ"), None);
        assert_eq!(read(b""), None);
    }
}
