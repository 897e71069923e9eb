#![no_main]

//! A file as the command line opens it: logs pasted into pages and tickets, packed ones, in
//! UTF-16, with characters that editors put in.

use input::{Reading, boot};
use std::fs;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = folder.path().join("boot.log");
    fs::write(&path, bytes).unwrap();
    match boot(&[path], &Reading::default(), &|note| {
        assert!(!note.is_empty())
    }) {
        Ok(record) => {
            for s in record.sources() {
                assert_eq!(s.units, s.events + s.noted, "{}", s.format);
            }
        }
        Err(why) => assert!(!why.to_string().trim().is_empty()),
    }
});
