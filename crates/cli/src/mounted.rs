//! An image of a filesystem, mounted by the kernel as long as it is needed.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A mounted image; unmounted when it goes.
pub struct Mounted {
    folder: tempfile::TempDir,
    is_mounted: bool,
}

impl Mounted {
    /// Mounts `image` with `options`; `why` is what that is good for.
    pub fn new(image: &Path, options: &str, why: &str) -> Result<Self> {
        let folder = tempfile::tempdir().context("no temporary folder can be made")?;
        let done = Command::new("mount")
            .args(["-o", options])
            .args([image, folder.path()])
            .output()
            .context("mount could not be started")?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            bail!(
                "{}: cannot be mounted, {why}: {}",
                image.display(),
                said.trim()
            );
        }
        Ok(Self {
            folder,
            is_mounted: true,
        })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Unmounts it: everything is in the image then.
    pub fn close(mut self) -> Result<()> {
        self.is_mounted = false;
        let folder = self.folder.path();
        let done = Command::new("umount").arg(folder).output();
        let done = done.context("umount could not be started")?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            bail!("{}: cannot be unmounted: {}", folder.display(), said.trim());
        }
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // What is still mounted keeps its folder.
        if self.is_mounted {
            let _ = Command::new("umount").arg(self.folder.path()).status();
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
