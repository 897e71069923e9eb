//! The log of what a disk was told to write, and the disk at a moment of it.

use super::Dice;

const SECTOR: usize = 512;

/// What a disk writes whole.
const WHOLE: usize = 4096;

/// The writes of a log as `blklogwrites` makes it, which is that of the kernel's
/// `Documentation/admin-guide/device-mapper/log-writes.rst`: place and bytes, or
/// `None` for a flush.
pub fn writes(log: &[u8]) -> Vec<Option<(usize, &[u8])>> {
    let mut all = Vec::new();
    let mut at = SECTOR;
    while let Some(header) = log.get(at..at + 32) {
        let field = |n: usize| {
            let bytes = header[n * 8..n * 8 + 8].try_into().unwrap();
            usize::try_from(u64::from_le_bytes(bytes)).unwrap()
        };
        let [sector, sectors, flags] = [field(0), field(1), field(2)];
        if sectors == 0 && flags == 0 {
            break;
        }
        at += SECTOR;
        if flags & 1 != 0 {
            all.push(None);
        }
        // A discard has no bytes.
        if flags & 4 == 0 && sectors > 0 {
            let Some(bytes) = log.get(at..at + sectors * SECTOR) else {
                break;
            };
            all.push(Some((sector * SECTOR, bytes)));
            at += sectors * SECTOR;
        }
        if flags & 2 != 0 {
            all.push(None);
        }
    }
    all
}

/// The disk at a moment, that is after so many writes and flushes, if its cache was
/// lost: all that was flushed, and of what came after it any blocks. Also how many
/// writes were not flushed.
pub fn at_moment(
    before: &[u8],
    all: &[Option<(usize, &[u8])>],
    moment: usize,
    dice: &mut Dice,
) -> (Vec<u8>, usize) {
    let mut disk = before.to_vec();
    let done = &all[..moment.min(all.len())];
    let flushed = done.iter().rposition(Option::is_none).unwrap_or(0);
    let mut open = 0;
    for (number, write) in done.iter().enumerate() {
        let Some((at, bytes)) = write else { continue };
        let mut keep = bytes.len();
        if number >= flushed {
            open += 1;
            keep = match dice.next(3) {
                0 => 0,
                1 => dice.next((bytes.len() / WHOLE) as u64 + 1) as usize * WHOLE,
                _ => keep,
            };
        }
        if let Some(place) = disk.get_mut(*at..*at + keep) {
            place.copy_from_slice(&bytes[..keep]);
        }
    }
    (disk, open)
}
