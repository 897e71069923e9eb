//! Looking at an image or a device block by block, without mounting it.

use super::detect::{self, EraseSize, LARGEST};
use super::error::Error;
use super::examine::{Block, examine};
use super::mount::{Estimate, NANDSIM, NOR, Profile, Reads};
use super::node::{HEADER, Header, kind};
use super::oob::{Oob, Stripped, has_cleanmarker};
use super::problem::{Problem, What};
use super::walk::erased_prefix;
use crate::transfer::TransferError;
use rawimage::Foreign;
use rawimage::ReadAt;
use rawimage::endian::Endian;
use std::collections::BTreeSet;

/// What an erase block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Marked as bad, or not readable.
    Bad,
    /// Nothing but 0xff, and no clean marker.
    Erased,
    /// Nothing but 0xff behind a clean marker, in the data or the spare bytes.
    ErasedCleanmarker,
    /// Used to less than half, without a summary.
    Partial,
    /// Used to less than half, with a summary that the kernel uses.
    PartialSummary,
    /// Used to at least half, without a summary.
    Full,
    /// Used to at least half, with a summary that the kernel uses.
    FullSummary,
    /// With a summary that the kernel will not use.
    BrokenSummary,
    /// Not JFFS2.
    Foreign,
}

impl Class {
    /// All of them, in the order of a report.
    pub const ALL: [Self; 9] = [
        Self::Bad,
        Self::Erased,
        Self::ErasedCleanmarker,
        Self::Partial,
        Self::PartialSummary,
        Self::Full,
        Self::FullSummary,
        Self::BrokenSummary,
        Self::Foreign,
    ];

    /// The name in `--json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Erased => "erased",
            Self::ErasedCleanmarker => "erased_cleanmarker",
            Self::Partial => "partial",
            Self::PartialSummary => "partial_summary",
            Self::Full => "full",
            Self::FullSummary => "full_summary",
            Self::BrokenSummary => "broken_summary",
            Self::Foreign => "foreign",
        }
    }
}

/// Whether a dump has spare bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spare {
    /// Find out.
    Detect,
    /// It has none.
    None,
    /// It has, in this layout.
    Given(Oob),
}

/// What is known about the image, and what is asked.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Size of an erase block, bytes; `None` finds it.
    pub erase_size: Option<u32>,
    /// Byte order; `None` finds it.
    pub endian: Option<Endian>,
    /// Spare bytes.
    pub spare: Spare,
    /// Numbers of the blocks that the device says are bad.
    pub bad_blocks: BTreeSet<u64>,
    /// Numbers of the blocks whose spare bytes, as the device gives them, hold the
    /// kernel's clean marker.
    pub clean_blocks: BTreeSet<u64>,
    /// Blocks of the chip, if it is larger than the image: the rest is taken
    /// as erased when the mount time is estimated.
    pub device_blocks: Option<u64>,
    /// The chip to estimate the mount time for; `None` takes the one that fits
    /// the image's clean markers.
    pub profile: Option<Profile>,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            erase_size: None,
            endian: None,
            spare: Spare::Detect,
            bad_blocks: BTreeSet::new(),
            clean_blocks: BTreeSet::new(),
            device_blocks: None,
            profile: None,
        }
    }
}

/// Where the bytes of an image go. Bad blocks are in none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Nodes that are not marked as obsolete, with their padding to four bytes.
    pub nodes: u64,
    /// Nodes that are marked as obsolete, which happens on NOR only.
    pub obsolete: u64,
    /// Nodes with wrong checksums.
    pub damaged: u64,
    /// Bytes that belong to no node, in blocks that hold nodes.
    pub garbage: u64,
    /// Summaries.
    pub summaries: u64,
    /// Blocks that are not JFFS2.
    pub foreign: u64,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Size of an erase block, bytes, that was worked with.
    pub erase_size: u32,
    /// The erase size that the content shows.
    pub erase_size_found: Option<EraseSize>,
    /// Byte order; `None` if there is no node.
    pub endian: Option<Endian>,
    /// Layout of the spare bytes, if there are any.
    pub oob: Option<Oob>,
    /// How many erase blocks.
    pub blocks: u64,
    /// One character per erase block:
    ///
    /// | | |
    /// |---|---|
    /// | `B` | bad, or not readable |
    /// | `.` | erased, with or without a clean marker |
    /// | `-` | less than half used, no summary that the kernel uses |
    /// | `=` | at least half used, no summary that the kernel uses |
    /// | `s` | less than half used, with a summary |
    /// | `S` | at least half used, with a summary |
    pub map: String,
    /// How many blocks of each class, in the order of [`Class::ALL`].
    pub classes: Vec<(Class, u64)>,
    /// Where the bytes go.
    pub bytes: Bytes,
    /// What is wrong, in order; those of the whole image first.
    pub problems: Vec<Problem>,
    /// How long a mount takes.
    pub mount: Estimate,
}

