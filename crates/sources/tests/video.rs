//! Changes of a picture: the corpus, whose lines ffmpeg 5.1 wrote of a video made by it (2 s of
//! black, 1.2 s of a moving test picture, 3 s of blue), and damaged input.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{assert_conserved, check_corpus, damage, read, workspace};
use firstlight_sources::video::Video;
use firstlight_sources::{Source, sniff};
use proptest::prelude::*;
use record::Record;

fn corpus(name: &str) -> Vec<u8> {
    std::fs::read(workspace().join("corpus/video").join(name)).unwrap()
}

/// The names and milliseconds of all marks.
fn marks(record: &Record) -> Vec<(String, i64)> {
    let first = record.marks().iter().map(|m| m.at.get()).min().unwrap();
    let marks = record.marks().iter();
    marks
        .map(|m| {
            (
                record.name(m.name).to_owned(),
                (m.at.get() - first) / 1_000_000,
            )
        })
        .collect()
}

#[test]
fn the_corpus_reads_as_before() {
    check_corpus("video");
}

#[test]
fn a_picture_appears_moves_and_stands_still() {
    for name in ["screen.txt", "scenes.txt"] {
        let bytes = corpus(name);
        assert_eq!(sniff(&bytes).unwrap().name(), "video", "{name}");
        let record = read(&Video, &bytes);
        assert_conserved(&record);
        let mut found = marks(&record);
        found.sort();
        let wanted = [
            ("picture-appears", 2_000),
            ("picture-changes", 2_000),
            ("picture-changes", 3_200),
            ("picture-stands-still", 3_200),
            ("recording-starts", 0),
        ];
        let wanted = wanted.map(|(name, ms)| (name.to_owned(), ms));
        assert_eq!(found, wanted, "{name}");
    }
}

#[test]
fn a_busy_picture_keeps_its_first_changes_and_its_last() {
    let lines = (0..200).map(|n| format!("[scdet @ 0x1] lavfi.scd.time: {n}.5\n"));
    let record = read(&Video, lines.collect::<String>().as_bytes());
    assert_conserved(&record);
    let marks = marks(&record);
    let changes = marks.iter().filter(|m| m.0 == "picture-changes");
    assert_eq!(changes.count(), 65);
    assert!(marks.contains(&("picture-stands-still".to_owned(), 199_500)));
    let noted = record.notes().iter();
    let busy: u64 = noted
        .filter(|n| n.kind.name == "busy_picture")
        .map(|n| n.count)
        .sum();
    assert_eq!(busy, 136);
}

proptest! {
    #[test]
    fn damage_is_counted(damages in proptest::collection::vec(damage(), 0..4)) {
        let whole = corpus("screen.txt");
        let bytes = damages.iter().fold(whole, |bytes, damage| damage.apply(&bytes));
        Video.sniff(&bytes);
        assert_conserved(&read(&Video, &bytes));
    }
}
