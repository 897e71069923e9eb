//! Data of inode nodes, as it was before it was compressed.

mod rtime;
mod rubin;

use crate::files::Failure;
use crate::inflate::Inflater;
use std::io::Read;

/// Compressed data of a node with more bytes than this is refused.
///
/// The data of one node is at most a page of memory, and 64 KiB is the largest
/// page that is common; `mkfs.jffs2` can be told to make larger nodes.
pub const LARGEST_DATA: u32 = 1 << 18;

/// The memory that the decoder of LZMA may take, bytes. Its dictionary has 8 KiB.
const LZMA_MEMORY: u64 = 1 << 20;

/// Types of compression.
pub mod kind {
    /// Not compressed.
    pub const NONE: u8 = 0;
    /// Nothing is stored; all bytes are zero.
    pub const ZERO: u8 = 1;
    /// A repeat of what followed the same byte before.
    pub const RTIME: u8 = 2;
    /// An arithmetic coder; on flash this number stands for `dynrubin`.
    pub const RUBINMIPS: u8 = 3;
    /// Not compressed.
    pub const COPY: u8 = 4;
    /// An arithmetic coder; on flash this number stands for `rubinmips`.
    pub const DYNRUBIN: u8 = 5;
    /// Deflate.
    pub const ZLIB: u8 = 6;
    /// LZO1X.
    pub const LZO: u8 = 7;
    /// LZMA, of OpenWrt's kernels.
    pub const LZMA: u8 = 8;
}

/// The name of a type of compression.
#[must_use]
pub fn name(kind: u8) -> &'static str {
    match kind {
        kind::NONE => "none",
        kind::ZERO => "zero",
        kind::RTIME => "rtime",
        // The kernel's drivers of these two carry each other's number.
        kind::RUBINMIPS => "dynrubin",
        kind::DYNRUBIN => "rubinmips",
        kind::COPY => "copy",
        kind::ZLIB => "zlib",
        kind::LZO => "lzo",
        kind::LZMA => "lzma",
        _ => "unknown",
    }
}

/// A decompressor with its buffers.
#[derive(Default)]
pub struct Decompressor(Inflater);

impl Decompressor {
    /// The data of a node, `length` bytes of it.
    ///
    /// # Errors
    /// The data is corrupt, or the compression is not supported.
    pub fn run<'a>(
        &'a mut self,
        kind: u8,
        data: &'a [u8],
        length: u32,
    ) -> Result<&'a [u8], Failure> {
        let wanted = length as usize;
        if matches!(kind, kind::NONE | kind::COPY) {
            return data.get(..wanted).ok_or(Failure::Corrupt);
        }
        if length > LARGEST_DATA {
            return Err(Failure::TooLong(LARGEST_DATA));
        }
        self.0.clear(wanted);
        let whole = match kind {
            kind::ZERO => true,
            kind::RTIME => rtime::decompress(data, &mut self.0.out).is_some(),
            kind::RUBINMIPS => rubin::dynamic(data, &mut self.0.out).is_some(),
            kind::DYNRUBIN => rubin::mips(data, &mut self.0.out).is_some(),
            kind::ZLIB => self.inflate(data).is_some(),
            kind::LZO => {
                let length = lzokay::decompress::decompress(data, &mut self.0.out);
                length.is_ok_and(|length| length == wanted)
            }
            kind::LZMA => lzma(data, &mut self.0.out).is_some(),
            other => return Err(Failure::Unsupported(other.into(), None)),
        };
        if whole {
            Ok(&self.0.out)
        } else {
            Err(Failure::Corrupt)
        }
    }

    /// Like the kernel, this passes over the zlib header and does not look at
    /// the checksum at the end: the node has its own.
    fn inflate(&mut self, data: &[u8]) -> Option<()> {
        let (header, deflated) = data.split_first_chunk::<2>()?;
        let is_zlib = header[0] & 0x0f == 8 && u16::from_be_bytes(*header).is_multiple_of(31);
        let has_dictionary = header[1] & 0x20 != 0;
        if !is_zlib || has_dictionary {
            return None;
        }
        (self.0.inflate(deflated)? == self.0.out.len()).then_some(())
    }
}