/// Linux, fs/jffs2/summary.h.
const MAX_SUMMARY_SIZE: u32 = 65_536;

impl Report {
    /// How many blocks of a class there are.
    #[must_use]
    pub fn count(&self, class: Class) -> u64 {
        let found = self.classes.iter().find(|(c, _)| *c == class);
        found.map_or(0, |(_, n)| *n)
    }

    /// Memory that a kernel with CONFIG_JFFS2_SUMMARY takes at each mount for the summary of
    /// the block that is being written, bytes: as much as an erase block, but at most 64 KiB
    /// (Linux, fs/jffs2/summary.c: `jffs2_sum_init`, `MAX_SUMMARY_SIZE`). The list of the
    /// nodes in that block comes to it.
    #[must_use]
    pub fn summary_memory(&self) -> u32 {
        self.erase_size.min(MAX_SUMMARY_SIZE)
    }

    /// The part of all node bytes that is obsolete or damaged, per mille.
    #[must_use]
    pub fn obsolete_per_mille(&self) -> u64 {
        let dead = self.bytes.obsolete + self.bytes.damaged;
        (dead * 1000)
            .checked_div(dead + self.bytes.nodes)
            .unwrap_or(0)
    }
}

/// What is worked on: the image without spare bytes, and those apart.
struct Input<'a> {
    image: &'a dyn ReadAt,
    stripped: Option<Stripped<'a>>,
}

impl Input<'_> {
    fn data(&self) -> &dyn ReadAt {
        match &self.stripped {
            Some(stripped) => stripped,
            None => self.image,
        }
    }
}

/// Checks an image or a device. Memory is a few erase blocks and a byte for
/// each of them, apart from the problems.
///
/// # Errors
/// It is not JFFS2, the erase size cannot be found or is impossible, or its
/// length cannot be read. Blocks that cannot be read are [`Class::Bad`].
pub fn check(image: &dyn ReadAt, options: &CheckOptions) -> Result<Report, Error> {
    let length = image.length().map_err(TransferError::Length)?;
    let found = detect::endian(image).map_err(TransferError::Length)?;
    if let (Some(given), Some(found)) = (options.endian, found)
        && given != found
    {
        return Err(Error::WrongEndian { given, found });
    }
    let Some(endian) = found else {
        return check_foreign(image, length, options);
    };
    let oob = match options.spare {
        Spare::Detect => Oob::detect(image, endian),
        Spare::None => None,
        Spare::Given(oob) => Some(oob.checked()?),
    };
    let stripped = oob.map(|oob| Stripped { image, oob });
    let input = Input { image, stripped };
    let found = detect::erase_size(input.data(), endian).map_err(TransferError::Length)?;
    let known = options.erase_size.or(found.map(|f| f.bytes));
    let erase_size = known.unwrap_or_else(|| assumed(input.data().length().unwrap_or(length)));
    let profile = options.profile;
    let profile = profile.unwrap_or_else(|| fitting(input.data(), endian, erase_size));
    let mut survey = Survey::new(erase_size, Some(endian), profile)?;
    if known.is_none() {
        survey.problem(None, What::EraseSizeAssumed);
    }
    if let Some(found) = found.filter(|f| f.bytes != erase_size) {
        survey.problem(None, What::WrongEraseSize { found });
    }
    survey.blocks(&input, options)?;
    Ok(survey.report(found, oob, options))
}

