//! Where a file's bytes lie on its device: `FS_IOC_FIEMAP`.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// A piece of a file that lies in one piece on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    /// Where it begins on the filesystem's device, in bytes.
    pub physical: u64,
    /// How long it is, in bytes.
    pub bytes: u64,
}

/// How many extents are asked for at once.
const AT_ONCE: usize = 64;

/// `struct fiemap_extent` of `linux/fiemap.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Found {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    more: [u32; 3],
}

/// `struct fiemap`, with room.
#[repr(C)]
struct Asked {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [Found; AT_ONCE],
}

/// `FIEMAP_EXTENT_LAST`, and the flags of extents whose place is unknown or not
/// a multiple of blocks: `UNKNOWN`, `DELALLOC`, `ENCODED`, `DATA_INLINE`.
const LAST: u32 = 1;
const NOWHERE: u32 = 2 | 4 | 8 | 0x200;

/// The extents of `file` between `offset` and `end`, in order, at most `most`.
/// Holes have none.
///
/// # Errors
/// If the filesystem cannot say.
pub fn extents(file: impl AsFd, offset: u64, end: u64, most: usize) -> io::Result<Vec<Extent>> {
    // `FS_IOC_FIEMAP`: _IOWR('f', 11, struct fiemap), which counts 32 bytes; the
    // same number on every architecture.
    const FIEMAP: u32 = 0xc020_660b;
    let mut all = Vec::new();
    let mut from = offset;
    while from < end && all.len() < most {
        let mut asked = Asked {
            start: from,
            length: end - from,
            flags: 0,
            mapped: 0,
            count: AT_ONCE as u32,
            reserved: 0,
            extents: [Found::default(); AT_ONCE],
        };
        let fd = file.as_fd().as_raw_fd();
        // SAFETY: the kernel writes at most `count` extents behind the header, for
        // which the structure has room, and it outlives the call.
        if unsafe { libc::ioctl(fd, FIEMAP as _, &raw mut asked) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let found = asked
            .extents
            .get(..asked.mapped as usize)
            .unwrap_or_default();
        let before = from;
        for extent in found {
            from = from.max(extent.logical.saturating_add(extent.length));
            if extent.flags & NOWHERE == 0 {
                all.push(Extent {
                    offset: extent.logical,
                    physical: extent.physical,
                    bytes: extent.length,
                });
            }
        }
        if from == before || found.last().is_none_or(|e| e.flags & LAST != 0) {
            break;
        }
    }
    Ok(all)
}
