//! What each physical erase block is, by the kernel's rules (`scan_peb` and
//! `ubi_add_to_av` of `attach.c`).

use super::error::Error;
use super::format::{
    Crc, FASTMAP_ANCHOR, FASTMAP_DATA, FASTMAP_SEARCHED, INTERNAL_VOLUMES, LAYOUT_VOLUME,
};
use super::header::{Ec, HEADER, MOST_ERASES, Read, VERSION, Vid, VolumeType, compatibility};
use super::layout::Layout;
use super::problem::{self, Problem, What};
use crate::transfer::TransferError;
use rawimage::ReadAt;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// How much data is read at a time.
const PIECE: usize = 64 * 1024;

/// What a physical erase block is to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Marked as bad, or not readable.
    Bad,
    /// Without an erase counter header; UBI erases it and writes one.
    Empty,
    /// With an erase counter header and nothing else.
    Free,
    /// Half written or half erased; UBI erases it.
    Erase,
    /// The identifier header is damaged, and there is data; UBI keeps it.
    Corrupted,
    /// Holds an older copy of a logical block; UBI erases it.
    Old,
    /// Holds a copy of the volume table.
    Layout,
    /// Holds a part of a fastmap.
    Fastmap,
    /// Belongs to an internal volume that the kernel does not know.
    Foreign,
    /// Holds a logical block of this volume.
    Volume(u32),
}

impl State {
    /// One character for the map.
    ///
    /// | | |
    /// |---|---|
    /// | `B` | bad |
    /// | `.` | empty |
    /// | `-` | free |
    /// | `x` | to be erased |
    /// | `!` | corrupted |
    /// | `~` | an older copy |
    /// | `L` | volume table |
    /// | `F` | fastmap |
    /// | `?` | of an unknown internal volume |
    /// | `0` to `9`, `a` to `w` | of volume 0 to 9, 10 to 32 |
    /// | `+` | of a volume from 33 on |
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Bad => 'B',
            Self::Empty => '.',
            Self::Free => '-',
            Self::Erase => 'x',
            Self::Corrupted => '!',
            Self::Old => '~',
            Self::Layout => 'L',
            Self::Fastmap => 'F',
            Self::Foreign => '?',
            Self::Volume(id) if id < 33 => char::from_digit(id, 33).unwrap_or('+'),
            Self::Volume(_) => '+',
        }
    }

    /// The name in `--json`; all volumes have the same.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Empty => "empty",
            Self::Free => "free",
            Self::Erase => "erase",
            Self::Corrupted => "corrupted",
            Self::Old => "old",
            Self::Layout => "layout",
            Self::Fastmap => "fastmap",
            Self::Foreign => "foreign",
            Self::Volume(_) => "volume",
        }
    }
}

/// A logical block, and the physical one that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leb {
    /// The volume.
    pub volume: u32,
    /// Its number in the volume.
    pub leb: u32,
    /// The physical block.
    pub block: u32,
    /// The higher one is the newer copy.
    pub sequence: u64,
    /// Bytes of data, of static volumes and copies.
    pub data_size: u32,
    /// Checksum of the data, of static volumes and copies.
    pub data_crc: u32,
    /// Whether wear-levelling made it.
    pub is_copy: bool,
}

/// What the headers of the blocks of one volume agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its type.
    pub volume_type: VolumeType,
    /// Logical blocks in use, of static volumes.
    pub used_blocks: u32,
    /// Bytes at the end of each block that are not used.
    pub data_pad: u32,
}

