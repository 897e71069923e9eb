//! Which pages of a file are in memory: mincore(2).
#![allow(unsafe_code)]

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::AsFd;

/// For each page of the first `length` bytes of `file`: whether it is in the page
/// cache. Asking brings none in.
///
/// # Errors
/// If the file cannot be mapped, or `page_bytes` is not how long this system's pages are.
/// The kernel tells the truth to root and to the owner of the file; to others everything
/// looks resident.
pub fn resident(file: impl AsFd, length: u64, page_bytes: u32) -> io::Result<Vec<bool>> {
    resident_parts(file, length, &[(0, length)], page_bytes)
}

/// As [`resident`], of parts (offset, length) of the file only, one behind the other: what
/// it costs is that of their pages. Parts begin with a page.
///
/// # Errors
/// As [`resident`]; or if a part lies outside of the first `length` bytes.
pub fn resident_parts(
    file: impl AsFd,
    length: u64,
    parts: &[(u64, u64)],
    page_bytes: u32,
) -> io::Result<Vec<bool>> {
    // The kernel writes a byte for each of its own pages.
    if page_bytes as usize != rustix::param::page_size() {
        let why = format!("pages of {page_bytes} bytes are not this system's");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let page = u64::from(page_bytes);
    let outside = |&(offset, bytes): &(u64, u64)| {
        !offset.is_multiple_of(page) || offset.checked_add(bytes).is_none_or(|end| end > length)
    };
    if parts.iter().any(outside) {
        let why = "a part does not begin with a page of the file, or is not in it";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mapped = length.checked_next_multiple_of(page);
    let mapped = mapped
        .and_then(|bytes| usize::try_from(bytes).ok())
        .ok_or_else(|| io::Error::other("the file is larger than this processor's addresses"))?;
    if mapped == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the kernel chooses a place where nothing lies; the memory is never
    // read, so it does not matter what others do to the file.
    let start = unsafe {
        mmap(
            std::ptr::null_mut(),
            mapped,
            ProtFlags::READ,
            MapFlags::SHARED,
            file,
            0,
        )?
    };
    let mut all = Vec::new();
    let mut flags = Vec::new();
    let mut asked = Ok(());
    for &(offset, bytes) in parts {
        // All of a file that is mapped fits; see above.
        let pages = bytes.div_ceil(page) as usize;
        flags.clear();
        flags.resize(pages, 0u8);
        let bytes = pages * page_bytes as usize;
        // SAFETY: `offset` is below `mapped`, and so is the end of these pages: both are
        // multiples of a page, and `length` is not exceeded. The kernel writes one byte a
        // page, for which `flags` has room.
        let done = unsafe {
            libc::mincore(
                start.byte_add(offset as usize),
                bytes,
                flags.as_mut_ptr().cast(),
            )
        };
        if done != 0 {
            asked = Err(io::Error::last_os_error());
            break;
        }
        all.extend(flags.iter().map(|f| f & 1 != 0));
    }
    // SAFETY: this is what was mapped above, and nobody has a reference into it.
    let _ = unsafe { munmap(start, mapped) };
    asked.map(|()| all)
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
mod tests {
    use super::{resident, resident_parts};
    use std::fs::File;

    #[test]
    fn parts_are_those_of_the_whole_and_other_pages_are_refused() {
        let page = u32::try_from(rustix::param::page_size()).unwrap();
        // This program: some of it is in memory.
        let file = File::open("/proc/self/exe").unwrap();
        let length = file.metadata().unwrap().len();
        let all = resident(&file, length, page).unwrap();
        assert_eq!(all.len() as u64, length.div_ceil(page.into()));
        let last = length.div_ceil(page.into()) - 1;
        let at = |pages: u64| pages * u64::from(page);
        let parts = [(at(1), at(2)), (at(last), length - at(last))];
        let some = resident_parts(&file, length, &parts, page).unwrap();
        assert_eq!(some, [&all[1..3], &all[all.len() - 1..]].concat());
        assert!(resident_parts(&file, length, &[], page).unwrap().is_empty());
        assert!(resident(&file, 0, page).unwrap().is_empty());
        for wrong in [(1, 1), (at(last), at(2)), (at(1), u64::MAX)] {
            assert!(resident_parts(&file, length, &[wrong], page).is_err());
        }
        assert!(resident(&file, length, page * 16).is_err());
    }
}
