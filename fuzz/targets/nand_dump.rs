#![no_main]

//! Dumps of NAND chips, in which spare bytes follow each page, of any layout.

use flash::ReadAt;
use flash::jffs2::{
    CheckOptions, Endian, Filesystem, Oob, OpenOptions, Spare, Stripped, check, verify,
};

libfuzzer_sys::fuzz_target!(|input: (u16, u16, Vec<u8>)| {
    let (page, spare, mut bytes) = input;
    // Right where a node does not go over the spare bytes.
    if spare & 2 == 0 {
        fuzz::jffs2::mend(&mut bytes, Endian::Little);
    }
    // Most of the time small pages, of which a short input has several.
    let page = if page & 1 == 0 {
        256 << (page >> 1 & 7)
    } else {
        u32::from(page)
    };
    let spare = if spare & 1 == 0 {
        8 << (spare >> 1 & 7)
    } else {
        u32::from(spare)
    };
    let image = bytes.as_slice();
    let Ok(oob) = (Oob { page, spare }).checked() else {
        return;
    };
    let stripped = Stripped { image: &image, oob };
    let length = stripped.length().unwrap();
    assert!(length <= bytes.len() as u64);
    if length < 1 << 20 {
        let mut all = vec![0; length as usize];
        stripped.read_exact_at(0, &mut all).unwrap();
        // Byte by byte it is the same.
        let mut one = [0];
        for at in (0..length).step_by(97) {
            stripped.read_exact_at(at, &mut one).unwrap();
            assert_eq!(one[0], all[at as usize]);
        }
    }
    let spare = Spare::Given(oob);
    let erase_size = Some(8192);
    let options = CheckOptions {
        erase_size,
        spare,
        ..CheckOptions::default()
    };
    check(&image, &options).ok();
    let options = OpenOptions {
        erase_size,
        spare,
        ..OpenOptions::default()
    };
    if let Ok(filesystem) = Filesystem::open(&image, &options) {
        verify(&filesystem).unwrap();
    }
});