/// The erase blocks of an image.
#[derive(Debug)]
pub struct Blocks {
    /// How the image is laid out.
    pub layout: Layout,
    /// What each block is.
    pub states: Vec<State>,
    /// The erase counter of each block; `None` where it is not known.
    pub erases: Vec<Option<u32>>,
    /// The logical blocks, by volume and number; no older copies.
    pub lebs: Vec<Leb>,
    /// The blocks of fastmaps: those of [`FASTMAP_ANCHOR`] and
    /// [`FASTMAP_DATA`], in the order of the chip.
    pub fastmap: Vec<Leb>,
    /// What is known of each volume from its blocks.
    pub seen: BTreeMap<u32, Seen>,
    /// The image sequence, if any block has one.
    pub image_sequence: Option<u32>,
    /// The highest sequence number.
    pub last_sequence: u64,
    /// The first of the first 64 blocks whose identifier header is damaged; a
    /// kernel with fastmap then reads all headers.
    pub damaged_early: Option<u64>,
    /// Reads of a header that a scan makes.
    pub header_reads: u64,
    /// Bytes of data that a scan reads: volume tables, and what it needs to
    /// tell copies apart.
    pub data_reads: u64,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// A scan in work.
struct Scan<'a> {
    image: &'a dyn ReadAt,
    blocks: Blocks,
    found: Vec<Leb>,
    /// Blocks whose headers contradict those of their volume.
    inconsistent: BTreeSet<u32>,
}

impl Blocks {
    /// Reads the headers of all blocks of `image`, which has no spare bytes.
    ///
    /// # Errors
    /// The length cannot be read. Blocks that cannot be read are
    /// [`State::Bad`].
    pub fn scan(image: &dyn ReadAt, layout: Layout, bad: &BTreeSet<u64>) -> Result<Self, Error> {
        let length = image.length().map_err(TransferError::Length)?;
        let size = u64::from(layout.erase_size.max(1));
        let count = length / size;
        let mut scan = Scan {
            image,
            blocks: Self {
                layout,
                states: Vec::new(),
                erases: Vec::new(),
                lebs: Vec::new(),
                fastmap: Vec::new(),
                seen: BTreeMap::new(),
                image_sequence: None,
                last_sequence: 0,
                damaged_early: None,
                header_reads: 0,
                data_reads: 0,
                problems: Vec::new(),
            },
            found: Vec::new(),
            inconsistent: BTreeSet::new(),
        };
        for number in 0..count {
            let (state, erases) = if bad.contains(&number) {
                (State::Bad, None)
            } else {
                scan.block(number)
            };
            scan.blocks.states.push(state);
            scan.blocks.erases.push(erases);
        }
        if !length.is_multiple_of(size) {
            let bytes = length % size;
            scan.problem(None, What::Remainder { bytes });
        }
        scan.choose();
        scan.late(count);
        Ok(scan.blocks)
    }

    /// The logical blocks of a volume.
    #[must_use]
    pub fn of_volume(&self, volume: u32) -> &[Leb] {
        let start = self.lebs.partition_point(|l| l.volume < volume);
        let end = self.lebs.partition_point(|l| l.volume <= volume);
        self.lebs.get(start..end).unwrap_or_default()
    }

    /// How many blocks are in a state.
    #[must_use]
    pub fn count(&self, state: State) -> u64 {
        self.states.iter().filter(|s| **s == state).count() as u64
    }
}

