//! What every source must hold, whatever the bytes, and inputs of several files.

pub mod containers;
pub mod disks;
pub mod fat;
pub mod jffs2;
pub mod sums;
pub mod trials;

use flash::files::{Attribute, Device, Entry, Sink};
use record::Recorder;
use sources::{Input, Source};
use std::fs;
use std::io;
use std::path::{Component, Path};

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

/// The files that an input stands for: a line of `--` begins the next one, and what stands in
/// that line is its name. The first is named `fuzz`.
pub fn files(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut files = vec![("fuzz".to_owned(), Vec::new())];
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        match (line.strip_prefix(b"--"), files.last_mut()) {
            (Some(name), _) => {
                let name = String::from_utf8_lossy(name).trim().to_owned();
                files.push((name, Vec::new()));
            }
            (None, Some((_, file))) => file.extend_from_slice(line),
            (None, None) => {}
        }
    }
    files
}

/// A folder in memory with these files, as far as their names stay in it.
pub fn folder(files: &[(String, Vec<u8>)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    for (name, bytes) in files {
        let path = Path::new(name);
        let stays = path.components().all(|c| matches!(c, Component::Normal(_)));
        let path = folder.path().join(path);
        if !stays || path == folder.path() {
            continue;
        }
        // A name may be too long, or that of a folder.
        if fs::create_dir_all(path.parent().unwrap()).is_ok() {
            let _ = fs::write(path, bytes);
        }
    }
    folder
}

/// Takes all files of a file system, and keeps nothing.
pub struct Null;
impl Sink for Null {
    fn directory(&mut self, _: &Entry) -> io::Result<()> {
        Ok(())
    }
    fn file(&mut self, _: &Entry) -> io::Result<()> {
        Ok(())
    }
    fn write(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
    fn symlink(&mut self, _: &Entry, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
    fn hard_link(&mut self, _: &Entry, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
    fn special(&mut self, _: &Entry, _: Option<Device>) -> io::Result<bool> {
        Ok(true)
    }
    fn metadata(&mut self, _: &Entry, _: &[Attribute]) -> io::Result<()> {
        Ok(())
    }
}
