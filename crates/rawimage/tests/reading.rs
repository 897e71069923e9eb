//! Reading at an offset, of files, devices and parts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use firstlight_rawimage::read::From;
use firstlight_rawimage::{MountState, ReadAt};
use std::fs::File;
use std::io::ErrorKind;

#[test]
fn a_part_from_a_byte_on_has_its_own_places() {
    let bytes: &[u8] = b"0123456789";
    let part = From {
        image: &bytes,
        start: 4,
    };
    assert_eq!(part.length().unwrap(), 6);
    let mut two = [0; 2];
    part.read_exact_at(4, &mut two).unwrap();
    assert_eq!(&two, b"89");
    let short = part.read_exact_at(5, &mut two).unwrap_err();
    assert_eq!(short.kind(), ErrorKind::UnexpectedEof);
    // A place that no number holds, and a part that begins behind the end.
    let far = part.read_exact_at(u64::MAX - 3, &mut two).unwrap_err();
    assert_eq!(far.kind(), ErrorKind::UnexpectedEof);
    let behind = From {
        image: &bytes,
        start: 11,
    };
    assert_eq!(behind.length().unwrap(), 0);
    assert!(behind.read_exact_at(0, &mut two).is_err());
}

#[test]
fn a_file_has_its_length_and_a_device_ends_where_seeking_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    std::fs::write(&path, b"abc").unwrap();
    let file = File::open(&path).unwrap();
    assert_eq!(file.length().unwrap(), 3);
    let mut last = [0];
    file.read_exact_at(2, &mut last).unwrap();
    assert_eq!(&last, b"c");
    assert!(file.read_exact_at(3, &mut last).is_err());
    // Of this device there is no byte; its metadata would say nothing else of a disk.
    assert_eq!(File::open("/dev/null").unwrap().length().unwrap(), 0);
}

#[test]
fn how_a_filesystem_was_left_has_a_word_and_a_name() {
    let both = [MountState::Clean, MountState::Replay];
    assert_eq!(both.map(MountState::word), ["clean", "replay"]);
    assert_eq!(both.map(MountState::name), ["clean", "replay due"]);
}
