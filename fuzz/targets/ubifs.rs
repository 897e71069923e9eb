#![no_main]

use flash::files::extract;
use flash::ubi::cost::NANDSIM;
use flash::ubifs::node::{self, kind};
use flash::ubifs::{Filesystem, inspect, verify};

const LEB: usize = 15_360;
const LEBS: usize = 20;
const MAIN: u32 = 8;

/// A node, and where it goes.
#[derive(Debug, arbitrary::Arbitrary)]
struct Node {
    leb: u8,
    kind: u8,
    group: u8,
    sequence: u8,
    body: Vec<u8>,
}

#[derive(Debug, arbitrary::Arbitrary)]
struct Input {
    nodes: Vec<Node>,
    /// Branches of the root of the index: key, and which node they lead to.
    branches: Vec<(u32, u32, u8)>,
    flags: u8,
    buds: Vec<u8>,
    patches: Vec<(u16, u8)>,
    cut: u16,
    raw: Vec<u8>,
}

struct Image {
    bytes: Vec<u8>,
    ends: [usize; LEBS],
}

impl Image {
    fn add(
        &mut self,
        leb: u32,
        kind: u8,
        group: u8,
        sequence: u64,
        body: &[u8],
    ) -> (u32, u32, u32) {
        let mut node = node::bytes(kind, sequence, body);
        node[21] = group;
        let sum = flash::ubi::crc(&node[8..]);
        node[4..8].copy_from_slice(&sum.to_le_bytes());
        let at = self.ends[leb as usize];
        if at + node.len() <= LEB {
            let start = leb as usize * LEB + at;
            self.bytes[start..start + node.len()].copy_from_slice(&node);
            self.ends[leb as usize] = (at + node.len()).next_multiple_of(8);
        }
        (leb, at as u32, node.len() as u32)
    }
}

/// A body of exactly the length that the type has, or at least that.
fn body(kind: u8, given: &[u8]) -> Vec<u8> {
    let least = match kind {
        kind::INODE => 136,
        kind::DATA => 24,
        kind::DIRENT | kind::XATTR | kind::TRUNCATION => 32,
        kind::PADDING => 4,
        kind::SUPERBLOCK => 4072,
        kind::MASTER => 488,
        kind::REFERENCE => 40,
        kind::INDEX => 24,
        _ => 8,
    };
    let mut body = given.to_vec();
    if matches!(kind, 4..=8 | 10) {
        body.truncate(least);
    }
    body.resize(body.len().max(least), 0);
    body
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn image(input: &Input) -> Vec<u8> {
    let mut image = Image {
        bytes: vec![0xff; LEB * LEBS],
        ends: [0; LEBS],
    };
    let mut superblock = vec![0; 4072];
    let fields = [
        (28, 0_u32),
        (32, 512),
        (36, LEB as u32),
        (40, LEBS as u32),
        (44, LEBS as u32),
        (56, 2),
        (60, 2),
        (64, 1),
        (68, 1),
        (72, 8),
        (80, 4),
        (104, 1),
    ];
    for (at, value) in fields {
        put(&mut superblock, at - 24, &value.to_le_bytes());
    }
    put(&mut superblock, 24, &(4 * LEB as u64).to_le_bytes());
    image.add(0, kind::SUPERBLOCK, 0, 1, &superblock);
    let mut places = Vec::new();
    for n in &input.nodes {
        let leb = MAIN + 1 + u32::from(n.leb) % (LEBS as u32 - MAIN - 1);
        let kind = n.kind % 14;
        places.push(image.add(
            leb,
            kind,
            n.group % 3,
            n.sequence.into(),
            &body(kind, &n.body),
        ));
    }
    let mut index = (input.branches.len().min(700) as u16)
        .to_le_bytes()
        .to_vec();
    index.extend([0, 0]);
    for (ino, key, to) in input.branches.iter().take(700) {
        let place = places.get(usize::from(*to) % places.len().max(1));
        let (leb, at, length) = place.copied().unwrap_or((9, 0, 160));
        for value in [leb, at, length, ino % 32, *key] {
            index.extend(value.to_le_bytes());
        }
    }
    let root = image.add(MAIN, kind::INDEX, 0, 2, &index);
    let mut master = vec![0; 488];
    let fields = [
        (40, u32::from(input.flags)),
        (44, 3),
        (48, root.0),
        (52, root.1),
        (56, root.2),
        (164, LEBS as u32),
    ];
    for (at, value) in fields {
        put(&mut master, at - 24, &value.to_le_bytes());
    }
    image.add(1, kind::MASTER, 0, 3, &master);
    image.add(2, kind::MASTER, 0, 4, &master);
    image.add(3, kind::COMMIT, 0, 5, &[0; 8]);
    for bud in input.buds.iter().take(40) {
        let mut body = vec![0; 40];
        put(&mut body, 0, &(u32::from(*bud) % 24).to_le_bytes());
        put(&mut body, 8, &u32::from(bud >> 6).to_le_bytes());
        image.add(3, kind::REFERENCE, 0, 6, &body);
    }
    let mut bytes = image.bytes;
    for (at, value) in &input.patches {
        bytes[usize::from(*at) * 4] = *value;
    }
    if input.cut & 1 == 0 {
        mend(&mut bytes);
    }
    bytes.truncate(bytes.len().saturating_sub(usize::from(input.cut)));
    bytes
}

/// Makes the checksums of all nodes right again.
fn mend(bytes: &mut [u8]) {
    for at in (0..bytes.len()).step_by(8) {
        let node = &mut bytes[at..];
        if node.len() < 24 || node[..4] != [0x31, 0x18, 0x10, 0x06] {
            continue;
        }
        let length = u32::from_le_bytes([node[16], node[17], node[18], node[19]]);
        if let Some(summed) = node.get(8..length as usize) {
            let sum = flash::ubi::crc(summed);
            node[4..8].copy_from_slice(&sum.to_le_bytes());
        }
    }
}

fn look(bytes: &[u8]) {
    inspect(&bytes, None, &NANDSIM).ok();
    if let Ok(filesystem) = Filesystem::open(&bytes) {
        verify(&filesystem).unwrap();
        extract(&filesystem, &mut fuzz::Null).unwrap();
    }
}

libfuzzer_sys::fuzz_target!(|input: Input| {
    look(&image(&input));
    look(&input.raw);
});
