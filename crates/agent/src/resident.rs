//! Which pages of a file are in memory: mincore(2).
#![allow(unsafe_code)]

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::AsFd;

/// For each page of the first `length` bytes of `file`: whether it is in the page
/// cache. Asking brings none in.
///
/// # Errors
/// As [`resident_from`].
pub fn resident(file: impl AsFd, length: u64, page_bytes: u32) -> io::Result<Vec<bool>> {
    resident_from(file, 0, length, page_bytes)
}

/// The same of `length` bytes from `offset` on, a multiple of the size of a page.
///
/// # Errors
/// If the file cannot be mapped there, or `page_bytes` is not how long this system's pages are.
/// The kernel tells the truth to root and to the owner of the file; to others everything
/// looks resident.
pub fn resident_from(
    file: impl AsFd,
    offset: u64,
    length: u64,
    page_bytes: u32,
) -> io::Result<Vec<bool>> {
    // The kernel writes a byte for each of its own pages.
    if page_bytes as usize != rustix::param::page_size() {
        let why = format!("the list uses pages of {page_bytes} bytes, unlike this system");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mapped = length.checked_next_multiple_of(u64::from(page_bytes));
    let mapped = mapped
        .and_then(|bytes| usize::try_from(bytes).ok())
        .ok_or_else(|| io::Error::other("the file exceeds the address space of this processor"))?;
    if mapped == 0 {
        return Ok(Vec::new());
    }
    let mut flags = vec![0u8; mapped / page_bytes as usize];
    // SAFETY: the kernel chooses a place where nothing lies; the memory is never
    // read, so it does not matter what others do to the file.
    let start = unsafe {
        mmap(
            std::ptr::null_mut(),
            mapped,
            ProtFlags::READ,
            MapFlags::SHARED,
            file,
            offset,
        )?
    };
    // SAFETY: the mapping is this long, and the kernel writes one byte a page, for which
    // `flags` has room.
    let asked = unsafe { libc::mincore(start, mapped, flags.as_mut_ptr().cast()) };
    let why = io::Error::last_os_error();
    // SAFETY: this is what was mapped above, and nobody has a reference into it.
    let _ = unsafe { munmap(start, mapped) };
    match asked {
        0 => Ok(flags.iter().map(|f| f & 1 != 0).collect()),
        _ => Err(why),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::{resident, resident_from};
    use std::fs::File;

    #[test]
    fn there_is_an_answer_for_each_page_and_other_pages_are_refused() {
        let page = u32::try_from(rustix::param::page_size()).unwrap();
        // This program: some of it is in memory.
        let file = File::open("/proc/self/exe").unwrap();
        let length = file.metadata().unwrap().len();
        let all = resident(&file, length, page).unwrap();
        assert_eq!(all.len() as u64, length.div_ceil(page.into()));
        assert!(all.contains(&true));
        let second = resident_from(&file, page.into(), page.into(), page).unwrap();
        assert_eq!(second, all[1..2]);
        assert!(resident_from(&file, 1, page.into(), page).is_err());
        assert!(resident(&file, 0, page).unwrap().is_empty());
        assert!(resident(&file, u64::MAX, page).is_err());
        assert!(resident(&file, length, page * 16).is_err());
    }
}
