#![no_main]

//! Many boots in files, folders and archives: each becomes a row, whatever it holds.

use input::rows::{Unit, each, each_of_list, rows};
use input::{Error, Reading};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Names that decide what a file is taken for.
const NAMES: [&str; 8] = [
    "dmesg",
    "manifest.json",
    "serial.log",
    "journal.json",
    "a/dmesg",
    "a/manifest.json",
    "b/boot.txt",
    "b/trace.dat",
];

#[derive(arbitrary::Arbitrary, Debug)]
struct Files {
    /// How they are given: files in a folder, an archive, a packed archive, one file.
    form: u8,
    files: Vec<(u8, Vec<u8>)>,
    /// Bytes of the archive that are changed.
    damage: Vec<(u16, u8)>,
    cut: u8,
}

fn archive(files: &Files) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files.files.iter().take(8) {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mtime(u64::from(*name));
        let name = NAMES[usize::from(name % 8)];
        tar.append_data(&mut header, name, &bytes[..]).unwrap();
    }
    let mut bytes = tar.into_inner().unwrap();
    for (at, value) in &files.damage {
        if let Some(byte) = bytes.get_mut(usize::from(*at)) {
            *byte ^= value;
        }
    }
    bytes.truncate(bytes.len().saturating_sub(usize::from(files.cut)));
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn write(folder: &Path, files: &Files) {
    match files.form % 4 {
        0 => fs::write(folder.join("boots.tar"), archive(files)).unwrap(),
        1 => fs::write(folder.join("boots.tar.gz"), gzip(&archive(files))).unwrap(),
        _ => {
            for (name, bytes) in files.files.iter().take(8) {
                let path = folder.join(NAMES[usize::from(name % 8)]);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
        }
    }
}

libfuzzer_sys::fuzz_target!(|files: Files| {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    write(folder.path(), &files);
    let mut units: Vec<Unit> = Vec::new();
    let mut give = |unit: Unit| -> Result<(), Error> {
        units.push(unit);
        Ok(())
    };
    match files.form & 4 {
        0 => each(folder.path(), &mut give).unwrap(),
        _ => {
            let list = format!("{}\r\n\n", folder.path().display());
            each_of_list(list.as_bytes(), &mut give).unwrap();
        }
    }
    let found = units.len();
    let rows = rows(units, &Reading::default());
    // One row for each boot, and each has a name by which it is found again.
    assert_eq!(rows.len(), found);
    assert!(rows.iter().all(|(source, _)| !source.boot_id.is_empty()));
});
