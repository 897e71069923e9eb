//! An image of a filesystem, mounted by the kernel as long as it is needed.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    pub fn new(image: &Path, options: &str, why: &str) -> Result<Self> {
        let folder = tempfile::tempdir().context("no temporary folder can be made")?;
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
            bail!("{}: cannot be mounted, {why}: {said}", image.display());
        }
        Ok(Self {
            image: image.to_owned(),
            folder,
            is_open: true,
        })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Unmounts it: everything is in the image then.
    pub fn close(mut self) -> Result<()> {
        self.is_open = false;
        let said = match Command::new("umount").arg(&self.folder).output() {
            Ok(out) if out.status.success() => {
                let _ = fs::remove_dir(&self.folder);
                return Ok(());
            }
            Ok(out) => String::from_utf8_lossy(&out.stderr).trim().to_owned(),
            Err(why) => format!("umount could not be started: {why}"),
        };
        bail!(
            "{}: what was to be done is done, but the image is still mounted; `umount {}` \
             ({said})",
            self.image.display(),
            self.folder.display()
        );
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
pub fn loop_device(image: &Path) -> Option<String> {
    let image = fs::canonicalize(image).ok()?;
    let devices = fs::read_dir("/sys/block").ok()?.flatten();
    let mut names = devices.filter_map(|d| d.file_name().into_string().ok());
    names.find(|name| {
        let file = format!("/sys/block/{name}/loop/backing_file");
        fs::read_to_string(file).is_ok_and(|held| Path::new(held.trim_end_matches('\n')) == image)
    })
}
