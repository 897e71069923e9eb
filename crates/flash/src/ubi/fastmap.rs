//! Fastmap: a copy of all headers in a few blocks, so that attaching need not
//! read them (`drivers/mtd/ubi/fastmap.c`).
//!
//! It is used only if every rule of the kernel holds; else all headers are read
//! as if there were none. The rules are checked here in the kernel's order.

use super::blocks::{Blocks, Leb, State, data};
use super::format::{FASTMAP_ANCHOR, FASTMAP_DATA, FASTMAP_SEARCHED, crc};
use super::header::{Ec, HEADER, Read, Vid};
use rawimage::ReadAt;
use rawimage::endian::{Endian, Fields};
use std::collections::{BTreeMap, BTreeSet};

/// So many blocks can hold a fastmap.
pub const MOST_BLOCKS: u32 = 32;
/// So many blocks can be in a pool.
pub const LARGEST_POOL: u16 = 256;

/// The magic number of the superblock.
pub const SUPERBLOCK_MAGIC: u32 = 0x7b11_d69f;
/// The magic number of the header.
pub const HEADER_MAGIC: u32 = 0xd4b8_2ef7;
/// The magic number of a pool.
pub const POOL_MAGIC: u32 = 0x67af_4d08;
/// The magic number of a volume.
pub const VOLUME_MAGIC: u32 = 0xfa37_0ed1;
/// The magic number of a table of blocks.
pub const EBA_MAGIC: u32 = 0xf0c0_40a8;
/// The only version that there is.
pub const VERSION: u8 = 1;

/// Length of the superblock, bytes.
pub const SUPERBLOCK: usize = 312;
const POOL: usize = 1048;

/// The length of a fastmap for a chip of so many blocks (`ubi_calc_fm_size`),
/// bytes: a whole number of logical blocks.
#[must_use]
pub fn size(blocks: u64, leb_size: u32) -> u64 {
    // Superblock, header, two pools; a counter and a place for each block; a
    // header and a table for each volume that there may be.
    let fixed = SUPERBLOCK as u64 + 32 + 2 * POOL as u64 + (8 + 32) * 129;
    let all = blocks.saturating_mul(8 + 4).saturating_add(fixed);
    all.checked_next_multiple_of(u64::from(leb_size.max(1)))
        .unwrap_or(u64::MAX)
}

/// The kernel's rules, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The chip has more than 64 blocks.
    LargeEnough,
    /// No identifier header of the first 64 blocks is damaged.
    HeadersGood,
    /// One of the first 64 blocks holds a superblock.
    Anchor,
    /// Magic number, version and number of blocks are right.
    Superblock,
    /// The fastmap is as long as one for this chip is.
    Size,
    /// All its blocks can be read and are what they should be.
    Blocks,
    /// The checksum is right.
    Checksum,
    /// The parts follow each other, and none passes the end.
    Structure,
    /// No volume is there twice, and each logical block is in a known one.
    Tables,
    /// The blocks of the pools can be read, and belong to known volumes.
    Pools,
    /// All good blocks of the chip are there.
    Count,
}

impl Rule {
    /// All of them, in the kernel's order.
    pub const ALL: [Self; 11] = [
        Self::LargeEnough,
        Self::HeadersGood,
        Self::Anchor,
        Self::Superblock,
        Self::Size,
        Self::Blocks,
        Self::Checksum,
        Self::Structure,
        Self::Tables,
        Self::Pools,
        Self::Count,
    ];

    /// A name for programs, which stays the same.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LargeEnough => "large_enough",
            Self::HeadersGood => "headers_good",
            Self::Anchor => "anchor",
            Self::Superblock => "superblock",
            Self::Size => "size",
            Self::Blocks => "blocks",
            Self::Checksum => "checksum",
            Self::Structure => "structure",
            Self::Tables => "tables",
            Self::Pools => "pools",
            Self::Count => "count",
        }
    }

    /// The rule in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::LargeEnough => "the chip has more than 64 erase blocks",
            Self::HeadersGood => "no VID header of the first 64 blocks is damaged",
            Self::Anchor => "one of the first 64 blocks contains a fastmap superblock",
            Self::Superblock => "its magic number, version and block count are correct",
            Self::Size => "its length is correct for this chip",
            Self::Blocks => "its blocks are readable and belong to this image",
            Self::Checksum => "its checksum is correct",
            Self::Structure => "its parts are in order and within its length",
            Self::Tables => "each LEB belongs to a volume and is in use",
            Self::Pools => "the blocks in its pools are readable and belong to this image",
            Self::Count => "it lists all good blocks of the chip",
        }
    }
}

