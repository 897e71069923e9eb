#![no_main]

//! Lists that users write: of paths, and of requests of a device.

use inspect::requests::{Unit, is_plain, plain};
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let name = Path::new("boot.list");
    if let Ok(paths) = inspect::paths::of_bytes(name, bytes) {
        let odd = |p: &Vec<u8>| p.is_empty() || p.contains(&b'\n') || p.starts_with(b"#");
        assert!(!paths.iter().any(odd));
        // Joined again they are the same, but for a carriage return that a line ends with.
        let ends = |p: &Vec<u8>| p.ends_with(b"\r");
        if !paths.iter().any(ends) {
            let again = inspect::paths::of_bytes(name, &paths.join(&b'\n')).unwrap();
            assert_eq!(again, paths);
        }
    }
    let mut file = file(bytes);
    match is_plain(&mut file, name) {
        Ok(false) => return,
        Ok(true) => {}
        Err(why) => {
            assert!(bytes.is_empty(), "{why}");
            return;
        }
    }
    let read = |file: File| plain(vec![(file, name.to_owned())], Unit::SECTORS);
    match read(file) {
        Ok(found) => {
            let mut text = String::new();
            for request in &found.list {
                assert!(request.start.checked_add(request.len).is_some());
                text.push_str(&format!("{}+{}\n", request.start, request.len));
            }
            assert_eq!(read(self::file(text.as_bytes())).unwrap().list, found.list);
        }
        Err(why) => assert!(why.to_string().starts_with("boot.list")),
    }
});

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile_in("/dev/shm").unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    file
}
