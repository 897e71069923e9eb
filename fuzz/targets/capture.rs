#![no_main]

use agent::capture::{Limits, read_tar};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        member_bytes: 1 << 20,
        total_bytes: 1 << 22,
        members: 100,
    };
    read_tar(bytes, limits).ok();
    if let Ok(manifest) = sources::capture::manifest(bytes) {
        let mut recorder = record::Recorder::new();
        let source = recorder.source("manifest.json", sources::capture::FORMAT);
        sources::capture::apply(&manifest, source, &mut recorder);
        let _ = recorder.finish();
    }
});
