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

/// Exchanges the places of `blocks` blocks of `file`, from block `from` on, with
/// those of `donor` from block `at` on: the content of `file` stays what it was,
/// and lies where the donor's blocks were (`EXT4_IOC_MOVE_EXT`). The kernel
/// journals it: after a crash each block is at one place or the other. How many
/// blocks were exchanged; at the end of a file fewer may be.
///
/// # Errors
/// What the kernel says: the filesystem is no ext4, a file has no extents, is a
/// swap file, or is not open for writing.
pub fn exchange(
    file: impl AsFd,
    from: u64,
    donor: impl AsFd,
    at: u64,
    blocks: u64,
) -> io::Result<u64> {
    /// `struct move_extent` of `fs/ext4/ext4.h`.
    #[repr(C)]
    struct MoveExtent {
        reserved: u32,
        donor: u32,
        from: u64,
        at: u64,
        blocks: u64,
        moved: u64,
    }
    // `EXT4_IOC_MOVE_EXT`: _IOWR('f', 15, struct move_extent).
    const MOVE_EXT: u32 = 0xc028_660f;
    let donor = u32::try_from(donor.as_fd().as_raw_fd())
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut asked = MoveExtent {
        reserved: 0,
        donor,
        from,
        at,
        blocks,
        moved: 0,
    };
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: the kernel reads and writes the 40 bytes of the structure, which
    // outlives the call; the donor's descriptor is open as long as `donor` is.
    match unsafe { libc::ioctl(fd, MOVE_EXT as _, &raw mut asked) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(asked.moved),
    }
}