/// The erase size of an image that does not show it: it has one block, or it is
/// not even known where one ends. 64 KiB is what `mkfs.jffs2` takes by default.
fn assumed(length: u64) -> u32 {
    let whole = u32::try_from(length.next_power_of_two()).unwrap_or(LARGEST);
    whole.clamp(1 << 16, LARGEST)
}

/// The erase size of an image that has no block to tell it by; the most common
/// one of NAND.
const ERASED: u32 = 1 << 17;

/// The chip that an image is for: a clean marker stands in the data of a block
/// on NOR only, on NAND in the spare bytes.
fn fitting(image: &dyn ReadAt, endian: Endian, erase_size: u32) -> Profile {
    let starts = (0..16).map(|number| number * u64::from(erase_size));
    let marked = starts.into_iter().any(|at| {
        let mut bytes = [0; HEADER];
        let read = image.read_exact_at(at, &mut bytes);
        read.is_ok() && Header::parse(endian, &bytes).is_ok_and(|h| h.kind == kind::CLEANMARKER)
    });
    if marked { NOR } else { NANDSIM }
}

/// The first bytes of an image.
fn head(image: &dyn ReadAt, length: u64) -> Result<Vec<u8>, Error> {
    let mut head = vec![0; usize::try_from(length.min(1 << 18)).unwrap_or(0)];
    match image.read_exact_at(0, &mut head) {
        Ok(()) => Ok(head),
        Err(source) => Err(TransferError::Read {
            offset: 0,
            length: head.len(),
            source,
        }
        .into()),
    }
}

/// What to say of an image without a single node.
pub(super) fn not_jffs2(image: &dyn ReadAt, length: u64) -> Result<Error, Error> {
    let looks = Foreign::recognise(&head(image, length)?);
    Ok(Error::NotJffs2 {
        length,
        found: (looks != Foreign::Unknown).then_some(looks.name()),
    })
}

/// Refuses what holds no node, unless it is erased.
///
/// # Errors
/// [`Error::NotJffs2`], or the image cannot be read.
pub fn refuse_foreign(image: &dyn ReadAt) -> Result<(), Error> {
    let length = image.length().map_err(TransferError::Length)?;
    let head = head(image, length)?;
    let erased = !head.is_empty() && erased_prefix(&head) == head.len();
    let found = super::detect::endian(image).map_err(TransferError::Length)?;
    match erased || found.is_some() {
        true => Ok(()),
        false => Err(not_jffs2(image, length)?),
    }
}

/// An image without a single node.
fn check_foreign(image: &dyn ReadAt, length: u64, options: &CheckOptions) -> Result<Report, Error> {
    let head = head(image, length)?;
    let erased = !head.is_empty() && erased_prefix(&head) == head.len();
    // What shares a chip with JFFS2, and is worth a picture.
    let on_flash = matches!(
        Foreign::recognise(&head),
        Foreign::Ubi
            | Foreign::Ubifs
            | Foreign::Squashfs
            | Foreign::Cramfs
            | Foreign::Romfs
            | Foreign::UbootEnvironment
            | Foreign::Uimage
    );
    if !erased && !on_flash {
        return Err(not_jffs2(image, length)?);
    }
    let found = options.erase_size.or_else(|| ubi_erase_size(&head));
    let erase_size = found.unwrap_or(ERASED);
    let profile = options.profile.unwrap_or(NANDSIM);
    let mut survey = Survey::new(erase_size, None, profile)?;
    if found.is_none() {
        survey.problem(None, What::EraseSizeAssumed);
    }
    let stripped = None;
    survey.blocks(&Input { image, stripped }, options)?;
    Ok(survey.report(None, None, options))
}

/// The distance of the first two UBI headers.
fn ubi_erase_size(head: &[u8]) -> Option<u32> {
    let second = (13..=18).map(|bits| 1_usize << bits).find(|&at| {
        let there = head.get(at..);
        there.is_some_and(|bytes| bytes.starts_with(b"UBI#"))
    })?;
    u32::try_from(second)
        .ok()
        .filter(|_| head.starts_with(b"UBI#"))
}

