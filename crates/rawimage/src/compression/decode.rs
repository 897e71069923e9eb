//! Unpacking, within bounds.

use super::block::Blocks;
use super::failure::{Failure, MEMORY};
use super::kind::Compression;
use crate::bytes::{Cursor, Part, read_full};
use std::fmt;
use std::io::{self, Read};

/// A stream that unpacks to more than this is refused, unless a caller says
/// otherwise: 1 GiB. Kernels unpack to less than 200 MiB, and an initramfs must
/// fit into memory twice.
pub const LIMIT: u64 = 1 << 30;

/// Zstandard's windows are powers of two: 128 MiB.
const ZSTD_WINDOW: u32 = 27;

enum Stream<'a> {
    Plain(Cursor<'a>),
    Gzip(Box<flate2::bufread::GzDecoder<Cursor<'a>>>),
    Bzip2(bzip2::bufread::BzDecoder<Cursor<'a>>),
    Xz(Box<liblzma::bufread::XzDecoder<Cursor<'a>>>),
    Blocks(Box<Blocks<'a>>),
    Frame(Box<lz4_flex::frame::FrameDecoder<Cursor<'a>>>),
    Zstd(zstd::stream::read::Decoder<'static, Cursor<'a>>),
}

/// Unpacks one stream.
pub struct Decoder<'a> {
    stream: Stream<'a>,
    produced: u64,
    limit: u64,
    ended: bool,
}

impl<'a> Decoder<'a> {
    /// Unpacks what `part` begins with, to at most `limit` bytes.
    ///
    /// # Errors
    /// The stream's header is damaged, or cannot be read.
    pub fn new(compression: Compression, part: &Part<'a>, limit: u64) -> Result<Self, Failure> {
        let input = part.cursor();
        let lzma = |stream: Result<_, liblzma::stream::Error>| -> Result<_, Failure> {
            let stream = stream.map_err(|e| Failure::Corrupt(e.to_string()))?;
            let decoder = liblzma::bufread::XzDecoder::new_stream(part.cursor(), stream);
            Ok(Stream::Xz(Box::new(decoder)))
        };
        let stream = match compression {
            Compression::None => Stream::Plain(input),
            Compression::Gzip => Stream::Gzip(Box::new(flate2::bufread::GzDecoder::new(input))),
            Compression::Bzip2 => Stream::Bzip2(bzip2::bufread::BzDecoder::new(input)),
            Compression::Xz => lzma(liblzma::stream::Stream::new_stream_decoder(MEMORY, 0))?,
            Compression::Lzma => lzma(liblzma::stream::Stream::new_lzma_decoder(MEMORY))?,
            Compression::Lzo => Stream::Blocks(Box::new(Blocks::lzo(input)?)),
            Compression::Lz4 => Stream::Blocks(Box::new(Blocks::lz4(input)?)),
            Compression::Lz4Frame => {
                Stream::Frame(Box::new(lz4_flex::frame::FrameDecoder::new(input)))
            }
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?.single_frame();
                decoder.window_log_max(ZSTD_WINDOW)?;
                Stream::Zstd(decoder)
            }
        };
        Ok(Self {
            stream,
            produced: 0,
            limit,
            ended: false,
        })
    }

    /// How many unpacked bytes were handed out.
    #[must_use]
    pub fn produced(&self) -> u64 {
        self.produced
    }

    /// How many packed bytes were taken; at the end, the length of the stream.
    #[must_use]
    pub fn consumed(&self) -> u64 {
        match &self.stream {
            Stream::Plain(input) => input.position(),
            Stream::Gzip(d) => d.get_ref().position(),
            Stream::Bzip2(d) => d.get_ref().position(),
            Stream::Xz(d) => d.get_ref().position(),
            Stream::Blocks(d) => d.get_ref().position(),
            Stream::Frame(d) => d.get_ref().position(),
            Stream::Zstd(d) => d.get_ref().position(),
        }
    }

    /// Reads the rest and lets it fall.
    ///
    /// # Errors
    /// What unpacking says.
    pub fn finish(&mut self) -> Result<Unpacked, Failure> {
        let mut buffer = vec![0; 1 << 16];
        while read_full(self, &mut buffer)? > 0 {}
        Ok(Unpacked {
            packed: self.consumed(),
            unpacked: self.produced,
        })
    }
}

impl Read for Decoder<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.ended || buf.is_empty() {
            return Ok(0);
        }
        let read = match &mut self.stream {
            Stream::Plain(d) => d.read(buf),
            Stream::Gzip(d) => d.read(buf),
            Stream::Bzip2(d) => d.read(buf),
            Stream::Xz(d) => d.read(buf),
            Stream::Blocks(d) => d.read(buf),
            Stream::Frame(d) => d.read(buf),
            Stream::Zstd(d) => d.read(buf),
        };
        let read = read.map_err(|e| io::Error::from(Failure::from(e)))?;
        self.ended = read == 0;
        self.produced += read as u64;
        if self.produced > self.limit {
            let limit = self.limit;
            return Err(Failure::TooLong { limit }.into());
        }
        Ok(read)
    }
}

impl fmt::Debug for Decoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("consumed", &self.consumed())
            .field("produced", &self.produced)
            .finish_non_exhaustive()
    }
}

/// The two lengths of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// Bytes that the stream takes in the image.
    pub packed: u64,
    /// Bytes that it unpacks to.
    pub unpacked: u64,
}

/// Unpacks what `part` begins with, to at most `limit` bytes.
///
/// # Errors
/// The stream is damaged, too long, or cannot be read.
pub fn unpack(compression: Compression, part: &Part<'_>, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut unpacked = Vec::new();
    Decoder::new(compression, part, limit)?.read_to_end(&mut unpacked)?;
    Ok(unpacked)
}

/// Unpacks a stream only to see how long it is, and whether it is whole.
///
/// # Errors
/// What unpacking says.
pub fn measure(compression: Compression, part: &Part<'_>, limit: u64) -> Result<Unpacked, Failure> {
    Decoder::new(compression, part, limit)?.finish()
}
