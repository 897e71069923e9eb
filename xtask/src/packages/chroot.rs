//! Another root: programs in it, and what they need mounted.

use crate::release::quietly;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a shell in the root `top` prints for a line.
pub(super) fn inside(top: &Path, line: &str) -> Result<Vec<u8>> {
    quietly(
        Command::new("chroot")
            .arg(top)
            .args(["/bin/sh", "-ec", line])
            .env_remove("CARGO")
            .env("HOME", "/root")
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
    )
}

/// /proc in a root; it goes when this is dropped.
pub(super) struct Mounted(PathBuf);

impl Mounted {
    pub(super) fn proc(top: &Path) -> Result<Self> {
        let at = top.join("proc");
        quietly(Command::new("mount").args(["-t", "proc", "proc"]).arg(&at))?;
        Ok(Self(at))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
