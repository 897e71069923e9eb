//! Whether files of one folder are one boot, or a boot each.

use super::limit::MOST_LOG_BYTES;
use agent::capture;
use rawimage::compression::Compression;
use sources::SNIFF_BYTES;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

/// Formats of which one boot has one file.
const ONE_PER_BOOT: [&str; 2] = ["kernel-log", "serial"];

/// What a file is by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A capture, or an archive of boots.
    Archive,
    /// A log or trace of this format.
    Known(&'static str),
    Unknown,
}

/// Of a file that is open at its start; it is at its start again afterwards.
pub fn of_file(file: &mut File, path: &Path) -> Format {
    let mut head = Vec::new();
    let read = Read::by_ref(file)
        .take(SNIFF_BYTES as u64)
        .read_to_end(&mut head);
    let format = match read {
        Ok(_) => of_head(&head, path),
        Err(_) => Format::Unknown,
    };
    file.rewind().ok();
    format
}

/// Of a path.
pub fn of_path(path: &Path) -> Format {
    File::open(path).map_or(Format::Unknown, |mut file| of_file(&mut file, path))
}

fn of_head(head: &[u8], path: &Path) -> Format {
    if crate::tar_magic(head) && !sources::is_archive_of_others(head) {
        return Format::Archive;
    }
    if let Some(source) = sources::sniff(head) {
        return Format::Known(source.name());
    }
    // Its format shows only when it is unpacked; that is done for the first few files.
    let packed = Compression::detect(head).is_some_and(|c| c != Compression::None);
    if !packed || !path.is_file() {
        return Format::Unknown;
    }
    match crate::open::read_within(path, MOST_LOG_BYTES) {
        Ok(crate::Input::Capture(_)) => Format::Archive,
        Ok(crate::Input::Raw(raw)) => Format::Known(raw.source.name()),
        Err(_) => Format::Unknown,
    }
}

/// Says of one file after the other whether the files of a folder are a boot each.
#[derive(Default)]
pub struct Judge {
    seen: BTreeSet<&'static str>,
    apart: bool,
}

impl Judge {
    /// Whether each file is a boot, now that one of this format is among them.
    pub fn add(&mut self, format: Format) -> bool {
        self.apart |= match format {
            Format::Archive => true,
            Format::Known(name) => !self.seen.insert(name) && ONE_PER_BOOT.contains(&name),
            Format::Unknown => false,
        };
        self.apart
    }
}

/// Whether this is the manifest of a capture.
pub fn is_manifest(name: &Path) -> bool {
    name.file_name().is_some_and(|n| n == capture::MANIFEST)
}
