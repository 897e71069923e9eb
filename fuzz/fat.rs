//! A boot partition: a FAT of 12 bits, with clusters of a sector. Of bytes made at random
//! nearly none would get past its boot sector.

const SECTOR: usize = 512;
/// So many sectors each table has, and so many the directory of the root.
const TABLE: usize = 3;
const ROOT: usize = 4;
const DATA: usize = 1 + 2 * TABLE + ROOT;
/// So many clusters there are.
const CLUSTERS: usize = 400;
/// The folder of menus, and the only one.
const FOLDER: &str = "extlinux";

struct Image {
    bytes: Vec<u8>,
    /// The next cluster that is free.
    free: usize,
}

impl Image {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn link(&mut self, cluster: usize, to: usize) {
        for table in [SECTOR, SECTOR * (1 + TABLE)] {
            let at = table + cluster + cluster / 2;
            let old = u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]);
            let new = match cluster % 2 {
                0 => old & 0xf000 | to as u16,
                _ => old & 0x000f | (to as u16) << 4,
            };
            self.put(at, &new.to_le_bytes());
        }
    }

    /// Lays a file down, and says where it begins: at 0 if it has no bytes, or no place.
    fn content(&mut self, bytes: &[u8]) -> usize {
        let first = self.free;
        let count = bytes.len().div_ceil(SECTOR);
        if count == 0 || first + count > CLUSTERS {
            return 0;
        }
        for cluster in first..first + count {
            let is_last = cluster + 1 == first + count;
            self.link(cluster, if is_last { 0xfff } else { cluster + 1 });
        }
        self.free += count;
        self.put((DATA + first - 2) * SECTOR, bytes);
        first
    }
}

/// The entries of a name: the long ones, if it needs them, and the short one.
fn entries(name: &str, number: usize, is_folder: bool, first: usize, size: usize) -> Vec<u8> {
    let mut short = [b' '; 11];
    short[..8].copy_from_slice(format!("F{number:07}").as_bytes());
    let sum = short
        .iter()
        .fold(0_u8, |sum, b| sum.rotate_right(1).wrapping_add(*b));
    let mut units: Vec<u16> = name.encode_utf16().take(250).collect();
    if !units.len().is_multiple_of(13) {
        units.push(0);
    }
    units.resize(units.len().next_multiple_of(13), 0xffff);
    let parts = units.chunks(13).enumerate().rev();
    let last = units.len() / 13;
    let mut all = Vec::new();
    for (n, part) in parts {
        let mut entry = [0; 32];
        let is_last = n + 1 == last;
        entry[0] = (n + 1) as u8 | if is_last { 0x40 } else { 0 };
        entry[11] = 0x0f;
        entry[13] = sum;
        let places = (1..11).chain(14..26).chain(28..32).step_by(2);
        for (place, unit) in places.zip(part) {
            entry[place..place + 2].copy_from_slice(&unit.to_le_bytes());
        }
        all.extend(entry);
    }
    let mut entry = [0; 32];
    entry[..11].copy_from_slice(&short);
    entry[11] = if is_folder { 0x10 } else { 0x20 };
    entry[26..28].copy_from_slice(&(first as u16).to_le_bytes());
    entry[28..].copy_from_slice(&(size as u32).to_le_bytes());
    all.extend(entry);
    all
}

/// An image with these files, in the root or in `extlinux`. What has no place is left out.
pub fn image(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let sectors = DATA + CLUSTERS - 2;
    let mut image = Image {
        bytes: vec![0; sectors * SECTOR],
        free: 2,
    };
    image.put(0, &[0xeb, 0x3c, 0x90]);
    let [low, high] = (sectors as u16).to_le_bytes();
    let entries_of_root = (ROOT * SECTOR / 32) as u8;
    let fields = [
        0,
        2,
        1,
        1,
        0,
        2,
        entries_of_root,
        0,
        low,
        high,
        0xf8,
        TABLE as u8,
        0,
    ];
    image.put(11, &fields);
    image.put(38, &[0x29, 1, 2, 3, 4]);
    image.put(43, b"NO NAME    FAT12   ");
    image.put(510, &[0x55, 0xaa]);
    image.link(0, 0xff8);
    image.link(1, 0xfff);
    let (mut root, mut menus) = (Vec::new(), Vec::new());
    for (number, (name, bytes)) in files.iter().enumerate() {
        let first = image.content(bytes);
        let size = if first == 0 { 0 } else { bytes.len() };
        match name.strip_prefix(FOLDER).and_then(|n| n.strip_prefix('/')) {
            Some(name) => menus.extend(entries(name, number, false, first, size)),
            None => root.extend(entries(name, number, false, first, size)),
        }
    }
    let first = image.content(&menus);
    if first != 0 {
        root.extend(entries(FOLDER, files.len(), true, first, 0));
    }
    root.truncate(ROOT * SECTOR);
    image.put((1 + 2 * TABLE) * SECTOR, &root);
    image.bytes
}
