#![no_main]

use bootimage::initramfs::{fingerprint, read, repack};
use bootimage::{Compression, Part};

libfuzzer_sys::fuzz_target!(|input: (u8, &[u8])| {
    let (which, bytes) = input;
    let limit = 1 << 20;
    let part = Part::whole(&bytes).unwrap();
    let found = read(&part, limit).unwrap();
    assert!(found.end <= part.len());
    // What is written unpacks to the same entries, whatever was read.
    let quick = [
        Compression::None,
        Compression::Lz4,
        Compression::Lzo,
        Compression::Gzip,
    ];
    let compression = quick[usize::from(which) % quick.len()];
    let mut out = Vec::new();
    if repack(&part, compression, limit, &mut out).is_ok() {
        let written = out.as_slice();
        let written = Part::whole(&written).unwrap();
        let before = fingerprint(&part, limit).unwrap();
        assert_eq!(fingerprint(&written, limit).unwrap(), before);
    }
});
