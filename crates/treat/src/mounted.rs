//! An image of a filesystem, mounted by the kernel as long as it is needed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why an image cannot be mounted or unmounted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// There is no place to mount it.
    #[error("no temporary folder can be made")]
    Folder(#[source] io::Error),
    /// It cannot be mounted.
    #[error("{}: cannot be mounted, {why}: {said}", image.display())]
    Mount {
        /// The image.
        image: PathBuf,
        /// What that is good for.
        why: String,
        /// What the system said.
        said: String,
    },
    /// It is still mounted.
    #[error(
        "{}: what was to be done is done, but the image is still mounted; `umount {}` ({said})",
        image.display(),
        folder.display()
    )]
    Unmount {
        /// The image.
        image: PathBuf,
        /// Where it is mounted.
        folder: PathBuf,
        /// What the system said.
        said: String,
    },
    /// It is unmounted, and a power cut may take it back.
    #[error("{}: what was to be done is done, but the disk does not take it", image.display())]
    Sync {
        /// The image.
        image: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A mounted image; unmounted when it goes.
///
/// Its folder is never removed with what is in it: as long as the image is mounted, that
/// is the image's own content.
pub struct Mounted {
    image: PathBuf,
    folder: PathBuf,
    is_open: bool,
}

impl Mounted {
    /// Mounts `image` with `options`; `why` is what that is good for.
    ///
    /// # Errors
    /// The kernel does not mount it, or this user may not.
    pub fn new(image: &Path, options: &str, why: &str) -> Result<Self, MountError> {
        let folder = tempfile::tempdir().map_err(MountError::Folder)?;
        let folder = folder.keep();
        let done = Command::new("mount")
            .args(["-o", options])
            .args([image, &folder])
            .output();
        let said = match &done {
            Ok(out) if out.status.success() => None,
            Ok(out) => Some(String::from_utf8_lossy(&out.stderr).trim().to_owned()),
            Err(why) => Some(format!("mount could not be started: {why}")),
        };
        if let Some(said) = said {
            let _ = fs::remove_dir(&folder);
            return Err(MountError::Mount {
                image: image.to_owned(),
                why: why.to_owned(),
                said,
            });
        }
        Ok(Self {
            image: image.to_owned(),
            folder,
            is_open: true,
        })
    }

    /// Where it is mounted.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Unmounts it: everything is in the image then, and the image on the disk.
    ///
    /// # Errors
    /// The kernel does not let it go, or the disk does not take it.
    pub fn close(mut self) -> Result<(), MountError> {
        self.is_open = false;
        let said = match Command::new("umount").arg(&self.folder).output() {
            Ok(out) if out.status.success() => {
                let _ = fs::remove_dir(&self.folder);
                let synced = fs::File::open(&self.image).and_then(|image| image.sync_all());
                return synced.map_err(|source| MountError::Sync {
                    image: self.image.clone(),
                    source,
                });
            }
            Ok(out) => String::from_utf8_lossy(&out.stderr).trim().to_owned(),
            Err(why) => format!("umount could not be started: {why}"),
        };
        Err(MountError::Unmount {
            image: self.image.clone(),
            folder: self.folder.clone(),
            said,
        })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.is_open {
            let _ = Command::new("umount").arg(&self.folder).status();
            // Of a folder that is still mounted the kernel says that it is busy.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// The loop device that has `image` already; two would write over each other.
/// Source: the kernel's `Documentation/ABI/testing/sysfs-block-loop`.
#[must_use]
pub fn loop_device(image: &Path) -> Option<String> {
    let image = fs::canonicalize(image).ok()?;
    let devices = fs::read_dir("/sys/block").ok()?.flatten();
    let mut names = devices.filter_map(|d| d.file_name().into_string().ok());
    names.find(|name| {
        let file = format!("/sys/block/{name}/loop/backing_file");
        fs::read_to_string(file).is_ok_and(|held| Path::new(held.trim_end_matches('\n')) == image)
    })
}
