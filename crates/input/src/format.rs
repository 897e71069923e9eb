//! What a file turns out to be, for those that look at many files and read few.

use crate::looks::Looks;
use crate::open::read_named_within;
use crate::types::Input;
use sources::SNIFF_BYTES;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

/// What a file turns out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A capture, or an archive of boots.
    Archive,
    /// A log or trace of this format.
    Known(&'static str),
    /// Neither.
    Unknown,
}

/// Of a file that is open at its start; it is at its start again afterwards. What is packed,
/// or in a page, is looked into, up to `most` bytes.
pub fn of_file(file: &mut File, path: &Path, most: u64) -> Format {
    let mut head = Vec::new();
    let mut start = Read::by_ref(file).take(SNIFF_BYTES as u64);
    let read = start.read_to_end(&mut head);
    file.rewind().ok();
    if read.is_err() {
        return Format::Unknown;
    }
    match Looks::of(&head) {
        Looks::Tar => Format::Archive,
        Looks::Known(source, _) => Format::Known(source.name()),
        Looks::Empty => {
            let name = path.display().to_string();
            let source = sources::SOURCES.iter().find(|s| s.may_be_empty(&name));
            source.map_or(Format::Unknown, |s| Format::Known(s.name()))
        }
        Looks::Packed | Looks::Page => {
            let Ok(copy) = file.try_clone() else {
                return Format::Unknown;
            };
            let input = read_named_within(copy, path, most);
            // Both stand at one place of the file.
            file.rewind().ok();
            match input {
                Ok(Input::Capture(_)) => Format::Archive,
                Ok(Input::Raw(raw)) => Format::Known(raw.source.name()),
                Err(_) => Format::Unknown,
            }
        }
        Looks::Unknown => Format::Unknown,
    }
}

/// Of a path.
pub fn of_path(path: &Path, most: u64) -> Format {
    File::open(path).map_or(Format::Unknown, |mut file| of_file(&mut file, path, most))
}
