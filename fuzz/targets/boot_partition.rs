#![no_main]

//! A boot partition whose files say how a system boots: Raspberry Pi's config.txt, the menu of
//! extlinux or syslinux, kernels, archives, environments.

use inspect::whole::{Kind, inspect as look};
use rawimage::Part;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut files = fuzz::files(bytes);
    // A long name of FAT ends at its first NUL.
    files.retain(|(name, _)| !name.contains('\0'));
    let image = fuzz::fat::image(&files);
    let image = image.as_slice();
    let items = look(&Part::whole(&image).unwrap(), 1 << 20).unwrap();
    assert!(matches!(items[0].kind, Kind::Filesystem(_)));
    for found in &items[0].files {
        let Some((line, at)) = &found.cmdline else {
            continue;
        };
        // It stands where it is said to stand, in one of the files of that name.
        let named = files.iter().filter(|(name, _)| {
            found
                .path
                .trim_start_matches('/')
                .eq_ignore_ascii_case(name)
        });
        let stands = |bytes: &[u8]| {
            let there = bytes.get(*at as usize..).unwrap_or_default();
            String::from_utf8_lossy(there).starts_with(line.as_str())
        };
        let mut named = named.peekable();
        assert!(named.peek().is_none() || named.any(|(_, bytes)| stands(bytes)));
    }
});