/// LZMA as OpenWrt's patch `jffs2_make_lzma_available` writes it: the bare stream,
/// without properties, length or end mark. The properties are constants there: a
/// dictionary of 8 KiB, and `lc`, `lp` and `pb` all 0. The header of the LZMA utilities
/// says the same, so it is put in front.
fn lzma(data: &[u8], out: &mut [u8]) -> Option<()> {
    const DICTIONARY: u32 = 0x2000;
    let mut header = [0; 13];
    header
        .get_mut(1..5)?
        .copy_from_slice(&DICTIONARY.to_le_bytes());
    header
        .get_mut(5..)?
        .copy_from_slice(&(out.len() as u64).to_le_bytes());
    let stream = liblzma::stream::Stream::new_lzma_decoder(LZMA_MEMORY).ok()?;
    let input = header.chain(data);
    let mut decoder = liblzma::bufread::XzDecoder::new_stream(input, stream);
    decoder.read_exact(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_compressed_is_itself() {
        let mut d = Decompressor::default();
        assert_eq!(d.run(kind::NONE, b"abcd", 3), Ok(&b"abc"[..]));
        assert_eq!(d.run(kind::NONE, b"ab", 3), Err(Failure::Corrupt));
        assert_eq!(d.run(kind::ZERO, b"", 3), Ok(&[0, 0, 0][..]));
        assert_eq!(d.run(kind::LZMA, b"", 3), Err(Failure::Corrupt));
        assert_eq!(d.run(9, b"", 3), Err(Failure::Unsupported(9, None)));
        assert_eq!(
            d.run(kind::ZLIB, b"", u32::MAX),
            Err(Failure::TooLong(LARGEST_DATA))
        );
    }

    #[test]
    fn zlib_with_a_wrong_checksum_is_read_as_the_kernel_does() {
        let mut data = vec![0x78, 0x9c, 0x4b, 0x4c, 0x4a, 0x06, 0x00];
        data.extend([1, 2, 3, 4]);
        let mut d = Decompressor::default();
        assert_eq!(d.run(kind::ZLIB, &data, 3), Ok(&b"abc"[..]));
        assert_eq!(d.run(kind::ZLIB, &data, 4), Err(Failure::Corrupt));
    }

    /// Made with liblzma: a bare stream with `lc`, `lp` and `pb` 0.
    #[test]
    fn lzma_of_openwrt_is_read() {
        let data = [
            0x00, 0x30, 0xe9, 0xcb, 0xef, 0x07, 0x30, 0xdd, 0x2b, 0x0e, 0x31, 0xaa, 0xed, 0xa8,
            0x4b, 0x26, 0x38, 0x27, 0x1b, 0x93, 0xb9, 0xbb, 0xdb, 0xd3, 0x27, 0x9b, 0x66, 0xfc,
            0x8d, 0xe7, 0x6e, 0x5b, 0xd7, 0xf2, 0x24, 0xbf, 0xff, 0x65, 0x2c, 0x00, 0x00,
        ];
        let text = b"aaaaabbbbbaaaaaccccccaaaaaaabababababaaaaaaaaaaaa the same again the same \
                     again";
        let mut d = Decompressor::default();
        assert_eq!(d.run(kind::LZMA, &data, text.len() as u32), Ok(&text[..]));
        assert_eq!(
            d.run(kind::LZMA, &data[..20], text.len() as u32),
            Err(Failure::Corrupt)
        );
    }

    /// Made with the kernel's own `compr_rubin.c`, version 6.1.
    #[test]
    fn both_rubins_are_read_under_the_numbers_that_the_kernel_gives_them() {
        let dynamic = [
            0xcb, 0x53, 0x01, 0x01, 0x01, 0xff, 0xff, 0x01, 0x6e, 0x75, 0xc8, 0x32, 0x40, 0x6e,
            0x42, 0x3a, 0x60, 0xae, 0x05, 0xc9, 0x00,
        ];
        let text = b"aaaaabbbbbaaaaaccccccaaaaaaabababababaaaaaaaaaaaa";
        let mips = [
            0x00, 0x00, 0xe6, 0xc7, 0xa4, 0xb7, 0xf0, 0x07, 0x72, 0x30, 0x1e, 0x36, 0x40, 0x3e,
            0x19, 0xa0, 0xb6, 0x5c, 0x02, 0x05, 0x62, 0x1f, 0x1c, 0x40, 0x10, 0xde, 0xf9, 0xd2,
            0x17, 0x80, 0x8c, 0x43, 0x14, 0x0b, 0xe0, 0x00,
        ];
        let code = [0, 0, 0, 0, 32, 0, 0, 0, 1, 0, 64, 0].repeat(6);
        let mut d = Decompressor::default();
        assert_eq!(d.run(3, &dynamic, text.len() as u32), Ok(&text[..]));
        assert_eq!(d.run(5, &mips, code.len() as u32), Ok(&code[..]));
        assert_eq!(
            d.run(5, &mips[..9], code.len() as u32),
            Err(Failure::Corrupt)
        );
    }

    proptest! {
        #[test]
        fn nothing_panics(
            kind in 0_u8..10,
            data in proptest::collection::vec(any::<u8>(), 0..300),
            length in 0_u32..5000,
        ) {
            let mut d = Decompressor::default();
            if let Ok(out) = d.run(kind, &data, length) {
                prop_assert_eq!(out.len(), length as usize);
            }
        }
    }
}
