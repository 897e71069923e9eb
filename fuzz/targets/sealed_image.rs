#![no_main]

//! Whole images of which bytes are changed and the checksums put right again: what damage in
//! the structures does, not what a wrong sum does.

use disk::mount::{LAB, look as mount, squashfs_reads};
use fuzz::sums;
use rawimage::{Part, ReadAt};

/// Puts the checksums of an image right.
type Mend = fn(&mut [u8]);

/// What is damaged, and how its checksums are put right. A squashfs has none, and its metadata
/// is not packed here, so that changes reach the structures.
const IMAGES: [(&[u8], Mend); 6] = [
    (include_bytes!("../images/checksums.img"), sums::ext),
    (include_bytes!("../images/plain.img"), sums::ext),
    (include_bytes!("../images/squashfs.img"), |_| ()),
    (include_bytes!("../images/erofs.img"), sums::erofs),
    (include_bytes!("../images/erofs-packed.img"), sums::erofs),
    (include_bytes!("../images/cramfs.img"), sums::cramfs),
];

/// A disk with a GPT of four entries, and one of the images in its first partition.
fn disk(image: &[u8]) -> Vec<u8> {
    const SECTOR: usize = 512;
    let first = 4;
    let last = first + image.len().div_ceil(SECTOR) - 1;
    let mut disk = vec![0; (last + 1) * SECTOR];
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    disk[450] = 0xee;
    let mut put = |at: usize, what: &[u8]| disk[at..at + what.len()].copy_from_slice(what);
    put(SECTOR, b"EFI PART");
    put(SECTOR + 12, &92_u32.to_le_bytes());
    put(SECTOR + 72, &2_u64.to_le_bytes());
    put(SECTOR + 80, &4_u32.to_le_bytes());
    put(SECTOR + 84, &128_u32.to_le_bytes());
    put(2 * SECTOR, &[1; 16]);
    put(2 * SECTOR + 32, &(first as u64).to_le_bytes());
    put(2 * SECTOR + 40, &(last as u64).to_le_bytes());
    put(first * SECTOR, image);
    disk
}

libfuzzer_sys::fuzz_target!(|input: (u8, Vec<(u16, u8)>, u16)| {
    let (which, changes, cut) = input;
    let (image, mend) = IMAGES[usize::from(which >> 1) % IMAGES.len()];
    let mut bytes = image.to_vec();
    let on_disk = which & 1 == 1;
    if on_disk {
        bytes = disk(image);
    }
    let length = bytes.len();
    for (at, value) in &changes {
        bytes[usize::from(*at) % length] ^= value;
    }
    let part_at = if on_disk { 2048 } else { 0 };
    mend(&mut bytes[part_at..]);
    sums::gpt(&mut bytes);
    // Most of the time all of it is there.
    if cut > 60_000 {
        bytes.truncate(usize::from(cut - 60_000) % length);
    }
    fuzz::disks::look(&bytes);
    let slice: &[u8] = &bytes;
    let Ok(part) = Part::whole(&slice as &dyn ReadAt) else {
        return;
    };
    let _ = disk::cramfs::programs(&part);
    if let Ok(Some(plan)) = mount(&part) {
        let mut none = |now, _, _, _| now;
        let mut again = none;
        let cost = plan.cost(&LAB, &mut none, &mut again);
        assert!(cost.total_ns >= cost.storage_ns);
    }
    let _ = squashfs_reads(&part);
});
