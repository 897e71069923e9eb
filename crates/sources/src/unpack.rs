//! Compressed files and archives, with bounds: sizes that a file claims are
//! never believed.

use flate2::bufread::MultiGzDecoder;
use std::io::Read;
use std::ops::Range;

/// What a gzip file begins with (RFC 1952: magic, and the method deflate).
pub(crate) const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b, 8];

/// The most that a compressed input may unpack to, in bytes. Sampled /proc
/// files shrink to a thirtieth; a boot's worth of them is some tens of MB.
pub(crate) const MOST_UNPACKED: usize = 512 << 20;

/// The most members of an archive that are looked at.
const MOST_MEMBERS: usize = 10_000;

/// What came out of a compressed input.
#[derive(Debug)]
pub(crate) struct Unpacked {
    /// What could be unpacked.
    pub bytes: Vec<u8>,
    /// Why that is not all; `None` if it is.
    pub problem: Option<Problem>,
}

/// Why an input was not unpacked to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It is cut or damaged.
    Damaged,
    /// It is larger than anything that is expected.
    TooLarge,
}

/// Unpacks gzip, up to `most` bytes. What stands before a damage is kept.
pub(crate) fn gunzip(packed: &[u8], most: usize) -> Unpacked {
    let mut bytes = Vec::new();
    // One byte more tells an input of just this size from a larger one.
    let limit = (most as u64).saturating_add(1);
    let read = MultiGzDecoder::new(packed)
        .take(limit)
        .read_to_end(&mut bytes);
    let problem = if bytes.len() > most {
        bytes.truncate(most);
        Some(Problem::TooLarge)
    } else {
        read.is_err().then_some(Problem::Damaged)
    };
    Unpacked { bytes, problem }
}

/// A plain file of a tar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its path in the archive.
    pub name: String,
    /// Where its bytes lie in the archive; shorter than they should be if the
    /// archive is cut.
    pub place: Range<usize>,
    /// Whether the archive ends before the file does.
    pub cut: bool,
}

/// Whether these are the first bytes of a tar (POSIX ustar and GNU: the magic
/// stands at byte 257 of the first header).
pub(crate) fn is_tar(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// The plain files of a tar, in order, and whether the archive ended as it
/// should. Nothing is copied; links, devices and sparse files are left out.
pub(crate) fn members(tar: &[u8]) -> (Vec<Member>, bool) {
    let mut found = Vec::new();
    let mut ends = 0_usize;
    let mut archive = tar::Archive::new(tar);
    let Ok(entries) = archive.entries() else {
        return (found, false);
    };
    for entry in entries.take(MOST_MEMBERS) {
        let Ok(entry) = entry else {
            return (found, false);
        };
        let size = usize::try_from(entry.header().entry_size().unwrap_or(0));
        let body = usize::try_from(entry.raw_file_position());
        let (size, body) = (size.unwrap_or(usize::MAX), body.unwrap_or(usize::MAX));
        ends = body.saturating_add(size).saturating_add(511) / 512 * 512;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let start = body.min(tar.len());
        let end = start.saturating_add(size);
        let cut = end > tar.len();
        found.push(Member {
            name,
            place: start..end.min(tar.len()),
            cut,
        });
        if cut {
            return (found, false);
        }
    }
    // Blocks of zeros end an archive: without them more may have followed.
    let end = tar.get(ends..).and_then(|rest| rest.get(..512));
    let whole = end.is_some_and(|block| block.iter().all(|&b| b == 0));
    (found, whole)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::{Problem, gunzip, is_tar, members};
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn what_is_before_a_damage_is_kept() {
        let text: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let packed = gzip(&text);
        let all = gunzip(&packed, text.len());
        assert_eq!((all.bytes.len(), all.problem), (text.len(), None));
        let some = gunzip(&packed[..packed.len() / 2], text.len());
        assert_eq!(some.problem, Some(Problem::Damaged));
        assert!(!some.bytes.is_empty() && text.starts_with(&some.bytes));
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let packed = gzip(&vec![0; 1 << 20]);
        let out = gunzip(&packed, 1_000);
        assert_eq!(out.bytes.len(), 1_000);
        assert_eq!(out.problem, Some(Problem::TooLarge));
        assert_eq!(gunzip(&packed, 1 << 20).problem, None);
    }

    #[test]
    fn members_are_found_where_they_lie() {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, bytes) in [("a", &b"first"[..]), ("dir/b", &[b'x'; 1_000])] {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            tar.append_data(&mut header, name, bytes).unwrap();
        }
        let tar = tar.into_inner().unwrap();
        assert!(is_tar(&tar));
        let (all, whole) = members(&tar);
        assert!(whole);
        let names: Vec<&str> = all.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["a", "dir/b"]);
        assert_eq!(&tar[all[0].place.clone()], b"first");
        let (cut, whole) = members(&tar[..all[1].place.start + 10]);
        assert!(!whole && cut[1].cut);
        assert_eq!(cut[1].place.len(), 10);
        for at in 0..tar.len() {
            members(&tar[..at]);
        }
    }
}
