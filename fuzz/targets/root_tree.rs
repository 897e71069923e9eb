#![no_main]

//! The files of a root that say how it boots, and what advice makes of them.

use analysis::{Options, advice, phases_with};
use record::Recorder;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let folder = fuzz::folder(&fuzz::files(bytes));
    let Ok(facts) = inspect::system::facts(&[folder.path().to_owned()], None) else {
        return;
    };
    let record = Recorder::new().finish();
    let phases = phases_with(&record, &Options::default());
    for finding in advice(&record, &phases, &facts).findings {
        assert!(finding.saving.is_none_or(|(least, most)| least <= most));
    }
});
