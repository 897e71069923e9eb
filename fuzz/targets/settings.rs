#![no_main]

//! Files of settings: boards, storage profiles, readings of a board's storage; and what a board
//! says of its state.

use agent::readings::Readings;
use capture::board::{Board, FirstLight, state};
use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    match Board::parse(Path::new("/board.toml"), &text) {
        Ok(board) => drop(board.inputs()),
        Err(why) => assert!(!why.to_string().is_empty()),
    }
    if let Ok(light) = FirstLight::parse(&text) {
        assert_eq!(
            FirstLight::parse(&light.to_string()).unwrap().to_string(),
            light.to_string()
        );
    }
    if let Ok(profiles) = storage::profiles::parse("profiles.toml", &text) {
        assert!(
            profiles
                .iter()
                .all(|p| !p.name.is_empty() || text.contains('"'))
        );
    }
    for (name, value) in state(bytes) {
        assert!(!name.is_empty() && value.parse::<f64>().unwrap().is_finite());
    }
    if let Ok(readings) = Readings::parse(&text) {
        assert_eq!(
            Readings::parse(&readings.to_string()).as_ref(),
            Ok(&readings)
        );
    }
});
