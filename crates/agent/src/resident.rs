//! Which pages of a file are in memory: mincore(2).
#![allow(unsafe_code)]

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::AsFd;

/// For each page of the first `length` bytes of `file`: whether it is in the page
/// cache. Asking brings none in.
///
/// # Errors
/// If the file cannot be mapped. The kernel tells the truth to root and to the
/// owner of the file; to others everything looks resident.
pub fn resident(file: impl AsFd, length: u64, page_bytes: u32) -> io::Result<Vec<bool>> {
    let pages = usize::try_from(length.div_ceil(u64::from(page_bytes.max(1))))
        .map_err(|_| io::Error::other("the file is larger than this processor's addresses"))?;
    let mut flags = vec![0u8; pages];
    if pages == 0 {
        return Ok(Vec::new());
    }
    let bytes = pages.saturating_mul(page_bytes as usize);
    // SAFETY: the kernel chooses a place where nothing lies; the memory is never
    // read, so it does not matter what others do to the file.
    let start = unsafe {
        mmap(
            std::ptr::null_mut(),
            bytes,
            ProtFlags::READ,
            MapFlags::SHARED,
            file,
            0,
        )?
    };
    // SAFETY: the mapping is this long, and the kernel writes one byte a page,
    // for which `flags` has room.
    let asked = unsafe { libc::mincore(start, bytes, flags.as_mut_ptr().cast()) };
    let why = io::Error::last_os_error();
    // SAFETY: this is what was mapped above, and nobody has a reference into it.
    let _ = unsafe { munmap(start, bytes) };
    match asked {
        0 => Ok(flags.iter().map(|f| f & 1 != 0).collect()),
        _ => Err(why),
    }
}
