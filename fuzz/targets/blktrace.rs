#![no_main]

use record::Recorder;
use sources::blktrace::Blktrace;
use sources::{Input, Source};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::read(&Blktrace, bytes);
    // As the files of two processors.
    let (a, b) = bytes.split_at(bytes.len() / 2);
    let mut recorder = Recorder::new();
    let inputs = [("f.blktrace.0", a), ("f.blktrace.1", b)];
    let inputs = inputs.map(|(name, bytes)| Input { name, bytes });
    Blktrace.read_all(&inputs, &mut recorder);
    let record = recorder.finish();
    for s in record.sources() {
        assert_eq!(s.units, s.events + s.noted);
    }
});
