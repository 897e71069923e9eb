//! Extended attributes of files.

use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;

/// The extended attributes of a file; none where the file system has none.
pub(crate) fn attributes(fd: impl AsFd) -> io::Result<Vec<(String, Vec<u8>)>> {
    /// The most that Linux lets a list or a value be (`XATTR_SIZE_MAX`).
    const LARGEST: usize = 65_536;
    let fd = fd.as_fd();
    let mut names = vec![0_u8; LARGEST];
    let length = match rustix::fs::flistxattr(fd, names.as_mut_slice()) {
        Ok(n) => n,
        Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        Err(e) => return Err(e.into()),
    };
    names.truncate(length);
    let mut all = Vec::new();
    for name in names.split(|b| *b == 0).filter(|n| !n.is_empty()) {
        let name = String::from_utf8_lossy(name).into_owned();
        let mut value = vec![0_u8; LARGEST];
        let length = rustix::fs::fgetxattr(fd, name.as_str(), value.as_mut_slice())?;
        value.truncate(length);
        all.push((name, value));
    }
    all.sort();
    Ok(all)
}
