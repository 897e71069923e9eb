//! The compressed initramfs that a kernel was linked with (`usr/initramfs_data.S`): an archive,
//! and behind it, at the next address that eight divides, its length as a word of the kernel.
//! Nothing says where it is: a word that leads back to the begin of such an archive finds it.

use crate::initramfs::is_archive;
use rawimage::Part;
use rawimage::bytes::{be32, le32, read_full};
use rawimage::compression::{Compression, Decoder, LIMIT};

/// The length stands at an address that this divides, and the archive begins at one that
/// `BEGIN` divides (`INIT_RAM_FS` in `include/asm-generic/vmlinux.lds.h`).
const LENGTH: usize = 8;
const BEGIN: usize = 4;
/// A shorter archive holds nothing; a kernel without an initramfs has one of some 130 bytes.
const SHORTEST: usize = 1 << 10;
/// What a method of compression begins with takes no more bytes.
const MAGIC: usize = 32;
/// So many archives are begun to be unpacked, so that no image takes long.
const MOST_TRIES: usize = 64;

/// A compressed initramfs in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// How it is compressed.
    pub compression: Compression,
    /// Where it begins, bytes from the start of the kernel.
    pub offset: usize,
    /// How many bytes it takes there.
    pub packed: u64,
}

/// Finds the initramfs in an uncompressed kernel; `None` if there is none, or one that is not
/// compressed.
#[must_use]
pub fn built_in(kernel: &[u8]) -> Option<BuiltIn> {
    let places = (0..kernel.len()).step_by(LENGTH);
    let likely = places.flat_map(|at| {
        // On 64 bits the length is one of 64 bits, whose upper half is zero.
        let upper = (be32(kernel, at) == Some(0)).then(|| be32(kernel, at + 4));
        let lengths = [le32(kernel, at), be32(kernel, at), upper.flatten()];
        let lengths = lengths.into_iter().flatten();
        let places = lengths.flat_map(|length| [(length, 0), (length, BEGIN)]);
        places.filter_map(move |(length, before)| {
            let length = usize::try_from(length).ok().filter(|n| *n >= SHORTEST)?;
            let offset = (at.checked_sub(length)? / BEGIN * BEGIN).checked_sub(before)?;
            // Between the archive and its length there is less than fills up the address.
            if (offset + length).next_multiple_of(LENGTH) != at {
                return None;
            }
            let begin = kernel.get(offset..offset + MAGIC.min(length))?;
            let compression = Compression::detect(begin)?;
            Some((compression, offset, length))
        })
    });
    let mut found = likely.take(MOST_TRIES);
    found.find_map(|(compression, offset, length)| {
        let bytes = kernel.get(offset..offset + length)?;
        let part = Part::whole(&bytes).ok()?;
        let mut decoder = Decoder::new(compression, &part, LIMIT).ok()?;
        let mut begin = [0; 6];
        let is_whole = read_full(&mut decoder, &mut begin).is_ok_and(|n| n == begin.len());
        (is_whole && is_archive(&begin)).then(|| BuiltIn {
            compression,
            offset,
            packed: part.len(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawimage::compression::encode;

    /// A kernel with an archive of `way`, which ends `before` bytes before its length.
    fn kernel(way: Compression, length: impl Fn(u32) -> Vec<u8>) -> (Vec<u8>, u64) {
        let mut archive = b"070701".to_vec();
        // Nothing that packs.
        let mut state = 1_u32;
        archive.extend((0..5_003).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        }));
        let packed = packed_by(way, &archive);
        let mut bytes = vec![0x90; 4_100];
        bytes.extend(&packed);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(length(packed.len() as u32));
        bytes.extend([0x90; 64]);
        (bytes, packed.len() as u64)
    }

    fn packed_by(way: Compression, bytes: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        encode(way, &mut &bytes[..], &mut packed).unwrap();
        packed
    }

    fn little(n: u32) -> Vec<u8> {
        n.to_le_bytes().to_vec()
    }

    #[test]
    fn an_initramfs_is_found_by_its_length() {
        for way in [Compression::Gzip, Compression::Xz, Compression::Zstd] {
            let lengths: [fn(u32) -> Vec<u8>; 3] = [
                little,
                |n| n.to_be_bytes().to_vec(),
                |n| u64::from(n).to_be_bytes().to_vec(),
            ];
            for length in lengths {
                let (bytes, packed) = kernel(way, length);
                let found = built_in(&bytes).unwrap();
                assert_eq!((found.compression, found.offset), (way, 4_100));
                assert_eq!(found.packed, packed);
            }
        }
    }

    #[test]
    fn what_is_no_initramfs_is_not_found() {
        let (whole, _) = kernel(Compression::Gzip, |n| little(n + 8));
        assert_eq!(built_in(&whole), None);
        let (whole, packed) = kernel(Compression::Gzip, little);
        for length in (0..4_100 + packed as usize).step_by(97) {
            assert_eq!(built_in(&whole[..length]), None, "{length}");
        }
        // A configuration is compressed as well.
        let packed = packed_by(Compression::Gzip, &[b'#'; 1 << 20]);
        let mut other = packed.clone();
        other.resize(other.len().next_multiple_of(8), 0);
        other.extend(little(packed.len() as u32));
        assert_eq!(built_in(&other), None);
        assert_eq!(built_in(&[0; 4096]), None);
        assert_eq!(built_in(&[]), None);
    }
}
