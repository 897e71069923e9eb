//! What every source must hold, whatever the bytes.

pub mod jffs2;

use record::Recorder;
use sources::{Input, Source};

/// Sniffs and reads `bytes`: no panic, and every unit is an event or a note.
pub fn read(source: &dyn Source, bytes: &[u8]) {
    source.sniff(bytes);
    let mut recorder = Recorder::new();
    source.read(
        Input {
            name: "fuzz",
            bytes,
        },
        &mut recorder,
    );
    for s in recorder.finish().sources() {
        assert_eq!(s.units, s.events + s.noted, "{}", s.format);
    }
}