/// A check in work.
struct Survey {
    erase_size: u32,
    endian: Option<Endian>,
    profile: Profile,
    blocks: u64,
    map: String,
    classes: Vec<(Class, u64)>,
    bytes: Bytes,
    problems: Vec<Problem>,
    scan: Reads,
    summary: Reads,
    /// The last block that holds something, if it has no valid summary: its class,
    /// and how long a summary would be. It may be the one that stays open.
    last: Option<(Class, u32)>,
    now: Reads,
}

impl Survey {
    fn new(erase_size: u32, endian: Option<Endian>, profile: Profile) -> Result<Self, Error> {
        if !(4096..=LARGEST).contains(&erase_size) || !erase_size.is_multiple_of(4) {
            return Err(Error::ImpossibleEraseSize { given: erase_size });
        }
        Ok(Self {
            erase_size,
            endian,
            profile,
            blocks: 0,
            map: String::new(),
            classes: Class::ALL.map(|class| (class, 0)).to_vec(),
            bytes: Bytes::default(),
            problems: Vec::new(),
            scan: Reads::default(),
            summary: Reads::default(),
            last: None,
            now: Reads::default(),
        })
    }

    /// Notes a problem; equal ones of neighbouring blocks become one.
    fn problem(&mut self, block: Option<u64>, what: What) {
        // What follows on a foreign block is most likely the rest of it.
        let same = |last: &What| {
            *last == what
                || what == What::Foreign(Foreign::Unknown) && matches!(last, What::Foreign(_))
        };
        if !Problem::goes_on(&mut self.problems, block, same) {
            self.problems.push(Problem::new(block, what));
        }
    }

    fn blocks(&mut self, input: &Input, options: &CheckOptions) -> Result<(), Error> {
        let data = input.data();
        let length = data.length().map_err(TransferError::Length)?;
        let size = u64::from(self.erase_size);
        let count = length.div_ceil(size);
        let (bad, marked) = self.marks(input, count);
        let mut buffer = vec![0xff; self.erase_size as usize];
        for number in 0..count {
            let start = number * size;
            let there = usize::try_from(size.min(length - start)).unwrap_or(buffer.len());
            buffer[there..].fill(0xff);
            let read = data.read_exact_at(start, &mut buffer[..there]);
            if let Err(source) = read {
                let kind = source.kind();
                self.problem(Some(number), What::Unreadable(kind));
                self.count(Class::Bad, 'B');
                continue;
            }
            let block = examine(self.endian, &buffer);
            let is_bad = options.bad_blocks.contains(&number) || bad.contains(&number);
            if is_bad && block.nodes > 0 {
                self.problem(Some(number), What::BadWithNodes { nodes: block.nodes });
            }
            if is_bad {
                self.count(Class::Bad, 'B');
                continue;
            }
            let is_clean = marked.contains(&number) || options.clean_blocks.contains(&number);
            self.block(number, &block, is_clean);
        }
        self.blocks = count;
        Ok(())
    }

    /// The blocks that are marked in their spare bytes: as bad, and as clean.
    fn marks(&mut self, input: &Input, count: u64) -> (BTreeSet<u64>, BTreeSet<u64>) {
        let (mut bad, mut clean) = (BTreeSet::new(), BTreeSet::new());
        let (Some(stripped), Some(endian)) = (&input.stripped, self.endian) else {
            return (bad, clean);
        };
        let pages = u64::from(self.erase_size / stripped.oob.page.max(1)).max(1);
        let marker = stripped.oob.bad_marker() as usize;
        for number in 0..count {
            for page in [0, 1] {
                let spare = stripped.spare(number * pages + page);
                let spare = spare.ok().flatten().unwrap_or_default();
                if has_cleanmarker(endian, &spare) {
                    clean.insert(number);
                } else if spare.get(marker).is_some_and(|b| *b != 0xff) {
                    bad.insert(number);
                }
            }
        }
        bad.retain(|number| !clean.contains(number));
        // No chip ships with more than a few percent of bad blocks: the marks
        // are elsewhere, and what stands here is error correction.
        if bad.len() as u64 * 4 > count.max(4) {
            self.problem(
                None,
                What::BadMarksImplausible {
                    blocks: bad.len() as u64,
                },
            );
            bad.clear();
        }
        (bad, clean)
    }

    fn count(&mut self, class: Class, letter: char) {
        if let Some((_, count)) = self.classes.iter_mut().find(|(c, _)| *c == class) {
            *count += 1;
        }
        self.map.push(letter);
    }

