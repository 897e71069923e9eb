//! Fields that several kinds of kernel images have.

use rawimage::Part;
use rawimage::bytes::{le32, le64};
use std::io;

/// The size that stands in the last four bytes before `end`.
pub(super) fn size_before(image: &Part<'_>, end: u64) -> io::Result<Option<u64>> {
    let Some(at) = end.checked_sub(4) else {
        return Ok(None);
    };
    Ok(le32(&image.read(at, 4)?, 0).map(u64::from))
}

/// A 64-bit field of a header; 0 if the header ends before it.
pub(super) fn field64(bytes: &[u8], at: usize) -> u64 {
    le64(bytes, at).unwrap_or(0)
}
