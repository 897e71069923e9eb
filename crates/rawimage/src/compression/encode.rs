//! Packing, in the forms that Linux unpacks.

use super::block;
use super::kind::Compression;
use liblzma::stream::{Check, LzmaOptions, Stream};
use std::io::{self, Read, Write};

/// Level 9 of Zstandard: as `mkinitramfs` asks for. Higher levels take long to
/// write and are no faster to read.
const ZSTD_LEVEL: i32 = 9;
/// The preset of xz and lzma: windows of 8 MiB.
const LZMA_PRESET: u32 = 6;

/// Packs all of `input`. The same input gives the same output.
///
/// xz gets a CRC-32, because Linux checks no other sum; gzip gets neither a name
/// nor a time.
///
/// # Errors
/// What reading or writing says.
pub fn encode(
    compression: Compression,
    input: &mut dyn Read,
    out: &mut dyn Write,
) -> io::Result<()> {
    match compression {
        Compression::None => {
            io::copy(input, out)?;
        }
        Compression::Gzip => {
            let level = flate2::Compression::best();
            let mut encoder = flate2::GzBuilder::new().write(out, level);
            io::copy(input, &mut encoder)?;
            encoder.finish()?;
        }
        Compression::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(out, bzip2::Compression::best());
            io::copy(input, &mut encoder)?;
            encoder.finish()?;
        }
        Compression::Lzma => {
            let options = LzmaOptions::new_preset(LZMA_PRESET)?;
            lzma(Stream::new_lzma_encoder(&options)?, input, out)?;
        }
        Compression::Xz => lzma(
            Stream::new_easy_encoder(LZMA_PRESET, Check::Crc32)?,
            input,
            out,
        )?,
        Compression::Lzo => block::write_lzo(input, out)?,
        Compression::Lz4 => block::write_lz4(input, out)?,
        Compression::Lz4Frame => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(out);
            io::copy(input, &mut encoder)?;
            encoder.finish().map_err(io::Error::other)?;
        }
        Compression::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?;
            encoder.include_checksum(true)?;
            io::copy(input, &mut encoder)?;
            encoder.finish()?;
        }
    }
    Ok(())
}

fn lzma(stream: Stream, input: &mut dyn Read, out: &mut dyn Write) -> io::Result<()> {
    let mut encoder = liblzma::write::XzEncoder::new_stream(out, stream);
    io::copy(input, &mut encoder)?;
    encoder.finish()?;
    Ok(())
}