    fn block(&mut self, number: u64, block: &Block, marked_clean: bool) {
        let storage = self.profile.storage;
        let half = (self.erase_size / 2) as usize;
        let (class, letter) = match block.used {
            0 if marked_clean => (Class::ErasedCleanmarker, '.'),
            0 => (Class::Erased, '.'),
            _ if block.is_only_cleanmarker => (Class::ErasedCleanmarker, '.'),
            used => {
                let few = match block.summary_offset {
                    Some(offset) => (offset as usize) < half,
                    None => used < half,
                };
                let plain = if few { '-' } else { '=' };
                match (block.foreign, block.broken, block.summary_offset, few) {
                    (Some(_), ..) => (Class::Foreign, plain),
                    (_, Some(_), ..) => (Class::BrokenSummary, plain),
                    (.., Some(_), true) => (Class::PartialSummary, 's'),
                    (.., Some(_), false) => (Class::FullSummary, 'S'),
                    (.., true) => (Class::Partial, plain),
                    (.., false) => (Class::Full, plain),
                }
            }
        };
        self.count(class, letter);
        match class {
            Class::Erased | Class::ErasedCleanmarker => {
                self.scan.erased(storage, 1);
                self.summary.erased(storage, 1);
                self.now.erased(storage, 1);
            }
            _ => {
                self.scan.scanned(storage, self.erase_size);
                match block.summary_length {
                    Some(length) => self.now.summarized(storage, length),
                    None => self.now.scanned(storage, self.erase_size),
                }
                if let Some((_, length)) = self.last.take() {
                    self.summary.summarized(storage, length);
                }
                let partial = matches!(class, Class::Partial | Class::Foreign);
                match block.summary_length {
                    Some(length) => self.summary.summarized(storage, length),
                    None if partial => self.summary.scanned(storage, self.erase_size),
                    None => self.last = Some((class, block.summary_needed)),
                }
            }
        }
        let bytes = &mut self.bytes;
        bytes.nodes += block.live;
        bytes.obsolete += block.obsolete;
        bytes.damaged += block.damaged;
        bytes.garbage += block.garbage;
        bytes.summaries += u64::from(block.summary_length.unwrap_or(0));
        if block.foreign.is_some() {
            bytes.foreign += block.used as u64;
        }
        for what in &block.problems {
            self.problem(Some(number), *what);
        }
    }

    fn report(
        mut self,
        erase_size_found: Option<EraseSize>,
        oob: Option<Oob>,
        options: &CheckOptions,
    ) -> Report {
        let count = |class| {
            let found = self.classes.iter().find(|(c, _)| *c == class);
            found.map_or(0, |(_, n)| *n)
        };
        let (full, marked) = (count(Class::Full), count(Class::ErasedCleanmarker));
        let erased = count(Class::Erased);
        let storage = self.profile.storage;
        let beyond = options.device_blocks.unwrap_or(0);
        let beyond = beyond.saturating_sub(self.blocks);
        for reads in [&mut self.scan, &mut self.summary, &mut self.now] {
            reads.erased(storage, beyond);
        }
        // The kernel goes on writing in the last one, so no tool closes it.
        if self.last.is_some() {
            self.summary.scanned(storage, self.erase_size);
        }
        let open = self.last.is_some_and(|(class, _)| class == Class::Full);
        let full = full.saturating_sub(u64::from(open));
        if full > 0 {
            self.problem(None, What::NoSummary { blocks: full });
        }
        if erased > 0 && marked > 0 {
            self.problem(None, What::NoCleanmarker { blocks: erased });
        }
        // Those of the whole image first.
        self.problems.sort_by_key(|p| p.block);
        Report {
            erase_size: self.erase_size,
            erase_size_found,
            endian: self.endian,
            oob,
            blocks: self.blocks,
            map: self.map,
            classes: self.classes,
            bytes: self.bytes,
            problems: self.problems,
            mount: Estimate {
                profile: self.profile,
                scan_ns: storage.time_ns(self.scan),
                summary_ns: storage.time_ns(self.summary),
                now_ns: storage.time_ns(self.now),
                now: self.now,
            },
        }
    }
}
