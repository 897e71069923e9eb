#![no_main]

use flash::jffs2::{CheckOptions, Class, Cleanmarkers, Mode, Options, Outcome, check, summarize};
use fuzz::jffs2::{ERASE_SIZE, Image, look};

/// What is written in either way is what was read, as far as the way promises it.
fn written(input: &[u8], options: &Options, before: Option<&fuzz::jffs2::Seen>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let outcome: Outcome = summarize(&input, &mut out, options).ok()?;
    assert_eq!(outcome.bytes_in, input.len() as u64);
    assert_eq!(outcome.bytes_out, out.len() as u64);
    // Only `sumtool` brings back what is dead and goes on behind damage.
    let keeps_all = match options.mode {
        Mode::Safe => {
            assert_eq!(outcome.resurrected, 0);
            true
        }
        Mode::Compatible => outcome.resurrected == 0 && outcome.lost.is_empty(),
    };
    if outcome.nodes > 0 && keeps_all && before.is_some() {
        assert_eq!(look(&out, options.endian).as_ref(), before);
    }
    let looked = CheckOptions {
        erase_size: Some(options.erase_size),
        ..CheckOptions::default()
    };
    if let Ok(report) = check(&out.as_slice(), &looked) {
        assert_eq!(report.count(Class::BrokenSummary), 0, "{}", report.map);
    }
    Some(out)
}

libfuzzer_sys::fuzz_target!(|input: (Image, u8, u8)| {
    let (image, how, cleanmarker) = input;
    let bytes = image.bytes();
    let endian = image.endian();
    let before = look(&bytes, endian);
    let cleanmarkers = match how & 3 {
        0 => Cleanmarkers::None,
        1 => Cleanmarkers::Sized(u32::from(cleanmarker)),
        _ => Cleanmarkers::AsFound,
    };
    for mode in [Mode::Safe, Mode::Compatible] {
        let options = Options {
            erase_size: ERASE_SIZE as u32,
            endian,
            cleanmarkers,
            pad: how & 4 == 0,
            mode,
        };
        let Some(out) = written(&bytes, &options, before.as_ref()) else {
            continue;
        };
        // What was written holds nothing that could be lost, and written again it
        // is the same.
        let safe = Options {
            mode: Mode::Safe,
            ..options
        };
        let mut second = Vec::new();
        if let Ok(outcome) = summarize(&out.as_slice(), &mut second, &safe) {
            assert!(outcome.lost.is_empty(), "{:?}", outcome.lost);
            if mode == Mode::Safe {
                assert!(second == out, "a second time changes something");
            }
        }
    }
});
