#![no_main]

use flash::ubi::header::{Ec, VERSION, Vid};
use flash::ubi::table::RECORD;
use flash::ubi::{Image, LAYOUT_VOLUME, Options, check, crc, skip_check};
use flash::{ReadAt, ubifs};

/// Small blocks, so that there can be more than the 64 that a fastmap wants.
const BLOCK: usize = 768;
const BLOCKS: usize = 70;
const VID: usize = 64;
const DATA: usize = 128;

/// What the fuzzer says of one block.
#[derive(Debug, arbitrary::Arbitrary)]
struct Block {
    number: u8,
    volume: u8,
    leb: u8,
    sequence: u16,
    kind: u8,
    data: Vec<u8>,
}

#[derive(Debug, arbitrary::Arbitrary)]
struct Input {
    blocks: Vec<Block>,
    patches: Vec<(u16, u8)>,
    mend: u8,
    cut: u16,
    raw: Vec<u8>,
}

/// The volume that a byte stands for: internal ones are as likely as others.
fn volume(byte: u8) -> u32 {
    match byte {
        0xf0..=0xf3 => LAYOUT_VOLUME + u32::from(byte - 0xf0),
        _ => u32::from(byte) % 8,
    }
}

fn image(input: &Input) -> Vec<u8> {
    let mut bytes = vec![0xff; BLOCK * BLOCKS];
    for number in 0..BLOCKS {
        let ec = Ec {
            version: VERSION,
            erases: number as u64,
            vid_offset: VID as u32,
            data_offset: DATA as u32,
            image_sequence: 7,
        };
        bytes[number * BLOCK..][..64].copy_from_slice(&ec.bytes());
    }
    for b in &input.blocks {
        let at = usize::from(b.number) % BLOCKS * BLOCK;
        let room = BLOCK - DATA;
        let data = &b.data[..b.data.len().min(room)];
        let is_static = b.kind & 1 == 1;
        let checked = is_static || b.kind & 2 == 2;
        let id = volume(b.volume);
        let vid = Vid {
            version: VERSION,
            volume_type: 1 + (b.kind & 1),
            copy: b.kind >> 1 & 1,
            compatibility: match id {
                LAYOUT_VOLUME => 5,
                id if id > LAYOUT_VOLUME => 1 + (b.kind >> 4),
                _ => 0,
            },
            volume: id,
            leb: u32::from(b.leb),
            data_size: if checked { data.len() as u32 } else { 0 },
            used_blocks: if is_static { u32::from(b.kind >> 3) } else { 0 },
            data_pad: 0,
            data_crc: if checked { crc(data) } else { 0 },
            sequence: b.sequence.into(),
        };
        bytes[at + VID..][..64].copy_from_slice(&vid.bytes());
        bytes[at + DATA..][..data.len()].copy_from_slice(data);
    }
    for (at, value) in &input.patches {
        let at = usize::from(*at) % bytes.len();
        bytes[at] = *value;
    }
    for block in bytes.chunks_mut(BLOCK) {
        if input.mend & 1 == 0 {
            for at in [0, VID] {
                let sum = crc(&block[at..at + 60]);
                block[at + 60..at + 64].copy_from_slice(&sum.to_be_bytes());
            }
        }
        // Records of the volume table, and a fastmap of one block's checksum.
        let is_table = block[VID + 8..VID + 12] == LAYOUT_VOLUME.to_be_bytes();
        if is_table && input.mend & 2 == 0 {
            for record in block[DATA..].chunks_exact_mut(RECORD) {
                let sum = crc(&record[..168]);
                record[168..].copy_from_slice(&sum.to_be_bytes());
            }
        }
    }
    if input.mend & 4 == 0 {
        mend_fastmap(&mut bytes);
    }
    bytes.truncate(bytes.len().saturating_sub(usize::from(input.cut)));
    bytes
}

/// Makes the checksum of each fastmap right.
fn mend_fastmap(bytes: &mut [u8]) {
    const MAGIC: [u8; 4] = 0x7b11_d69f_u32.to_be_bytes();
    for number in 0..BLOCKS {
        let start = number * BLOCK + DATA;
        if bytes[start..start + 4] != MAGIC {
            continue;
        }
        bytes[start + 8..start + 12].fill(0);
        let word = |at: usize| {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let used = word(start + 12).min(32) as usize;
        let mut all = Vec::new();
        for i in 0..used {
            let place = word(start + 16 + 4 * i) as usize % BLOCKS;
            all.extend_from_slice(&bytes[place * BLOCK + DATA..(place + 1) * BLOCK]);
        }
        let sum = crc(&all);
        bytes[start + 8..start + 12].copy_from_slice(&sum.to_be_bytes());
    }
}

fn look(bytes: &[u8], erase_size: Option<u32>) {
    let options = Options {
        erase_size,
        ..Options::default()
    };
    if let Ok(report) = check(&bytes, &options) {
        assert_eq!(report.map.len() as u64, report.blocks);
        let counted: u64 = report.states.iter().map(|(_, n)| n).sum();
        assert_eq!(counted, report.blocks);
    }
    if let Ok(image) = Image::open(&bytes, &options) {
        for (id, record) in &image.records {
            let volume = image.volume(*id, record);
            let length = volume.length().unwrap();
            if length < 1 << 20 {
                let mut all = vec![0; length as usize];
                volume.read_exact_at(0, &mut all).ok();
            }
            ubifs::inspect(&volume, None, &flash::ubi::cost::NANDSIM).ok();
        }
    }
    for skip in [true, false] {
        let mut out = Vec::new();
        if let Ok(done) = skip_check(&bytes, "1", skip, &options, &mut out) {
            // What was written is attached as before, with the flag as wanted.
            let before = Image::open(&bytes, &options).unwrap();
            let out = out.as_slice();
            let after = Image::open(&out, &options).unwrap();
            let (_, record) = after.find("1").unwrap();
            assert_eq!(record.flags & 2 != 0, skip);
            assert_eq!(before.records.len(), after.records.len());
            // Nothing else is touched, and the other way round it is as before.
            let mut back = Vec::new();
            skip_check(&out, "1", !skip, &options, &mut back).unwrap();
            assert_eq!(out.len(), bytes.len());
            assert_eq!(done.was_so, out == bytes);
            assert!(done.was_so || back == bytes);
        }
    }
}

libfuzzer_sys::fuzz_target!(|input: Input| {
    look(&image(&input), Some(BLOCK as u32));
    look(&input.raw, None);
});