/// What is known of a fastmap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fastmap {
    /// The first rule that does not hold, and why; `None` if the kernel uses
    /// the fastmap.
    pub broken: Option<(Rule, String)>,
    /// The physical block of the newest superblock, if there is one.
    pub anchor: Option<u32>,
    /// All blocks that belong to a fastmap, in the order of the chip.
    pub blocks: Vec<u32>,
    /// Its length, bytes; that of one for this chip, if there is none.
    pub size: u64,
    /// Logical blocks that are not where the headers say; the kernel does not
    /// see it.
    pub disagrees: u64,
}

impl Fastmap {
    /// Whether there is one, valid or not.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.anchor.is_some()
    }

    /// Whether the kernel uses it.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.broken.is_none()
    }
}

/// Why a rule does not hold.
struct Fault(Rule, String);

fn fault<T>(rule: Rule, why: impl Into<String>) -> Result<T, Fault> {
    Err(Fault(rule, why.into()))
}

/// Looks for a fastmap and checks each rule. The chip has `on_chip` blocks.
#[must_use]
pub fn check(image: &dyn ReadAt, blocks: &Blocks, on_chip: u64) -> Fastmap {
    let leb_size = blocks.layout.leb_size();
    let early = blocks.fastmap.iter().filter(|l| {
        l.volume == FASTMAP_ANCHOR && u64::from(l.block) < FASTMAP_SEARCHED && l.sequence > 0
    });
    // The first of equals, as the kernel takes it.
    let anchor = early.rev().max_by_key(|l| l.sequence);
    let mut map = Fastmap {
        broken: None,
        anchor: anchor.map(|l| l.block),
        blocks: blocks.fastmap.iter().map(|l| l.block).collect(),
        size: size(on_chip, leb_size),
        disagrees: 0,
    };
    let checker = Checker {
        image,
        blocks,
        on_chip,
        size: map.size,
    };
    match checker.rules(anchor) {
        Ok(disagrees) => map.disagrees = disagrees,
        Err(Fault(rule, why)) => map.broken = Some((rule, why)),
    }
    map
}

struct Checker<'a> {
    image: &'a dyn ReadAt,
    blocks: &'a Blocks,
    on_chip: u64,
    size: u64,
}

/// Volumes, and the physical block of each of their logical ones.
type Tables = BTreeMap<u32, BTreeMap<u32, u32>>;

