//! A capture over a line that may lose or garble bytes: a serial or virtio port.
//!
//! The bytes go as lines of text, one frame a line, so that they get through
//! consoles, terminal servers and loggers, and stand between other lines:
//!
//! ```text
//! FLF1 9ae0daaf 20480 384 bm90aGluZyB0byBzZWU= 5ff1210d
//! ```
//!
//! | word | what |
//! |---|---|
//! | `FLF1` | the kind, and the version of the format |
//! | `9ae0daaf` | CRC-32 of all bytes, which also tells one capture from another |
//! | `20480` | the length of all bytes |
//! | `384` | where in them these lie |
//! | `bm90...` | at most 384 bytes, in base64 (RFC 4648) with padding |
//! | `5ff1210d` | CRC-32 of the line up to and without the last space |
//!
//! The CRC is that of Ethernet and zlib. Behind the last frame the sender writes
//! `FLF1 9ae0daaf 20480 end` and a CRC of the same kind, and listens for a short
//! time. The receiver may answer with a line
//!
//! ```text
//! FLR1 9ae0daaf 384+384,3840+768
//! ```
//!
//! to get these ranges again, or `FLR1 9ae0daaf ok`. A receiver that only listens
//! is served as well: frames may come in any order and any number of times.

use crate::bytes::{Crc32, crc32, find};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;

/// What a frame begins with.
const FRAME: &[u8] = b"FLF1 ";

/// What an answer begins with.
const ANSWER: &[u8] = b"FLR1 ";

/// The most bytes of the content in one frame.
pub const FRAME_BYTES: usize = 384;

/// An answer names at most so many ranges: more fit into no line.
const MOST_RANGES: usize = 64;

/// Captures that are remembered at a time: a log of several boots holds several.
const MOST_CONTENTS: usize = 8;

/// Which bytes a frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Content {
    /// CRC-32 of all of them.
    pub crc: u32,
    /// How many they are.
    pub length: u64,
}

/// Counts bytes and computes their CRC: what has to be known before the first
/// frame can be sent.
#[derive(Clone, Debug, Default)]
pub struct Measure {
    crc: Crc32,
    length: u64,
}

impl Measure {
    /// What the frames of these bytes will say.
    #[must_use]
    pub fn content(&self) -> Content {
        Content {
            crc: self.crc.value(),
            length: self.length,
        }
    }
}

impl Write for Measure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.crc.update(bytes);
        self.length = self.length.saturating_add(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes bytes as frames: all of them, or those of some ranges.
#[derive(Debug)]
pub struct FrameWriter<W> {
    out: W,
    content: Content,
    wanted: Option<Vec<Range<u64>>>,
    /// Where `frame` lies in the content.
    at: u64,
    frame: Vec<u8>,
}

impl<W: Write> FrameWriter<W> {
    /// Frames of `content`; of those bytes only that are `wanted`, if that is
    /// said. All of the content has to be written.
    #[must_use]
    pub fn new(out: W, content: Content, wanted: Option<Vec<Range<u64>>>) -> Self {
        Self {
            out,
            content,
            wanted,
            at: 0,
            frame: Vec::with_capacity(FRAME_BYTES),
        }
    }

    /// Sends what is left, and says that this was all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.send()?;
        let Content { crc, length } = self.content;
        let line = closed(format!("FLF1 {crc:08x} {length} end"));
        self.out.write_all(line.as_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn send(&mut self) -> io::Result<()> {
        let begin = self.at;
        self.at = begin.saturating_add(self.frame.len() as u64);
        let asked = |r: &Range<u64>| r.start < self.at && begin < r.end;
        let wanted = self.wanted.as_ref();
        if !self.frame.is_empty() && wanted.is_none_or(|w| w.iter().any(asked)) {
            let Content { crc, length } = self.content;
            let text = STANDARD.encode(&self.frame);
            let line = closed(format!("FLF1 {crc:08x} {length} {begin} {text}"));
            self.out.write_all(line.as_bytes())?;
        }
        self.frame.clear();
        Ok(())
    }
}

impl<W: Write> Write for FrameWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = FRAME_BYTES.saturating_sub(self.frame.len());
        let fits = bytes.get(..room).unwrap_or(bytes);
        self.frame.extend_from_slice(fits);
        if self.frame.len() == FRAME_BYTES {
            self.send()?;
        }
        Ok(fits.len())
    }

    /// A frame is sent when it is full, or the last one.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A line with its CRC and its end. Terminals of all kinds understand CR LF.
fn closed(line: String) -> String {
    let crc = crc32(line.as_bytes());
    format!("{line} {crc:08x}\r\n")
}

/// What the receiver wants, by the line of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All has arrived.
    Complete,
    /// These ranges of the content have not.
    Again(Vec<Range<u64>>),
}

