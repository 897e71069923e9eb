//! Whether files of one folder are one boot, or a boot each.

use super::limit::MOST_LOG_BYTES;
use crate::format;
pub use crate::format::Format;
use agent::capture;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

/// Formats of which one boot has one file.
const ONE_PER_BOOT: [&str; 2] = ["kernel-log", "serial"];

/// Of a file that is open at its start; it is at its start again afterwards.
pub fn of_file(file: &mut File, path: &Path) -> Format {
    format::of_file(file, path, MOST_LOG_BYTES)
}

/// Of a path.
pub fn of_path(path: &Path) -> Format {
    format::of_path(path, MOST_LOG_BYTES)
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
