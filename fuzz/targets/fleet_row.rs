#![no_main]

use record::{Nanos, Recorder};
use sources::{Input, SOURCES};

// What `rows` does with the logs of a boot: whatever is in them, the row of the boot is
// within its limits, and its names are canonical.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut recorder = Recorder::new();
    // A log and what systemd says of the same boot, cut at the first line of `--`.
    let at = bytes.windows(3).position(|w| w == b"\n--");
    let (first, second) = bytes.split_at(at.unwrap_or(bytes.len()));
    for source in SOURCES {
        let inputs: Vec<Input<'_>> = [first, second.get(4..).unwrap_or_default()]
            .into_iter()
            .filter(|file| sources::sniff(file).is_some_and(|s| s.name() == source.name()))
            .map(|bytes| Input { name: "fuzz", bytes })
            .collect();
        if !inputs.is_empty() {
            source.read_all(&inputs, &mut recorder);
        }
    }
    let row = analysis::fleet_row(&recorder.finish(), &analysis::Options::default());
    assert!(row.items.len() <= analysis::MOST_ITEMS);
    for item in &row.items {
        assert!(item.duration >= Nanos::ZERO && item.duration <= analysis::LONGEST_BOOT);
        assert_eq!(analysis::canonical(&item.name), item.name);
    }
    if row.status == analysis::RowStatus::Ok {
        let end = row.first_light.map(Nanos::get);
        assert!(end.is_some_and(|end| (0..=analysis::LONGEST_BOOT.get()).contains(&end)));
    }
});