impl Answer {
    /// Understands a line, if it is an answer about `content`.
    #[must_use]
    pub fn parse(line: &[u8], content: Content) -> Option<Self> {
        let begin = find(line, ANSWER)?;
        let text = std::str::from_utf8(line.get(begin + ANSWER.len()..)?).ok()?;
        let (crc, rest) = text.trim_ascii_end().split_once(' ')?;
        if u32::from_str_radix(crc, 16).ok()? != content.crc {
            return None;
        }
        if rest == "ok" {
            return Some(Self::Complete);
        }
        let range = |r: &str| {
            let (begin, length) = r.split_once('+')?;
            let begin: u64 = begin.parse().ok()?;
            Some(begin..begin.checked_add(length.parse().ok()?)?)
        };
        let ranges: Option<Vec<_>> = rest.split(',').map(range).collect();
        Some(Self::Again(ranges?))
    }
}

/// What a line was to [`Reassembly::line`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// No frame.
    Text,
    /// A frame, or several that had lost the end of line between them.
    Frame,
    /// The sender says that it has sent all.
    End,
    /// Something that was a frame once; other text may have come between.
    Damaged,
}

/// Why there is no content to be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// No frame came.
    #[error(
        "no capture frame (a line that begins with `FLF1`) was found; check that the agent writes \
         to this port at this speed"
    )]
    Nothing,
    /// Parts are missing.
    #[error(
        "{missing} of {length} bytes of the capture are missing, the first at byte {first} \
         ({damaged} damaged frames); send it again, or use a slower or better line"
    )]
    Incomplete {
        /// How many bytes did not arrive.
        missing: u64,
        /// How many there should be.
        length: u64,
        /// Where the first of the missing ones should be.
        first: u64,
        /// Lines that were frames once.
        damaged: u64,
    },
    /// All frames are there, and yet it is not what was sent.
    #[error(
        "all {length} bytes of the capture arrived, but their CRC is {found:08x} instead of \
         {expected:08x}; send it again"
    )]
    Crc {
        /// How many bytes.
        length: u64,
        /// What the frames say.
        expected: u32,
        /// What the bytes have.
        found: u32,
    },
    /// A frame says that the content is longer than the reader takes.
    #[error(
        "the capture states a length of {length} bytes, above the limit of {limit}; capture again \
         with less data"
    )]
    TooLarge {
        /// What the frame says.
        length: u64,
        /// The limit.
        limit: u64,
    },
}

/// The host's half: puts frames together.
///
/// Memory grows with the frames that come, never with what they claim.
#[derive(Clone, Debug)]
pub struct Reassembly {
    limit: u64,
    /// The newest last.
    contents: Vec<(Content, Pieces)>,
    damaged: u64,
    /// The length of a content over the limit.
    too_large: Option<u64>,
}

/// Bytes by where they lie. No two overlap.
type Pieces = BTreeMap<u64, Vec<u8>>;

impl Reassembly {
    /// Takes contents of at most `limit` bytes.
    #[must_use]
    pub const fn new(limit: u64) -> Self {
        Self {
            limit,
            contents: Vec::new(),
            damaged: 0,
            too_large: None,
        }
    }

    /// Takes a line, with or without its end. Text before a frame, or between
    /// frames, does no harm.
    pub fn line(&mut self, line: &[u8]) -> Line {
        let mut found = Line::Text;
        let mut left = line;
        while let Some(begin) = find(left, FRAME) {
            let frame = left.get(begin..).unwrap_or_default();
            left = frame.get(FRAME.len()..).unwrap_or_default();
            let kind = match parse(frame) {
                Some((content, Part::End)) => {
                    self.content(content);
                    Line::End
                }
                Some((content, Part::Bytes(at, bytes))) => self.take(content, at, bytes),
                None => {
                    self.damaged = self.damaged.saturating_add(1);
                    Line::Damaged
                }
            };
            // Of several, what is whole counts more.
            if found == Line::Text || kind == Line::End || found == Line::Damaged {
                found = kind;
            }
        }
        found
    }

    fn take(&mut self, content: Content, at: u64, bytes: Vec<u8>) -> Line {
        let length = bytes.len() as u64;
        if let Some(pieces) = self.content(content) {
            let before = pieces.range(..=at).next_back();
            let free_from = before.map_or(0, |(at, b)| at.saturating_add(b.len() as u64));
            let next = pieces.range(at..).next().map_or(u64::MAX, |(at, _)| *at);
            // Frames that a sender cut differently do not fit beside these.
            if free_from <= at && at.saturating_add(length) <= next {
                pieces.insert(at, bytes);
            }
        }
        Line::Frame
    }

    /// The pieces of a content, unless it is over the limit.
    fn content(&mut self, content: Content) -> Option<&mut Pieces> {
        if content.length > self.limit {
            self.too_large = Some(content.length);
            return None;
        }
        match self.contents.iter().position(|c| c.0 == content) {
            // The one that came last stands last.
            Some(i) => {
                let known = self.contents.remove(i);
                self.contents.push(known);
            }
            None => {
                if self.contents.len() >= MOST_CONTENTS {
                    self.contents.remove(0);
                }
                self.contents.push((content, Pieces::new()));
            }
        }
        self.contents.last_mut().map(|c| &mut c.1)
    }

