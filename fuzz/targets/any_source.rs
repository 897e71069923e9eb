#![no_main]

use record::Recorder;
use sources::{Input, SOURCES};

// What the command line does with files: each goes to the source that knows its first
// bytes best, all of a source together, all into one record, on one clock. A line of
// `--` begins the next file; what stands in that line is its name.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let files = fuzz::files(bytes);
    let mut recorder = Recorder::new();
    for source in SOURCES {
        let inputs: Vec<Input<'_>> = files
            .iter()
            .filter(|(_, file)| sources::sniff(file).is_some_and(|s| s.name() == source.name()))
            .map(|(name, bytes)| Input { name, bytes })
            .collect();
        if !inputs.is_empty() {
            source.read_all(&inputs, &mut recorder);
        }
    }
    for s in recorder.finish().sources() {
        assert_eq!(s.units, s.events + s.noted, "{}", s.format);
    }
});
