//! The environment of Barebox: a small archive of files, with checksums.
//!
//! A superblock of 28 bytes, little-endian: magic, priority, CRC-32 of the data,
//! its size, major and minor version, reserved, flags, and a CRC-32 of all that.
//! Then for each file: magic, size, length of what stands before the content;
//! the name, padded to 4 bytes; a magic and the mode; the content, padded.
//! Source: Barebox' `include/envfs.h` and `common/environment.c`.

use rawimage::bytes::{Part, le32, text};
use std::io;

const MAGIC: [u8; 4] = 0x798f_ba79_u32.to_le_bytes();
const INODE_MAGIC: u32 = 0x67a8_c78d;
const SUPER: usize = 28;
const INODE: usize = 12;

/// No environment of Barebox is larger: 16 MiB.
const LARGEST: u32 = 16 << 20;
/// So many are told.
const MOST: usize = 16;
/// So much is read at a time.
const WINDOW: usize = 1 << 20;

/// The environment of Barebox in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barebox {
    /// Where it begins, bytes from the start of the image.
    pub offset: u64,
    /// How many bytes it takes, with its superblock.
    pub size: u64,
    /// Major and minor version of the format.
    pub version: (u8, u8),
    /// Whether the checksum of the files is right. That of the superblock is.
    pub is_whole: bool,
    /// Whether Barebox is told to use its built-in environment instead.
    pub use_built_in: bool,
    /// The files: name and size.
    pub files: Vec<(String, u64)>,
}

/// Finds environments of Barebox, the first 16.
///
/// # Errors
/// What reading says.
pub fn find(image: &Part<'_>) -> io::Result<Vec<Barebox>> {
    let mut found = Vec::new();
    let mut start = 0;
    while start < image.len() && found.len() < MOST {
        let bytes = image.read(start, WINDOW + SUPER)?;
        for at in memchr::memmem::find_iter(&bytes, &MAGIC) {
            let header = bytes.get(at..).unwrap_or_default();
            if at < WINDOW && found.len() < MOST {
                found.extend(parse(image, start + at as u64, header)?);
            }
        }
        start += WINDOW as u64;
    }
    Ok(found)
}

fn parse(image: &Part<'_>, offset: u64, header: &[u8]) -> io::Result<Option<Barebox>> {
    let sum = header.get(..SUPER - 4).map(crc32fast::hash);
    let (Some(crc), Some(size)) = (le32(header, 8), le32(header, 12)) else {
        return Ok(None);
    };
    if sum.is_none() || sum != le32(header, SUPER - 4) || size > LARGEST {
        return Ok(None);
    }
    let data = image.read(offset + SUPER as u64, size as usize)?;
    let is_whole = data.len() == size as usize && crc32fast::hash(&data) == crc;
    let byte = |at: usize| header.get(at).copied().unwrap_or(0);
    Ok(Some(Barebox {
        offset,
        size: SUPER as u64 + u64::from(size),
        version: (byte(16), byte(17)),
        is_whole,
        use_built_in: le32(header, 20).is_some_and(|flags| flags & 1 != 0),
        files: if is_whole { files(&data) } else { Vec::new() },
    }))
}

fn files(data: &[u8]) -> Vec<(String, u64)> {
    let mut files = Vec::new();
    let mut rest = data;
    while le32(rest, 0) == Some(INODE_MAGIC) {
        let (Some(size), Some(head)) = (le32(rest, 4), le32(rest, 8)) else {
            break;
        };
        let name = rest.get(INODE..INODE.saturating_add(head as usize));
        files.push((text(name.unwrap_or_default()), u64::from(size)));
        let pad = |n: u32| (n as usize).saturating_add(3) & !3;
        let next = INODE.saturating_add(pad(head)).saturating_add(pad(size));
        rest = rest.get(next..).unwrap_or_default();
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Vec<u8> {
        let mut data = Vec::new();
        for (name, content) in [("/nv/autoboot_timeout", "3"), ("/boot/mmc", "global.linux")] {
            let mut name = name.as_bytes().to_vec();
            name.push(0);
            name.resize(name.len().next_multiple_of(4), 0);
            for n in [INODE_MAGIC, content.len() as u32, name.len() as u32 + 8] {
                data.extend(n.to_le_bytes());
            }
            data.extend(name);
            data.extend(0x68a8_c78d_u32.to_le_bytes());
            data.extend(0o100_777_u32.to_le_bytes());
            data.extend(content.as_bytes());
            data.resize(data.len().next_multiple_of(4), 0);
        }
        let mut image = vec![0xff; 4096];
        let mut header = MAGIC.to_vec();
        header.extend([0; 4]);
        header.extend(crc32fast::hash(&data).to_le_bytes());
        header.extend((data.len() as u32).to_le_bytes());
        header.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        header.extend(crc32fast::hash(&header).to_le_bytes());
        image.extend(header);
        image.extend(data);
        image.resize(8192, 0xff);
        image
    }

    #[test]
    fn it_is_found_and_listed() {
        let mut bytes = image();
        let wanted = [("/nv/autoboot_timeout", 1), ("/boot/mmc", 12)];
        let wanted = wanted.map(|(n, s)| (n.to_owned(), s));
        let image = bytes.as_slice();
        let found = find(&Part::whole(&image).unwrap()).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].offset, found[0].version), (4096, (1, 0)));
        assert_eq!(found[0].files, wanted);
        bytes[4096 + SUPER + 1] ^= 1;
        let image = bytes.as_slice();
        let found = find(&Part::whole(&image).unwrap()).unwrap();
        assert!(!found[0].is_whole && found[0].files.is_empty());
        bytes[4096 + 5] ^= 1;
        let image = bytes.as_slice();
        assert!(find(&Part::whole(&image).unwrap()).unwrap().is_empty());
    }
}