    /// How many bytes of the newest content are there, and how many there should
    /// be.
    #[must_use]
    pub fn progress(&self) -> Option<(u64, u64)> {
        let (content, pieces) = self.contents.last()?;
        Some((held(pieces), content.length))
    }

    /// The answer to send back about the newest content, with the end of line.
    #[must_use]
    pub fn answer(&self) -> Option<String> {
        let (content, pieces) = self.contents.last()?;
        let mut ranges = Vec::new();
        for gap in gaps(content.length, pieces).take(MOST_RANGES) {
            ranges.push(format!("{}+{}", gap.start, gap.end - gap.start));
        }
        let what = match ranges.is_empty() {
            true => "ok".to_owned(),
            false => ranges.join(","),
        };
        Some(format!("FLR1 {:08x} {what}\n", content.crc))
    }

    /// The newest content that is whole.
    ///
    /// # Errors
    /// If none is: about the newest one.
    pub fn finish(self) -> Result<Vec<u8>, FrameError> {
        let mut why = None;
        for (content, pieces) in self.contents.into_iter().rev() {
            match whole(content, pieces, self.damaged) {
                Ok(bytes) => return Ok(bytes),
                Err(e) => why = why.or(Some(e)),
            }
        }
        Err(match (why, self.too_large) {
            (Some(why), _) => why,
            (None, Some(length)) => FrameError::TooLarge {
                length,
                limit: self.limit,
            },
            (None, None) => FrameError::Nothing,
        })
    }
}

fn held(pieces: &Pieces) -> u64 {
    pieces.values().map(|b| b.len() as u64).sum()
}

/// What is missing.
fn gaps(length: u64, pieces: &Pieces) -> impl Iterator<Item = Range<u64>> {
    let ends = pieces
        .iter()
        .map(|(at, b)| at.saturating_add(b.len() as u64));
    let begins = pieces.keys().copied().chain([length]);
    let gaps = std::iter::once(0).chain(ends).zip(begins);
    gaps.map(|(end, begin)| end..begin)
        .filter(|g| !g.is_empty())
}

fn whole(content: Content, pieces: Pieces, damaged: u64) -> Result<Vec<u8>, FrameError> {
    let Content { crc, length } = content;
    if let Some(gap) = gaps(length, &pieces).next() {
        return Err(FrameError::Incomplete {
            missing: length.saturating_sub(held(&pieces)),
            length,
            first: gap.start,
            damaged,
        });
    }
    let bytes: Vec<u8> = pieces.into_values().flatten().collect();
    let found = crc32(&bytes);
    match found == crc {
        true => Ok(bytes),
        false => Err(FrameError::Crc {
            length,
            expected: crc,
            found,
        }),
    }
}

enum Part {
    Bytes(u64, Vec<u8>),
    End,
}

/// A frame at the start of `line`.
fn parse(line: &[u8]) -> Option<(Content, Part)> {
    let mut words = line.splitn(6, |b| *b == b' ').skip(1);
    let crc = hex(words.next()?)?;
    let length = decimal(words.next()?)?;
    let content = Content { crc, length };
    let (place, text) = (words.next()?, words.next()?);
    if place == b"end" {
        let covered = line.len().checked_sub(text.len() + 1)?;
        // The fourth word is the CRC; more text may follow it.
        let covered = match words.next() {
            None => covered,
            Some(rest) => covered.checked_sub(rest.len() + 1)?,
        };
        return sealed(line, covered, text).then_some((content, Part::End));
    }
    let seal = words.next()?;
    let covered = line.len().checked_sub(seal.len() + 1)?;
    if !sealed(line, covered, seal) {
        return None;
    }
    let (at, bytes) = (decimal(place)?, STANDARD.decode(text).ok()?);
    let end = at.checked_add(bytes.len() as u64)?;
    let good = !bytes.is_empty() && bytes.len() <= FRAME_BYTES && end <= length;
    good.then_some((content, Part::Bytes(at, bytes)))
}

/// Whether the CRC at the start of `seal` is that of the line before it.
fn sealed(line: &[u8], covered: usize, seal: &[u8]) -> bool {
    let said = seal.get(..8).and_then(hex);
    let covered = line.get(..covered).map(crc32);
    said.is_some() && said == covered
}

/// Eight hexadecimal digits.
fn hex(word: &[u8]) -> Option<u32> {
    let digits = word.len() == 8 && word.iter().all(u8::is_ascii_hexdigit);
    u32::from_str_radix(std::str::from_utf8(word).ok().filter(|_| digits)?, 16).ok()
}

fn decimal(word: &[u8]) -> Option<u64> {
    let digits = word.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(word)
        .ok()
        .filter(|_| digits)?
        .parse()
        .ok()
}
