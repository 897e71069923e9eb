#![no_main]

use flash::files::{Folder, Rights, extract};
use flash::jffs2::{Filesystem, OpenOptions};
use fuzz::jffs2::{ERASE_SIZE, Image};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A place in memory for this program: what is outside of the folder that is
/// extracted to, and must stay as it is.
fn outside() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let place = PathBuf::from(format!("/dev/shm/firstlight-fuzz-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(place.join("a")).unwrap();
        fs::write(place.join("x"), "x").unwrap();
        place
    })
}

/// What is in the place, and how much of each.
fn state() -> Vec<(PathBuf, u64, u32)> {
    let mut found: Vec<_> = fs::read_dir(outside())
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let meta = entry.metadata().unwrap();
            (entry.path(), meta.len(), meta.mode())
        })
        .collect();
    found.sort();
    found
}

libfuzzer_sys::fuzz_target!(|image: Image| {
    let bytes = image.bytes();
    let image = bytes.as_slice();
    let options = OpenOptions {
        erase_size: Some(ERASE_SIZE as u32),
        ..OpenOptions::default()
    };
    let Ok(filesystem) = Filesystem::open(&image, &options) else {
        return;
    };
    let before = state();
    let folder = outside().join("in");
    let mut sink = Folder::new(&folder, Rights::default()).unwrap();
    // A disk may refuse; nothing may be outside all the same.
    if let Ok(done) = extract(&filesystem, &mut sink) {
        let there = fs::read_dir(&folder).unwrap().count() as u64;
        let made = done.directories + done.files + done.symlinks + done.specials + done.hard_links;
        assert!(there < made, "{there} of {made}");
    }
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(state(), before);
    assert!(!Path::new("/tmp/outside").exists());
});
