//! The containers that are lists of blocks: lzop's, and the first one of LZ4.

use super::failure::Failure;
use super::kind::{LZ4_MAGIC, LZOP_MAGIC};
use crate::bytes::{Cursor, read_full};
use std::io::{self, BufRead, Read, Write};

/// A block of LZ4 holds so much, unpacked; the last one less.
const LZ4_BLOCK: usize = 8 << 20;
/// Linux takes no larger block of LZO (`lib/decompress_unlzo.c`); lzop itself
/// writes no larger one.
const LZO_BLOCK: usize = 256 << 10;
/// lzop's own reader takes blocks of up to 64 MiB; no writer makes them.
const LARGEST_LZO_BLOCK: usize = 64 << 20;

/// Flags of lzop's header.
mod flag {
    /// Adler-32 of the unpacked block.
    pub(super) const ADLER_UNPACKED: u32 = 1;
    /// Adler-32 of the packed block.
    pub(super) const ADLER_PACKED: u32 = 2;
    /// A filter's number is in the header.
    pub(super) const FILTER: u32 = 0x800;
    /// CRC-32 of the unpacked block.
    pub(super) const CRC_UNPACKED: u32 = 0x100;
    /// CRC-32 of the packed block.
    pub(super) const CRC_PACKED: u32 = 0x200;
    /// The header's checksum is a CRC-32.
    pub(super) const CRC_HEADER: u32 = 0x1000;
    /// Made on Unix.
    pub(super) const UNIX: u32 = 0x0300_0000;
}

/// The version of lzop's header from which on it has a level and a second time.
const LZOP_LEVELS: u16 = 0x0940;

fn corrupt(what: &'static str) -> io::Error {
    Failure::Corrupt(what.into()).into()
}

/// Unpacks blocks, one at a time.
pub(super) struct Blocks<'a> {
    input: Cursor<'a>,
    kind: Kind,
    block: Vec<u8>,
    used: usize,
    packed: Vec<u8>,
    /// The last block of LZ4 was not full.
    short: bool,
    ended: bool,
}

enum Kind {
    Lz4,
    Lzo { flags: u32 },
}

impl<'a> Blocks<'a> {
    /// A legacy LZ4 stream.
    pub(super) fn lz4(mut input: Cursor<'a>) -> io::Result<Self> {
        if take::<4, _>(&mut input)? != LZ4_MAGIC {
            return Err(corrupt("the magic number is wrong"));
        }
        Ok(Self::new(input, Kind::Lz4))
    }

    /// What lzop writes.
    pub(super) fn lzo(mut input: Cursor<'a>) -> io::Result<Self> {
        if take::<9, _>(&mut input)? != LZOP_MAGIC {
            return Err(corrupt("the magic number is wrong"));
        }
        let mut header = Summed::new(&mut input);
        let version = u16::from_be_bytes(header.take()?);
        let _library = header.take::<2>()?;
        if version >= LZOP_LEVELS {
            let _needed = header.take::<2>()?;
        }
        let _method = header.take::<1>()?;
        if version >= LZOP_LEVELS {
            let _level = header.take::<1>()?;
        }
        let flags = u32::from_be_bytes(header.take()?);
        if flags & flag::FILTER != 0 {
            return Err(Failure::Unsupported("an lzop filter").into());
        }
        let _mode_and_time = header.take::<8>()?;
        if version >= LZOP_LEVELS {
            let _time = header.take::<4>()?;
        }
        let [name] = header.take::<1>()?;
        for _ in 0..name {
            header.take::<1>()?;
        }
        let wanted = header.sum(flags & flag::CRC_HEADER != 0);
        if u32::from_be_bytes(take(&mut input)?) != wanted {
            return Err(corrupt("the lzop header checksum is wrong"));
        }
        Ok(Self::new(input, Kind::Lzo { flags }))
    }

    fn new(input: Cursor<'a>, kind: Kind) -> Self {
        Self {
            input,
            kind,
            block: Vec::new(),
            used: 0,
            packed: Vec::new(),
            short: false,
            ended: false,
        }
    }

