#![no_main]

/// What decides which reader sees the bytes.
const MAGICS: [(usize, &[u8]); 6] = [
    (1080, &[0x53, 0xef]),
    (0, b"hsqs"),
    (1024, &[0xe2, 0xe1, 0xf5, 0xe0]),
    (510, &[0x55, 0xaa]),
    (512, b"EFI PART"),
    (54, b"FAT16   "),
];

libfuzzer_sys::fuzz_target!(|input: (u8, Vec<u8>)| {
    let (kind, mut bytes) = input;
    if let Some((at, magic)) = MAGICS.get(usize::from(kind % 8)) {
        if let Some(place) = bytes.get_mut(*at..at + magic.len()) {
            place.copy_from_slice(magic);
        }
        // FAT has a jump and a signature besides, and a sector of a size that may be.
        if magic.starts_with(b"FAT") && bytes.len() >= 512 {
            bytes[0] = 0xeb;
            bytes[11..13].copy_from_slice(&[0, 2]);
            bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
        }
    }
    fuzz::disks::look(&bytes);
});
