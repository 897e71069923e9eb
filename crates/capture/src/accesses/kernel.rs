//! Files of the kernel that are written.

use crate::error::FileError;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// A file of the kernel is written at once, and never made.
pub(crate) fn put(path: &Path, value: &str) -> std::io::Result<()> {
    File::options()
        .write(true)
        .open(path)?
        .write_all(value.as_bytes())
}

/// Drops all that is in memory of files and can be read again
/// (`Documentation/admin-guide/sysctl/vm.rst`).
///
/// # Errors
/// If the caller is not root.
pub fn drop_caches() -> Result<(), FileError> {
    let path = Path::new("/proc/sys/vm/drop_caches");
    put(path, "3").map_err(FileError::of(path, "the caches cannot be dropped"))
}
