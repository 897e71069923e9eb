#![no_main]

use flash::files::extract;
use flash::jffs2::*;

/// Makes checksums right, so that the fuzzer gets past them.
fn mend(bytes: &mut [u8]) {
    use flash::jffs2::node::crc;
    let mut at = 0;
    while at + 12 <= bytes.len() {
        let n = &mut bytes[at..];
        if n[..2] == [0x85, 0x19] {
            let c = crc(&n[..8]);
            n[8..12].copy_from_slice(&c.to_le_bytes());
            let put = |n: &mut [u8], end: usize, place: usize| {
                if place + 4 <= n.len() {
                    let c = crc(&n[..end]);
                    n[place..place + 4].copy_from_slice(&c.to_le_bytes());
                }
            };
            match (n[2], n[3]) {
                (2, 0xe0) if n.len() >= 68 => {
                    let size = u32::from_le_bytes([n[48], n[49], n[50], n[51]]) as usize;
                    if let Some(d) = n[68..].get(..size) {
                        let c = crc(d);
                        n[60..64].copy_from_slice(&c.to_le_bytes());
                    }
                    put(n, 60, 64);
                }
                (1, 0xe0) if n.len() >= 40 => {
                    let size = usize::from(n[28]);
                    if let Some(d) = n[40..].get(..size) {
                        let c = crc(d);
                        n[36..40].copy_from_slice(&c.to_le_bytes());
                    }
                    put(n, 32, 32);
                }
                (8, 0xe0) if n.len() >= 32 => {
                    let size =
                        usize::from(n[21]) + 1 + usize::from(u16::from_le_bytes([n[22], n[23]]));
                    if let Some(d) = n[32..].get(..size) {
                        let c = crc(d);
                        n[24..28].copy_from_slice(&c.to_le_bytes());
                    }
                    put(n, 28, 28);
                }
                (9, 0xe0) => put(n, 24, 24),
                (6, 0x20) if n.len() >= 32 => {
                    let len = u32::from_le_bytes([n[4], n[5], n[6], n[7]]) as usize;
                    if let Some(d) = n.get(32..len) {
                        let c = crc(d);
                        n[24..28].copy_from_slice(&c.to_le_bytes());
                    }
                    put(n, 24, 28);
                }
                _ => {}
            }
        }
        at += 4;
    }
}

libfuzzer_sys::fuzz_target!(|input: (u8, Vec<u8>)| {
    let (how, mut bytes) = input;
    if how & 1 == 0 {
        mend(&mut bytes);
    }
    let erase_size = if how & 2 == 0 { Some(8192) } else { None };
    let image = bytes.as_slice();
    check(
        &image,
        &CheckOptions {
            erase_size,
            ..CheckOptions::default()
        },
    )
    .ok();
    for mode in [Mode::Safe, Mode::Compatible] {
        let options = Options {
            erase_size: 8192,
            endian: Endian::Little,
            cleanmarkers: Cleanmarkers::AsFound,
            pad: how & 4 == 0,
            mode,
        };
        let mut out = Vec::new();
        if summarize(&image, &mut out, &options).is_ok() && mode == Mode::Safe {
            let mut second = Vec::new();
            if let Ok(o) = summarize(&out.as_slice(), &mut second, &options) {
                assert!(o.lost.is_empty());
            }
        }
    }
    if let Ok(fs) = Filesystem::open(
        &image,
        &OpenOptions {
            erase_size,
            ..OpenOptions::default()
        },
    ) {
        verify(&fs).unwrap();
        extract(&fs, &mut fuzz::Null).unwrap();
    }
});