impl Scan<'_> {
    fn problem(&mut self, block: Option<u64>, what: What) {
        problem::add(&mut self.blocks.problems, block, what);
    }

    fn read(&mut self, number: u64, offset: u32) -> io::Result<[u8; HEADER]> {
        let mut bytes = [0; HEADER];
        let start = number * u64::from(self.blocks.layout.erase_size);
        self.blocks.header_reads += 1;
        self.image
            .read_exact_at(start + u64::from(offset), &mut bytes)?;
        Ok(bytes)
    }

    /// One block: what it is, and its erase counter.
    fn block(&mut self, number: u64) -> (State, Option<u32>) {
        let bytes = match self.read(number, 0) {
            Ok(bytes) => bytes,
            Err(e) => {
                self.problem(Some(number), What::Unreadable(e.kind()));
                return (State::Bad, None);
            }
        };
        let ec = match Ec::parse(&bytes) {
            Read::Erased => return (State::Empty, None),
            Read::Bad(why) => {
                self.problem(Some(number), What::EcHeader(why));
                None
            }
            Read::Good(ec) => {
                self.ec(number, &ec);
                Some(ec)
            }
        };
        let erases = ec.and_then(|ec| u32::try_from(ec.erases).ok());
        let bytes = match self.read(number, self.blocks.layout.vid_offset) {
            Ok(bytes) => bytes,
            Err(e) => {
                self.problem(Some(number), What::Unreadable(e.kind()));
                return (State::Bad, erases);
            }
        };
        let state = match Vid::parse(&bytes) {
            Read::Erased if ec.is_none() => State::Erase,
            Read::Erased => State::Free,
            Read::Bad(why) => {
                if number < FASTMAP_SEARCHED {
                    self.blocks.damaged_early.get_or_insert(number);
                }
                if ec.is_none() || self.is_erased(number) {
                    State::Erase
                } else {
                    self.problem(Some(number), What::Corrupted(why));
                    State::Corrupted
                }
            }
            Read::Good(vid) => self.vid(number, &vid),
        };
        (state, erases)
    }

    /// What the kernel checks in a good erase counter header.
    fn ec(&mut self, number: u64, ec: &Ec) {
        let layout = self.blocks.layout;
        let found = ec.vid_offset;
        if ec.version != VERSION {
            let found = ec.version;
            self.problem(Some(number), What::Version { found });
        } else if found != layout.vid_offset {
            let expected = layout.vid_offset;
            self.problem(Some(number), What::VidOffset { found, expected });
        } else if ec.data_offset != layout.data_offset {
            let (found, expected) = (ec.data_offset, layout.data_offset);
            self.problem(Some(number), What::DataOffset { found, expected });
        } else if ec.erases > MOST_ERASES {
            let found = ec.erases;
            self.problem(Some(number), What::EraseCounter { found });
        }
        // Old versions of UBI wrote 0.
        if ec.image_sequence != 0 {
            let (found, first) = (ec.image_sequence, self.blocks.image_sequence);
            match first {
                Some(expected) if found != expected => {
                    self.problem(Some(number), What::ImageSequence { found, expected });
                }
                _ => self.blocks.image_sequence = Some(found),
            }
        }
    }

    /// A good identifier header.
    fn vid(&mut self, number: u64, vid: &Vid) -> State {
        if let Some(fault) = vid.fault(self.blocks.layout.leb_size()) {
            self.problem(Some(number), What::VidHeader(fault));
            return State::Foreign;
        }
        let Ok(block) = u32::try_from(number) else {
            return State::Foreign;
        };
        let leb = Leb {
            volume: vid.volume,
            leb: vid.leb,
            block,
            sequence: vid.sequence,
            data_size: vid.data_size,
            data_crc: vid.data_crc,
            is_copy: vid.copy == 1,
        };
        if matches!(vid.volume, FASTMAP_ANCHOR | FASTMAP_DATA) {
            self.blocks.fastmap.push(leb);
            return State::Fastmap;
        }
        if vid.volume >= INTERNAL_VOLUMES && vid.volume != LAYOUT_VOLUME {
            let volume = vid.volume;
            let what = match vid.compatibility {
                compatibility::REJECT => What::Rejected { volume },
                _ => What::UnknownInternal {
                    volume,
                    compatibility: vid.compatibility,
                },
            };
            self.problem(Some(number), what);
            if vid.compatibility != compatibility::READ_ONLY {
                return State::Foreign;
            }
        }
        self.blocks.last_sequence = self.blocks.last_sequence.max(vid.sequence);
        let seen = Seen {
            volume_type: VolumeType::of(vid.volume_type).unwrap_or(VolumeType::Dynamic),
            used_blocks: vid.used_blocks,
            data_pad: vid.data_pad,
        };
        let first = *self.blocks.seen.entry(vid.volume).or_insert(seen);
        if first != seen {
            self.inconsistent.insert(block);
        }
        self.found.push(leb);
        if vid.volume == LAYOUT_VOLUME {
            State::Layout
        } else {
            State::Volume(vid.volume)
        }
    }

    /// Whether the data of a block is nothing but 0xff.
    fn is_erased(&mut self, number: u64) -> bool {
        let layout = self.blocks.layout;
        let leb_size = layout.leb_size();
        self.blocks.data_reads += u64::from(leb_size);
        let mut erased = true;
        let read = data(self.image, &layout, number, 0, leb_size, &mut |bytes| {
            erased &= bytes.iter().all(|b| *b == 0xff);
        });
        // A power cut while the block was erased leaves one that cannot be read.
        read.is_err() || erased
    }

    /// Keeps the newest copy of each logical block, as the kernel chooses it.
    fn choose(&mut self) {
        // A stable sort: copies stay in the order of the chip.
        let mut found = std::mem::take(&mut self.found);
        found.sort_by_key(|l| (l.volume, l.leb));
        for leb in found {
            let kept = self.blocks.lebs.last().copied();
            let kept = kept.filter(|k| (k.volume, k.leb) == (leb.volume, leb.leb));
            let Some(kept) = kept else {
                self.blocks.lebs.push(leb);
                continue;
            };
            if kept.sequence == leb.sequence {
                let what = What::SameSequence {
                    volume: leb.volume,
                    leb: leb.leb,
                    other: kept.block,
                };
                self.problem(Some(leb.block.into()), what);
            }
            let (new, old) = if leb.sequence > kept.sequence {
                (leb, kept)
            } else {
                (kept, leb)
            };
            // A copy counts only once it is complete.
            let (new, old) = if new.is_copy && !self.is_complete(&new) {
                (old, new)
            } else {
                (new, old)
            };
            if let Some(last) = self.blocks.lebs.last_mut() {
                *last = new;
            }
            let state = self.blocks.states.get_mut(old.block as usize);
            if let Some(state) = state {
                *state = State::Old;
            }
        }
        let wrong: Vec<(u32, u32)> = self
            .blocks
            .lebs
            .iter()
            .map(|l| (l.block, l.volume))
            .collect();
        for (block, volume) in wrong {
            if self.inconsistent.contains(&block) {
                self.problem(Some(block.into()), What::Inconsistent { volume });
            }
        }
    }

    /// Whether the checksum of a copy's data is right.
    fn is_complete(&mut self, leb: &Leb) -> bool {
        self.blocks.data_reads += u64::from(leb.data_size);
        check_crc(self.image, &self.blocks.layout, leb).unwrap_or(false)
    }

    /// What the kernel checks when all headers are read (`late_analysis`).
    fn late(&mut self, count: u64) {
        let good = count - self.blocks.count(State::Bad);
        let corrupted = self.blocks.count(State::Corrupted);
        let limit = match good / 20 {
            0 => 8,
            limit => limit,
        };
        if corrupted >= limit {
            self.problem(None, What::TooManyCorrupted { corrupted, limit });
        }
    }
}

/// Whether the data of a logical block has the checksum that its header says.
pub(super) fn check_crc(image: &dyn ReadAt, layout: &Layout, leb: &Leb) -> io::Result<bool> {
    let mut crc = Crc::default();
    let (number, length) = (u64::from(leb.block), leb.data_size);
    data(image, layout, number, 0, length, &mut |bytes| {
        crc.update(bytes)
    })?;
    Ok(crc.finish() == leb.data_crc)
}

/// Hands out `length` bytes of the data of a block, from `offset` on.
pub(super) fn data(
    image: &dyn ReadAt,
    layout: &Layout,
    number: u64,
    offset: u32,
    length: u32,
    with: &mut dyn FnMut(&[u8]),
) -> io::Result<()> {
    let mut buffer = vec![0; PIECE.min(length as usize)];
    let start = number * u64::from(layout.erase_size) + u64::from(layout.data_offset);
    let (mut at, mut rest) = (start + u64::from(offset), length as usize);
    while rest > 0 {
        let take = rest.min(PIECE);
        let piece = &mut buffer[..take];
        image.read_exact_at(at, piece)?;
        with(piece);
        at += take as u64;
        rest -= take;
    }
    Ok(())
}
