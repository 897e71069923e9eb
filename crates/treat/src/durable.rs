//! Files and names that a power cut does not take back.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Brings the names in a folder to the disk.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Brings the name of a file or folder to the disk.
pub(crate) fn parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => folder(parent),
        _ => folder(Path::new(".")),
    }
}

/// Writes a file beside `path` and renames it: at any moment there is what was there, or
/// the new file with all that `dress` gives it.
pub(crate) fn put(
    path: &Path,
    bytes: &[u8],
    dress: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let beside = beside(path);
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    dress(&file)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    parent(path)
}

/// Where [`put`] writes a file before it gets its place.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".firstlight-{name}.new"))
}
