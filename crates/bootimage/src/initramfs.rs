//! The initramfs: archives one after another, each packed or not.
//!
//! Linux takes what begins with `0` at a multiple of 4 for an archive, passes
//! over zeros, and unpacks everything else. What the processor's microcode is
//! taken from must come first, and must not be packed: it is read before
//! anything can be unpacked. Sources: Linux' `init/initramfs.c` and
//! `lib/earlycpio.c`.

mod repack;

pub use repack::{RepackError, Repacked, fingerprint, repack};

use super::cpio::{self, Entry, Reader};
use rawimage::Part;
use rawimage::compression::{Compression, Decoder};
use std::collections::BTreeMap;
use std::io;

/// More segments are not looked at.
pub const MOST_SEGMENTS: usize = 1024;

/// Folders that are read before anything is unpacked.
const EARLY: [&[u8]; 2] = [b"kernel/x86/microcode/", b"kernel/firmware/acpi/"];

/// One archive, or one packed stream of archives, in an initramfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins, bytes from the start.
    pub offset: u64,
    /// How many bytes it takes, without the zeros behind it.
    pub size: u64,
    /// How many zeros follow it.
    pub padding: u64,
    /// How it is packed.
    pub compression: Compression,
    /// How long it is unpacked.
    pub unpacked: u64,
    /// How many entries there are, by [`Entry::letter`], without the ends of
    /// archives.
    pub entries: BTreeMap<char, u64>,
    /// The content of all files, bytes.
    pub content: u64,
    /// What of it is read before anything is unpacked: names.
    pub early: Vec<String>,
    /// Whether it holds nothing else.
    pub is_only_early: bool,
    /// Whether it ends without the entry `TRAILER!!!`. Linux does not ask for it; other
    /// tools do.
    pub is_open_ended: bool,
    /// What is wrong with it.
    pub problem: Option<String>,
}

impl Segment {
    /// How many entries there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.entries.values().sum()
    }
}

/// An initramfs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Initramfs {
    /// Its parts, in order.
    pub segments: Vec<Segment>,
    /// Where it ends: behind the last zeros.
    pub end: u64,
    /// What follows that is neither an archive nor packed in a way that Linux
    /// reads: where it begins.
    pub junk: Option<u64>,
    /// What is wrong with the whole.
    pub problems: Vec<String>,
}

impl Initramfs {
    /// How long all of it is unpacked.
    #[must_use]
    pub fn unpacked(&self) -> u64 {
        self.segments.iter().map(|s| s.unpacked).sum()
    }

    /// How many entries there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.segments.iter().map(Segment::count).sum()
    }

    /// Whether all of it can be read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.junk.is_none() && self.segments.iter().all(|s| s.problem.is_none())
    }
}

/// Whether some bytes begin like an initramfs that is not packed, or like an
/// archive in cpio's old form, which Linux refuses.
#[must_use]
pub fn is_archive(bytes: &[u8]) -> bool {
    [b"070701", b"070702", b"070707"]
        .iter()
        .any(|m| bytes.starts_with(*m))
}

/// Reads an initramfs to its end. Each segment may unpack to `limit` bytes.
///
/// # Errors
/// Only that reading failed; damage is told in the result.
pub fn read(image: &Part<'_>, limit: u64) -> io::Result<Initramfs> {
    read_with(image, limit, &mut |_, _| {})
}

/// As [`read`]; `each` gets every entry with the number of its segment.
///
/// # Errors
/// Only that reading failed.
pub fn read_with(
    image: &Part<'_>,
    limit: u64,
    each: &mut dyn FnMut(usize, &Entry),
) -> io::Result<Initramfs> {
    let mut found = Initramfs::default();
    let mut at = zeros(image, 0)?;
    while at < image.len() {
        let number = found.segments.len();
        let head = image.read(at, 32)?;
        let archive = is_archive(&head) && at.is_multiple_of(4);
        let compression = match archive {
            true => Some(Compression::None),
            false => Compression::detect(&head).filter(|c| c.is_read_by_linux()),
        };
        let Some(compression) = compression.filter(|_| number < MOST_SEGMENTS) else {
            found.junk = Some(at);
            if Compression::detect(&head) == Some(Compression::Lz4Frame) {
                found.problems.push(
                    "it uses the LZ4 frame format, but Linux decompresses only the legacy format \
                     of `lz4 -l`"
                        .to_owned(),
                );
            }
            break;
        };
        let mut segment = segment(image, at, compression, limit, &mut |e| each(number, e))?;
        let end = at.saturating_add(segment.size.max(1));
        at = zeros(image, end)?;
        segment.padding = at.saturating_sub(end);
        let broken = segment.problem.is_some();
        found.segments.push(segment);
        if broken {
            // Where it would have ended is not known.
            break;
        }
    }
    found.end = at;
    judge(&mut found);
    Ok(found)
}

/// Behind the zeros that begin at `at`.
fn zeros(image: &Part<'_>, mut at: u64) -> io::Result<u64> {
    loop {
        let bytes = image.read(at, 1 << 16)?;
        if bytes.is_empty() {
            return Ok(at);
        }
        match bytes.iter().position(|b| *b != 0) {
            Some(zeros) => return Ok(at + zeros as u64),
            None => at += bytes.len() as u64,
        }
    }
}

