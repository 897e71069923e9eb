//! Files that are written beside and renamed: at any moment there is the old
//! one or the new one, whole.

use crate::error::FileError;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum BesideError {
    /// The system does not let it.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is a folder of that name.
    #[error("{}: this is a folder; name a file", .path.display())]
    Folder {
        /// The path.
        path: PathBuf,
    },
    /// There is a device of that name.
    #[error(
        "{}: this is a device; write a file first, then write it to the device (with flashcp or \
         nandwrite for flash)",
        .path.display()
    )]
    Device {
        /// The path.
        path: PathBuf,
    },
}

/// Lets `fill` write a new file that takes the place of `path`, or is there for
/// the first time. If anything fails, what was at `path` stays as it was. The
/// old file may be read meanwhile.
///
/// # Errors
/// `path` cannot be a file, what `fill` says, or the disk does not take it.
pub fn write<T, E: From<BesideError>>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    let shown = path;
    let cannot = |why| BesideError::File(FileError::of(shown, "cannot be written")(why));
    let (path, old) = target(path)?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut beside = tempfile::Builder::new()
        .prefix(".firstlight-")
        .suffix(".new")
        // The umask takes away what the user does not want.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(cannot)?;
    if let Some(old) = old {
        beside.as_file().set_permissions(old).map_err(cannot)?;
    }
    let done = fill(beside.as_file_mut())?;
    beside.as_file().sync_all().map_err(cannot)?;
    beside.persist(&path).map_err(|e| cannot(e.error))?;
    // The new name is on the disk when the folder is.
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(cannot)?;
    Ok(done)
}

/// Where a link leads, and the rights of the file that is there.
fn target(path: &Path) -> Result<(PathBuf, Option<Permissions>), BesideError> {
    match std::fs::metadata(path) {
        Ok(old) if old.is_file() => {
            let real = std::fs::canonicalize(path);
            let real = real.map_err(FileError::of(path, "cannot be found"))?;
            Ok((real, Some(old.permissions())))
        }
        Ok(old) if old.is_dir() => Err(BesideError::Folder { path: path.into() }),
        Ok(_) => Err(BesideError::Device { path: path.into() }),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok((path.to_owned(), None)),
        Err(e) => Err(FileError::of(path, "cannot be written")(e).into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    #[derive(Debug, thiserror::Error)]
    enum TestError {
        #[error(transparent)]
        Beside(#[from] BesideError),
        #[error(transparent)]
        Io(#[from] io::Error),
        #[error("no more")]
        NoMore,
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        std::fs::write(&path, "old").unwrap();
        let failed: Result<(), TestError> = write(&path, |file| {
            file.write_all(b"half")?;
            Err(TestError::NoMore)
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_new_file_has_the_rights_of_the_old_one_and_links_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("image"), folder.path().join("link"));
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        symlink("image", &link).unwrap();
        write(&link, |file| Ok::<_, TestError>(file.write_all(b"new")?)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o640);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_folder_and_a_device_are_no_files() {
        for (path, said) in [("/", "is a folder"), ("/dev/null", "is a device")] {
            let refused = write(Path::new(path), |_| Ok::<_, BesideError>(())).unwrap_err();
            assert!(refused.to_string().contains(said), "{refused}");
        }
    }
}
