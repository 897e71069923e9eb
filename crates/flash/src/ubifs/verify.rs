//! Everything in a filesystem read once, and what is wrong with it.

use super::Error;
use super::filesystem::{Filesystem, ROOT};
use crate::files::{ReadAll, Wrong, read_all};

/// Reads every file, link and device. What the index does not lead to is in
/// [`Filesystem::damage`].
///
/// # Errors
/// The image cannot be read.
pub fn verify(filesystem: &Filesystem) -> Result<ReadAll, Error> {
    let mut done = read_all(filesystem)?;
    let mut last = ROOT;
    for ino in filesystem.inodes() {
        // Extended attributes are inodes with names in others.
        if ino != last && !done.reached.contains(&ino) && !filesystem.is_attribute(ino)? {
            done.findings.add(ino, None, Wrong::Orphan);
        }
        last = ino;
    }
    Ok(done)
}