fn segment(
    image: &Part<'_>,
    offset: u64,
    compression: Compression,
    limit: u64,
    each: &mut dyn FnMut(&Entry),
) -> io::Result<Segment> {
    let mut segment = Segment {
        offset,
        size: 0,
        padding: 0,
        compression,
        unpacked: 0,
        entries: BTreeMap::new(),
        content: 0,
        early: Vec::new(),
        is_only_early: true,
        is_open_ended: false,
        problem: None,
    };
    let part = image.from(offset);
    let plain = compression == Compression::None;
    let limit = if plain { u64::MAX } else { limit };
    let decoder = match Decoder::new(compression, &part, limit) {
        Ok(decoder) => decoder,
        Err(failure) => {
            segment.problem = Some(failure.to_string());
            return Ok(segment);
        }
    };
    let mut reader = Reader::new(decoder);
    let ended = entries(&mut reader, plain, &mut segment, each);
    let mut archive = reader.offset();
    let mut decoder = reader.into_inner();
    match ended {
        Ok(()) if plain => {}
        // Without the entry that ends it, an archive ends where another begins.
        Err(cpio::Error::Magic { offset: end, .. })
            if plain && segment.count() > 0 && another(image, offset.saturating_add(end))? =>
        {
            segment.is_open_ended = true;
            archive = end;
        }
        // To where the stream ends, with its checksum.
        Ok(()) => {
            if let Err(failure) = decoder.finish() {
                segment.problem = Some(failure.to_string());
            }
        }
        Err(cpio::Error::Io(error)) => match rawimage::compression::Failure::from(error) {
            rawimage::compression::Failure::Read(error) => return Err(error),
            failure => segment.problem = Some(failure.to_string()),
        },
        Err(error) => segment.problem = Some(error.to_string()),
    }
    segment.size = if plain { archive } else { decoder.consumed() };
    segment.unpacked = if plain { archive } else { decoder.produced() };
    segment.is_only_early &= !segment.early.is_empty();
    Ok(segment)
}

/// All entries: of one archive if it is not packed, of all of them in a packed
/// stream.
fn entries(
    reader: &mut Reader<Decoder<'_>>,
    plain: bool,
    segment: &mut Segment,
    each: &mut dyn FnMut(&Entry),
) -> Result<(), cpio::Error> {
    let mut between = false;
    while let Some(entry) = reader.next(between)? {
        between = entry.is_trailer();
        if between && plain {
            return Ok(());
        }
        if between {
            continue;
        }
        each(&entry);
        *segment.entries.entry(entry.letter()).or_default() += 1;
        segment.content = segment.content.saturating_add(u64::from(entry.size));
        let name = entry.name.strip_prefix(b"./").unwrap_or(&entry.name);
        let early = EARLY.iter().any(|folder| name.starts_with(folder));
        if early && segment.early.len() < 64 {
            let name = String::from_utf8_lossy(name).into_owned();
            segment.early.push(name);
        }
        // Folders on the way, and the mark that dracut puts there.
        let way = name == b"." || name == b"kernel" || name == b"early_cpio";
        segment.is_only_early &= way || name.starts_with(b"kernel/");
        if let Some(wanted) = entry.checksum.filter(|_| entry.letter() == '-') {
            let sum = reader.sum(&entry)?;
            if sum != wanted && segment.problem.is_none() {
                segment.problem = Some(format!(
                    "the checksum of {} is wrong: {wanted:08x} is stored, {sum:08x} is computed",
                    String::from_utf8_lossy(&entry.name)
                ));
            }
        }
    }
    segment.is_open_ended = !between && segment.count() > 0;
    Ok(())
}

/// Whether zeros, or a stream that Linux unpacks, begin at a place.
fn another(image: &Part<'_>, at: u64) -> io::Result<bool> {
    let head = image.read(at, 32)?;
    let packed = Compression::detect(&head).is_some_and(Compression::is_read_by_linux);
    Ok(packed || head.starts_with(&[0; 4]))
}

/// What is wrong with the whole.
fn judge(found: &mut Initramfs) {
    for (i, segment) in found.segments.iter().enumerate() {
        if segment.is_open_ended {
            found.problems.push(format!(
                "segment {i} ends without the entry TRAILER!!!: Linux unpacks it, other tools may \
                 refuse it"
            ));
        }
        let microcode = segment.early.iter().any(|n| n.starts_with("kernel/x86/"));
        if !microcode {
            continue;
        }
        if segment.compression != Compression::None {
            found.problems.push(format!(
                "the microcode in segment {i} is compressed, so the kernel does not find it early"
            ));
        } else if i > 0 {
            found.problems.push(format!(
                "the microcode is in segment {i} instead of the first one, so the kernel does not \
                 find it early"
            ));
        }
    }
    if let Some(at) = found.junk {
        found.problems.push(format!(
            "byte {at} begins neither an archive nor a stream that Linux decompresses; the kernel \
             stops there"
        ));
    }
}
