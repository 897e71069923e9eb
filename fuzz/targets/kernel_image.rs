#![no_main]

use bootimage::kernel::{built_in, bzimage, content, elf, flat, zboot, zimage};
use bootimage::signature::{is_signed_program, is_verity};
use bootimage::{Compression, Part, compression};

libfuzzer_sys::fuzz_target!(|input: (u8, &[u8])| {
    let (which, bytes) = input;
    let part = Part::whole(&bytes).unwrap();
    let limit = 1 << 20;
    // One stream, packed in any way.
    let packed = Compression::ALL[usize::from(which) % Compression::ALL.len()];
    if let Ok(found) = compression::measure(packed, &part, limit) {
        assert!(found.packed <= part.len() && found.unpacked <= limit);
    }
    if let Some(found) = bzimage::read(&part).unwrap() {
        found.unpack(&part, limit).unwrap();
    }
    zimage::read(&part, limit).unwrap();
    zboot::read(&part, limit).unwrap();
    content::scan(&mut part.cursor()).unwrap();
    let _ = content::inner(bytes);
    let _ = elf::pvh_entry(bytes);
    let _ = elf::has_interpreter(bytes);
    let _ = flat::header(bytes);
    if let Some(found) = built_in::built_in(bytes) {
        assert!(found.packed <= bytes.len() as u64);
    }
    let _ = is_signed_program(&part) | is_verity(&part);
});