impl Checker<'_> {
    /// All rules; how many logical blocks are elsewhere than headers say.
    fn rules(&self, anchor: Option<&Leb>) -> Result<u64, Fault> {
        let on_chip = self.on_chip;
        if on_chip <= FASTMAP_SEARCHED {
            return fault(Rule::LargeEnough, format!("it has {on_chip}"));
        }
        if let Some(block) = self.blocks.damaged_early {
            return fault(Rule::HeadersGood, format!("the one of block {block} is"));
        }
        let Some(anchor) = anchor else {
            return fault(Rule::Anchor, "none does, so there is no fastmap");
        };
        let own = self.superblock(anchor)?;
        let map = self.content(&own)?;
        self.parse(&map, own.len() as u64)
    }

    /// The superblock: the blocks of the fastmap.
    fn superblock(&self, anchor: &Leb) -> Result<Vec<u32>, Fault> {
        let leb_size = u64::from(self.blocks.layout.leb_size());
        let mut bytes = Vec::new();
        self.data(anchor.block, SUPERBLOCK as u32, &mut bytes)
            .map_err(|why| Fault(Rule::Superblock, why))?;
        let mut f = Fields::new(Endian::Big, &bytes);
        let fields = (|| {
            let (magic, version) = (f.u32()?, f.u8()?);
            f.bytes(7)?;
            Some((magic, version, f.u32()?))
        })();
        let Some((magic, version, used)) = fields else {
            return fault(Rule::Superblock, "truncated");
        };
        if magic != SUPERBLOCK_MAGIC {
            let why = format!("bad super block magic: {magic:#x}, expected: {SUPERBLOCK_MAGIC:#x}");
            return fault(Rule::Superblock, why);
        }
        if version != VERSION {
            let why = format!("bad fastmap version: {version}, expected: {VERSION}");
            return fault(Rule::Superblock, why);
        }
        if !(1..=MOST_BLOCKS).contains(&used) {
            let why = format!("number of fastmap blocks is invalid: {used}");
            return fault(Rule::Superblock, why);
        }
        let found = u64::from(used) * leb_size;
        if found != self.size {
            let why = format!(
                "bad fastmap size: {found}, expected: {} for {} blocks; was the partition resized?",
                self.size, self.on_chip
            );
            return fault(Rule::Size, why);
        }
        let places: Vec<u32> = (0..used).map_while(|_| f.u32()).collect();
        for (i, &place) in places.iter().enumerate() {
            self.own_block(i, place, anchor)?;
        }
        Ok(places)
    }

    /// One block of the fastmap.
    fn own_block(&self, index: usize, place: u32, anchor: &Leb) -> Result<(), Fault> {
        let rule = Rule::Blocks;
        match self.blocks.states.get(place as usize) {
            None => return fault(rule, format!("block {place} is outside the image")),
            Some(State::Bad) => return fault(rule, format!("block {place} is bad")),
            Some(_) => {}
        }
        if index == 0 && place != anchor.block {
            let found = anchor.block;
            let why = format!("Fastmap anchor PEB mismatch: PEB: {place} vs. {found}");
            return fault(rule, why);
        }
        let (_, vid) = self.headers(place).map_err(|why| Fault(rule, why))?;
        let wanted = if index == 0 {
            FASTMAP_ANCHOR
        } else {
            FASTMAP_DATA
        };
        match vid {
            Some(vid) if vid.volume == wanted => Ok(()),
            Some(vid) => fault(
                rule,
                format!(
                    "block {place} belongs to volume {:#x}, expected: {wanted:#x}",
                    vid.volume
                ),
            ),
            None => fault(rule, format!("block {place} has no VID header")),
        }
    }

    /// The headers of a block: its erase counter, and its identifier if it has
    /// one.
    fn headers(&self, block: u32) -> Result<(u64, Option<Vid>), String> {
        let layout = &self.blocks.layout;
        let start = u64::from(block) * u64::from(layout.erase_size);
        let read = |offset: u32| {
            let mut bytes = [0; HEADER];
            let read = self
                .image
                .read_exact_at(start + u64::from(offset), &mut bytes);
            read.map(|()| bytes)
                .map_err(|e| format!("cannot read block {block}: {e}"))
        };
        let Read::Good(ec) = Ec::parse(&read(0)?) else {
            return Err(format!("unable to read EC header! PEB:{block}"));
        };
        let expected = self.blocks.image_sequence.unwrap_or(0);
        if ec.image_sequence != 0 && ec.image_sequence != expected {
            return Err(format!(
                "bad image seq: {:#x}, expected: {expected:#x} in block {block}",
                ec.image_sequence
            ));
        }
        match Vid::parse(&read(layout.vid_offset)?) {
            Read::Good(vid) => match vid.fault(layout.leb_size()) {
                None => Ok((ec.erases, Some(vid))),
                Some(why) => Err(format!("bad VID header of block {block}: {why}")),
            },
            Read::Erased => Ok((ec.erases, None)),
            Read::Bad(why) => Err(format!("the VID header of block {block} is damaged: {why}")),
        }
    }

    /// Appends `length` bytes of a block's data to `to`.
    fn data(&self, block: u32, length: u32, to: &mut Vec<u8>) -> Result<(), String> {
        let layout = &self.blocks.layout;
        let number = u64::from(block);
        data(self.image, layout, number, 0, length, &mut |bytes| {
            to.extend_from_slice(bytes);
        })
        .map_err(|e| format!("cannot read block {block}: {e}"))
    }

    /// All of the fastmap, its checksum checked.
    fn content(&self, own: &[u32]) -> Result<Vec<u8>, Fault> {
        let mut map = Vec::new();
        for &block in own {
            self.data(block, self.blocks.layout.leb_size(), &mut map)
                .map_err(|why| Fault(Rule::Blocks, why))?;
        }
        // The checksum is made with zeros in its own place.
        let Some(place) = map.get_mut(8..12) else {
            return fault(Rule::Checksum, "truncated");
        };
        let mut stored = [0; 4];
        stored.copy_from_slice(place);
        place.fill(0);
        let (stored, found) = (u32::from_be_bytes(stored), crc(&map));
        if stored != found {
            let why = format!("CRC should be: {stored:#x}, calc: {found:#x}");
            return fault(Rule::Checksum, why);
        }
        Ok(map)
    }

    /// What the fastmap says (`ubi_attach_fastmap`).
    fn parse(&self, map: &[u8], own: u64) -> Result<u64, Fault> {
        let mut parts = Parts {
            map,
            at: SUPERBLOCK,
        };
        let mut header = parts.take("header", HEADER_MAGIC, 32)?;
        let counts = (|| {
            Some((
                header.u32()?,
                header.u32()?,
                header.u32()?,
                header.u32()?,
                header.u32()?,
                header.u32()?,
            ))
        })();
        let Some((free, used, scrub, bad, erase, volumes)) = counts else {
            return fault(Rule::Structure, "truncated");
        };
        let pools = [parts.pool("pool")?, parts.pool("WL pool")?];
        let mut total = 0;
        total += parts.counters(free)?.len() as u64;
        let mut in_use: BTreeSet<u32> = parts.counters(used)?.into_iter().collect();
        in_use.extend(parts.counters(scrub)?);
        total += u64::from(used) + u64::from(scrub);
        total += parts.counters(erase)?.len() as u64;
        let mut tables = Tables::new();
        for _ in 0..volumes {
            parts.volume(&mut in_use, &mut tables)?;
        }
        for pool in pools {
            self.pool(&pool, &mut tables, &mut total)?;
        }
        let expected = self.on_chip.checked_sub(u64::from(bad) + own);
        if expected != Some(total) {
            let why = format!(
                "it lists {total} blocks; the chip has {}, {bad} of them bad, and the fastmap \
                 itself uses {own}",
                self.on_chip
            );
            return fault(Rule::Count, why);
        }
        Ok(self.disagrees(&tables))
    }

    /// The blocks of a pool were free when the fastmap was written, and may
    /// hold something now. Changes tables and number of blocks accordingly.
    fn pool(&self, pool: &[u32], tables: &mut Tables, total: &mut u64) -> Result<(), Fault> {
        let rule = Rule::Pools;
        for &block in pool {
            match self.blocks.states.get(block as usize) {
                Some(State::Bad) => return fault(rule, "bad PEB in fastmap pool!"),
                Some(_) => {}
                None if u64::from(block) < self.on_chip => {
                    let why = format!("unable to read EC header! PEB:{block}");
                    return fault(rule, why);
                }
                None => return fault(rule, format!("block {block} is outside the chip")),
            }
            let (_, vid) = self.headers(block).map_err(|why| Fault(rule, why))?;
            let Some(vid) = vid else {
                // It was mapped when the fastmap was written, and is free now.
                let mapped = tables.values_mut().find_map(|table| {
                    let leb = table
                        .iter()
                        .find(|(_, b)| **b == block)
                        .map(|(leb, _)| *leb)?;
                    table.remove(&leb)
                });
                *total += u64::from(mapped.is_none());
                continue;
            };
            if matches!(vid.volume, FASTMAP_ANCHOR | FASTMAP_DATA) {
                continue;
            }
            let Some(table) = tables.get_mut(&vid.volume) else {
                return fault(rule, "orphaned volume in fastmap pool!");
            };
            // Both copies stay known, wherever the newer one is.
            let before = table.insert(vid.leb, self.newest(vid.volume, vid.leb).unwrap_or(block));
            *total += u64::from(before != Some(block));
        }
        Ok(())
    }

    /// Where the headers say that a logical block is.
    fn newest(&self, volume: u32, leb: u32) -> Option<u32> {
        let lebs = self.blocks.of_volume(volume);
        let found = lebs.binary_search_by_key(&leb, |l| l.leb).ok()?;
        lebs.get(found).map(|l| l.block)
    }

    fn disagrees(&self, tables: &Tables) -> u64 {
        let mapped: u64 = tables.values().map(|t| t.len() as u64).sum();
        let agreed = self.blocks.lebs.iter().filter(|l| {
            let table = tables.get(&l.volume);
            table.and_then(|t| t.get(&l.leb)) == Some(&l.block)
        });
        let agreed = agreed.count() as u64;
        (self.blocks.lebs.len() as u64 - agreed).max(mapped - agreed)
    }
}

