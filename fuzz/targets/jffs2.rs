#![no_main]

use flash::files::extract;
use flash::jffs2::*;

libfuzzer_sys::fuzz_target!(|input: (u8, Vec<u8>)| {
    let (how, mut bytes) = input;
    let endian = if how & 8 == 0 {
        Endian::Little
    } else {
        Endian::Big
    };
    if how & 1 == 0 {
        fuzz::jffs2::mend(&mut bytes, endian);
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
            endian,
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