    pub(super) fn get_ref(&self) -> &Cursor<'a> {
        &self.input
    }

    fn next(&mut self) -> io::Result<()> {
        self.used = 0;
        self.block.clear();
        match self.kind {
            Kind::Lz4 => self.next_lz4(),
            Kind::Lzo { flags } => self.next_lzo(flags),
        }
    }

    /// The stream has no end mark: it ends where the input does, at a length of
    /// zero, or at one that no block has; and a block that is not full is the
    /// last. What follows may be another stream, or the unpacked size behind a
    /// kernel.
    fn next_lz4(&mut self) -> io::Result<()> {
        let short = std::mem::take(&mut self.short);
        loop {
            let Some(length) = self.input.peek::<4>()? else {
                self.ended = true;
                return Ok(());
            };
            if length == LZ4_MAGIC && !short {
                self.input.consume(4);
                continue;
            }
            let length = u32::from_le_bytes(length) as usize;
            if short || length == 0 || length > lz4_flex::block::get_maximum_output_size(LZ4_BLOCK)
            {
                self.ended = true;
                return Ok(());
            }
            self.input.consume(4);
            self.pack(length)?;
            self.block.resize(LZ4_BLOCK, 0);
            let there = lz4_flex::block::decompress_into(&self.packed, &mut self.block)
                .map_err(|_| corrupt("an LZ4 block is damaged"))?;
            self.block.truncate(there);
            self.short = there < LZ4_BLOCK;
            return Ok(());
        }
    }

    fn next_lzo(&mut self, flags: u32) -> io::Result<()> {
        let unpacked = u32::from_be_bytes(take(&mut self.input)?) as usize;
        if unpacked == 0 {
            self.ended = true;
            return Ok(());
        }
        let packed = u32::from_be_bytes(take(&mut self.input)?) as usize;
        if unpacked > LARGEST_LZO_BLOCK || packed > unpacked || packed == 0 {
            return Err(corrupt("an LZO block has an impossible length"));
        }
        let mut sum = |wanted| -> io::Result<Option<u32>> {
            if flags & wanted == 0 {
                return Ok(None);
            }
            Ok(Some(u32::from_be_bytes(take(&mut self.input)?)))
        };
        let (adler, crc) = (sum(flag::ADLER_UNPACKED)?, sum(flag::CRC_UNPACKED)?);
        if packed < unpacked {
            sum(flag::ADLER_PACKED)?;
            sum(flag::CRC_PACKED)?;
        }
        self.pack(packed)?;
        if packed == unpacked {
            std::mem::swap(&mut self.block, &mut self.packed);
        } else {
            self.block.resize(unpacked, 0);
            let there = lzokay::decompress::decompress(&self.packed, &mut self.block);
            if there.ok() != Some(unpacked) {
                return Err(corrupt("an LZO block is damaged"));
            }
        }
        let wrong = adler.is_some_and(|a| a != adler32(&self.block))
            || crc.is_some_and(|c| c != crc32fast::hash(&self.block));
        if wrong {
            return Err(corrupt("an LZO block has a wrong checksum"));
        }
        Ok(())
    }

    /// Reads a packed block. The buffer grows with what is really there.
    fn pack(&mut self, length: usize) -> io::Result<()> {
        self.packed.clear();
        let wanted = length as u64;
        let there = (&mut self.input)
            .take(wanted)
            .read_to_end(&mut self.packed)?;
        if there < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

impl Read for Blocks<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.used >= self.block.len() && !self.ended {
            self.next()?;
        }
        let there = self.block.get(self.used..).unwrap_or_default();
        let take = there.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..take), there.get(..take)) {
            to.copy_from_slice(from);
        }
        self.used += take;
        Ok(take)
    }
}

fn take<const N: usize, R: Read>(input: &mut R) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads bytes and keeps their checksums.
struct Summed<'a, R> {
    input: &'a mut R,
    bytes: Vec<u8>,
}

impl<'a, R: Read> Summed<'a, R> {
    fn new(input: &'a mut R) -> Self {
        Self {
            input,
            bytes: Vec::new(),
        }
    }

    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let bytes = take::<N, R>(self.input)?;
        self.bytes.extend(bytes);
        Ok(bytes)
    }

    fn sum(&self, crc: bool) -> u32 {
        if crc {
            crc32fast::hash(&self.bytes)
        } else {
            adler32(&self.bytes)
        }
    }
}

/// Adler-32, as of RFC 1950.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (mut a, mut b) = (1_u32, 0_u32);
    // So many bytes cannot overflow 32 bits.
    for piece in bytes.chunks(5552) {
        for byte in piece {
            a += u32::from(*byte);
            b += a;
        }
        a %= MODULUS;
        b %= MODULUS;
    }
    b << 16 | a
}

/// Writes a legacy LZ4 stream.
pub(super) fn write_lz4(input: &mut dyn Read, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&LZ4_MAGIC)?;
    let mut block = vec![0; LZ4_BLOCK];
    loop {
        let there = read_full(input, &mut block)?;
        let Some(bytes) = block.get(..there).filter(|b| !b.is_empty()) else {
            return Ok(());
        };
        let packed = lz4_flex::block::compress(bytes);
        // A block is at most 8 MiB, and packing adds less than one percent.
        let length = u32::try_from(packed.len()).map_err(io::Error::other)?;
        out.write_all(&length.to_le_bytes())?;
        out.write_all(&packed)?;
    }
}

/// Writes what lzop writes: no name, no time, an Adler-32 for each block, which
/// is the only form that Linux reads.
pub(super) fn write_lzo(input: &mut dyn Read, out: &mut dyn Write) -> io::Result<()> {
    let mut header = Vec::new();
    // Version 1.04 of lzop, 2.10 of its library; version 0.94 can read it.
    for version in [0x1040, 0x20a0, LZOP_LEVELS] {
        header.extend(version.to_be_bytes());
    }
    // LZO1X-999, level 9.
    header.extend([3, 9]);
    header.extend((flag::ADLER_UNPACKED | flag::UNIX).to_be_bytes());
    // A plain file, readable by all; no times; no name.
    header.extend(0o100_644_u32.to_be_bytes());
    header.extend([0; 8]);
    header.push(0);
    out.write_all(&LZOP_MAGIC)?;
    out.write_all(&header)?;
    out.write_all(&adler32(&header).to_be_bytes())?;
    let mut block = vec![0; LZO_BLOCK];
    let mut dictionary = lzokay::compress::Dict::new();
    loop {
        let there = read_full(input, &mut block)?;
        let Some(bytes) = block.get(..there).filter(|b| !b.is_empty()) else {
            return out.write_all(&[0; 4]);
        };
        let packed = lzokay::compress::compress_with_dict(bytes, &mut dictionary)
            .map_err(|e| io::Error::other(format!("LZO: {e:?}")))?;
        let stored = if packed.len() < bytes.len() {
            packed.as_slice()
        } else {
            bytes
        };
        for number in [bytes.len(), stored.len()] {
            let number = u32::try_from(number).map_err(io::Error::other)?;
            out.write_all(&number.to_be_bytes())?;
        }
        out.write_all(&adler32(bytes).to_be_bytes())?;
        out.write_all(stored)?;
    }
}
