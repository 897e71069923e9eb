//! UBI images made by hand, fastmaps included: no tool writes those.

use firstlight_flash::ubi::header::{Ec, VERSION, Vid};
use firstlight_flash::ubi::table::{RECORD, Record};
use firstlight_flash::ubi::{FASTMAP_ANCHOR, FASTMAP_DATA, LAYOUT_VOLUME, crc, fastmap};

pub const ERASE_SIZE: usize = 16 * 1024;
pub const VID_OFFSET: usize = 512;
pub const DATA_OFFSET: usize = 2048;
pub const LEB_SIZE: usize = ERASE_SIZE - DATA_OFFSET;
pub const SEQUENCE: u32 = 77;

/// An image in work: erase blocks.
#[derive(Clone)]
pub struct Chip {
    pub bytes: Vec<u8>,
}

/// The identifier header of a dynamic volume's block.
pub fn vid(volume: u32, leb: u32, sequence: u64) -> Vid {
    Vid {
        version: VERSION,
        volume_type: 1,
        copy: 0,
        compatibility: if volume == LAYOUT_VOLUME { 5 } else { 0 },
        volume,
        leb,
        data_size: 0,
        used_blocks: 0,
        data_pad: 0,
        data_crc: 0,
        sequence,
    }
}

/// The identifier header of a static volume's block.
pub fn static_vid(volume: u32, leb: u32, used: u32, data: &[u8]) -> Vid {
    Vid {
        volume_type: 2,
        data_size: data.len() as u32,
        used_blocks: used,
        data_crc: crc(data),
        ..vid(volume, leb, 0)
    }
}

pub fn record(name: &str, kind: u8, reserved: u32) -> Record {
    let mut all = [0; 128];
    all[..name.len()].copy_from_slice(name.as_bytes());
    Record {
        reserved,
        alignment: 1,
        data_pad: 0,
        volume_type: kind,
        updating: 0,
        name_length: name.len() as u16,
        name: all,
        flags: 0,
    }
}

pub fn table(records: &[(u32, Record)]) -> Vec<u8> {
    let slots = LEB_SIZE / RECORD;
    let mut bytes = Vec::new();
    for slot in 0..slots.min(128) as u32 {
        match records.iter().find(|(id, _)| *id == slot) {
            Some((_, record)) => bytes.extend(record.bytes()),
            None => {
                bytes.extend([0; 168]);
                bytes.extend(0xf116_c36b_u32.to_be_bytes());
            }
        }
    }
    bytes
}

impl Chip {
    /// Erased blocks with erase counter headers: block n was erased n times.
    pub fn new(blocks: usize) -> Self {
        let mut chip = Self {
            bytes: vec![0xff; blocks * ERASE_SIZE],
        };
        for block in 0..blocks {
            chip.ec(block, block as u64);
        }
        chip
    }

    pub fn block(&mut self, block: usize) -> &mut [u8] {
        &mut self.bytes[block * ERASE_SIZE..][..ERASE_SIZE]
    }

    pub fn ec(&mut self, block: usize, erases: u64) {
        let header = Ec {
            version: VERSION,
            erases,
            vid_offset: VID_OFFSET as u32,
            data_offset: DATA_OFFSET as u32,
            image_sequence: SEQUENCE,
        };
        self.block(block)[..64].copy_from_slice(&header.bytes());
    }

    /// Writes a logical block.
    pub fn put(&mut self, block: usize, vid: &Vid, data: &[u8]) {
        let bytes = self.block(block);
        bytes[VID_OFFSET..][..64].copy_from_slice(&vid.bytes());
        bytes[DATA_OFFSET..].fill(0xff);
        bytes[DATA_OFFSET..][..data.len()].copy_from_slice(data);
    }

    /// Writes both copies of the volume table to blocks 0 and 1.
    pub fn tables(&mut self, records: &[(u32, Record)]) {
        let table = table(records);
        for copy in 0..2 {
            self.put(copy, &vid(LAYOUT_VOLUME, copy as u32, 1), &table);
        }
    }
}

/// What a fastmap says.
pub struct Map {
    pub anchor: usize,
    pub blocks: Vec<usize>,
    pub free: Vec<u32>,
    pub used: Vec<u32>,
    pub scrub: Vec<u32>,
    pub erase: Vec<u32>,
    pub bad: u32,
    pub pool: Vec<u32>,
    pub wl_pool: Vec<u32>,
    /// Number of the volume, and the block of each of its logical ones.
    pub volumes: Vec<(u32, Vec<Option<u32>>)>,
}

impl Map {
    /// The fastmap for a chip with so many blocks.
    pub fn bytes(&self, on_chip: u64) -> Vec<u8> {
        let mut b = Vec::new();
        let put = |b: &mut Vec<u8>, values: &[u32]| {
            values.iter().for_each(|v| b.extend(v.to_be_bytes()));
        };
        put(&mut b, &[fastmap::SUPERBLOCK_MAGIC, 1 << 24, 0]);
        put(&mut b, &[self.blocks.len() as u32]);
        for i in 0..32 {
            put(&mut b, &[self.blocks.get(i).map_or(0, |p| *p as u32)]);
        }
        put(&mut b, &[0; 32]);
        put(&mut b, &[0; 2 + 8]);
        let counts = [&self.free, &self.used, &self.scrub].map(|l| l.len() as u32);
        put(&mut b, &[fastmap::HEADER_MAGIC]);
        put(&mut b, &counts);
        put(&mut b, &[self.bad, self.erase.len() as u32]);
        put(&mut b, &[self.volumes.len() as u32, 0]);
        for pool in [&self.pool, &self.wl_pool] {
            put(&mut b, &[fastmap::POOL_MAGIC]);
            b.extend((pool.len() as u16).to_be_bytes());
            b.extend(256_u16.to_be_bytes());
            put(&mut b, pool);
            put(&mut b, &vec![0; 256 - pool.len() + 4]);
        }
        for list in [&self.free, &self.used, &self.scrub, &self.erase] {
            list.iter().for_each(|p| put(&mut b, &[*p, *p]));
        }
        for (id, lebs) in &self.volumes {
            put(
                &mut b,
                &[fastmap::VOLUME_MAGIC, *id, 3 << 24, 0, 0, 0, 0, 0],
            );
            put(&mut b, &[fastmap::EBA_MAGIC, lebs.len() as u32]);
            lebs.iter()
                .for_each(|p| put(&mut b, &[p.unwrap_or(u32::MAX)]));
        }
        let size = fastmap::size(on_chip, LEB_SIZE as u32) as usize;
        assert!(b.len() < size, "{} of {size}", b.len());
        b.resize(size, 0);
        b
    }

    /// Writes it with its checksum.
    pub fn write(&self, chip: &mut Chip) {
        let on_chip = (chip.bytes.len() / ERASE_SIZE) as u64;
        put_map(chip, &self.blocks, self.bytes(on_chip));
    }
}

/// Writes the bytes of a fastmap with their checksum.
pub fn put_map(chip: &mut Chip, blocks: &[usize], mut bytes: Vec<u8>) {
    bytes[8..12].fill(0);
    let sum = crc(&bytes);
    bytes[8..12].copy_from_slice(&sum.to_be_bytes());
    for (i, (block, part)) in blocks.iter().zip(bytes.chunks(LEB_SIZE)).enumerate() {
        let volume = if i == 0 { FASTMAP_ANCHOR } else { FASTMAP_DATA };
        let header = Vid {
            compatibility: 1,
            ..vid(volume, i as u32, 500 + i as u64)
        };
        chip.put(*block, &header, part);
    }
}
