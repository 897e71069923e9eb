//! The folder whose files are put elsewhere.

use super::error::Error;
use rustix::fs::{Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Opens a folder.
pub(super) fn open(root: &Path) -> Result<OwnedFd, Error> {
    let shown = root.display().to_string();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(root, flags, Mode::empty())
        .map_err(Error::io(&shown, "cannot be opened as a folder"))
}

/// Whether the kernel can exchange blocks here.
pub(super) fn check(root: &OwnedFd, shown: &str) -> Result<(), Error> {
    /// `EXT4_SUPER_MAGIC`, also that of ext2 and ext3.
    const EXT4: i64 = 0xef53;
    let about = rustix::fs::fstatfs(root).map_err(Error::io(shown, "cannot be asked"))?;
    // The type of the field differs between architectures.
    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "see above"
    )]
    let (kind, block) = (about.f_type as i64, about.f_bsize as i64);
    if kind != EXT4 {
        let why = "is no ext4, and only there can files be put elsewhere in place";
        return Err(Error::unusable(shown, why));
    }
    let page = i64::try_from(rustix::param::page_size()).unwrap_or(0);
    if block != page {
        let why = format!(
            "has blocks of {block} bytes and this machine has pages of {page}; the kernel \
             exchanges blocks one by one only where both are equal"
        );
        return Err(Error::unusable(shown, why));
    }
    Ok(())
}
