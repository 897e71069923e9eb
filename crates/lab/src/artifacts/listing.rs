//! What is in a folder that an image is made of.

use super::hash_bytes;
use crate::error::{LabError, io_error};
use crate::files::read;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// All that an image of `folder` depends on, and how many entries there are.
pub(super) fn listing(folder: &Path) -> Result<(String, u32), LabError> {
    let mut text = String::new();
    let mut entries = 0;
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        let failed = || io_error(&next, "cannot be read");
        let mut names = Vec::new();
        for entry in fs::read_dir(&next).map_err(failed())? {
            names.push(entry.map_err(failed())?.path());
        }
        names.sort();
        for path in names {
            let failed = || io_error(&path, "cannot be read");
            let about = fs::symlink_metadata(&path).map_err(failed())?;
            let content = if about.is_dir() {
                open.push(path.clone());
                String::new()
            } else if about.is_symlink() {
                let target = fs::read_link(&path).map_err(failed())?;
                target.to_string_lossy().into_owned()
            } else if about.is_file() {
                hash_bytes(&read(&path)?)
            } else {
                about.rdev().to_string()
            };
            let name = path.strip_prefix(folder).unwrap_or(&path);
            // Writing into a string does not fail.
            let _ = writeln!(
                text,
                "{name:?} {:o} {} {} {} {} {content}",
                about.mode(),
                about.uid(),
                about.gid(),
                about.nlink(),
                about.mtime(),
            );
            entries += 1;
        }
    }
    Ok((text, entries))
}