/// The parts of a fastmap, one after the other.
struct Parts<'a> {
    map: &'a [u8],
    at: usize,
}

impl<'a> Parts<'a> {
    /// Takes `length` bytes. The kernel wants something behind each part.
    fn bytes(&mut self, length: usize) -> Result<Fields<'a>, Fault> {
        let end = self.at.checked_add(length).filter(|e| *e < self.map.len());
        let part = end.and_then(|end| self.map.get(self.at..end));
        let (Some(end), Some(part)) = (end, part) else {
            return fault(
                Rule::Structure,
                format!("truncated within the {length} bytes at {}", self.at),
            );
        };
        self.at = end;
        Ok(Fields::new(Endian::Big, part))
    }

    /// Takes a part that begins with a magic number.
    fn take(&mut self, what: &str, magic: u32, length: usize) -> Result<Fields<'a>, Fault> {
        let mut fields = self.bytes(length)?;
        let found = fields.u32().unwrap_or(0);
        if found != magic {
            let why = format!("bad fastmap {what} magic: {found:#x}, expected: {magic:#x}");
            return fault(Rule::Structure, why);
        }
        Ok(fields)
    }

    fn pool(&mut self, what: &str) -> Result<Vec<u32>, Fault> {
        let mut fields = self.take(what, POOL_MAGIC, POOL)?;
        let (size, most) = (fields.u16().unwrap_or(0), fields.u16().unwrap_or(0));
        if size > LARGEST_POOL {
            return fault(Rule::Structure, format!("bad {what} size: {size}"));
        }
        if most > LARGEST_POOL {
            return fault(Rule::Structure, format!("bad maximal {what} size: {most}"));
        }
        Ok((0..size).map_while(|_| fields.u32()).collect())
    }

    /// The blocks of a list of erase counters.
    fn counters(&mut self, count: u32) -> Result<Vec<u32>, Fault> {
        let mut blocks = Vec::new();
        for _ in 0..count {
            let mut fields = self.bytes(8)?;
            blocks.extend(fields.u32());
        }
        Ok(blocks)
    }

    /// A volume and its table.
    fn volume(&mut self, in_use: &mut BTreeSet<u32>, tables: &mut Tables) -> Result<(), Fault> {
        let mut volume = self.take("vol header", VOLUME_MAGIC, 32)?;
        let id = volume.u32().unwrap_or(0);
        if tables.contains_key(&id) {
            return fault(Rule::Tables, format!("volume (ID {id}) already exists"));
        }
        let mut eba = self.take("EBA header", EBA_MAGIC, 8)?;
        let reserved = eba.u32().unwrap_or(0);
        let length = usize::try_from(reserved)
            .ok()
            .and_then(|n| n.checked_mul(4));
        let mut places = self.bytes(length.unwrap_or(usize::MAX))?;
        let mut table = BTreeMap::new();
        for leb in 0..reserved {
            let place = places.u32().unwrap_or(u32::MAX);
            // Negative: not mapped.
            if place >> 31 == 1 {
                continue;
            }
            if !in_use.remove(&place) {
                let why = format!("PEB {place} is in EBA but not in used list");
                return fault(Rule::Tables, why);
            }
            table.insert(leb, place);
        }
        tables.insert(id, table);
        Ok(())
    }
}
