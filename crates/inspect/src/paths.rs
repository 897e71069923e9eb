//! Lists of paths: one in a line.

use crate::error::Error;
use crate::open;
use std::path::Path;

/// The longest list that is read, in bytes: a million long paths have less.
const MOST_BYTES: u64 = 1 << 30;

/// The paths in the list at `list`, or on standard input (`-`): one in a line; `#` begins a
/// comment.
///
/// # Errors
/// It cannot be read, is longer than 1 GiB, or is no text.
pub fn list(list: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let shown = list.display().to_string();
    let text = open::bytes(list, MOST_BYTES)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Error::unusable(
            &shown,
            "is longer than 1 GiB; expected a list of paths",
        ));
    }
    if text.contains(&0) {
        let why = "holds NUL bytes; expected one path in a line";
        return Err(Error::unusable(&shown, why));
    }
    let lines = text.split(|b| *b == b'\n');
    let lines = lines.map(|l| l.strip_suffix(b"\r").unwrap_or(l));
    let paths = lines.filter(|l| !l.is_empty() && !l.starts_with(b"#"));
    Ok(paths.map(<[u8]>::to_vec).collect())
}

/// As [`list()`], of at least one path.
///
/// # Errors
/// As for [`list()`], or it names no file.
pub fn some(list: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let paths = self::list(list)?;
    if paths.is_empty() {
        let shown = list.display().to_string();
        let why = "names no file; expected one path in a line";
        return Err(Error::unusable(&shown, why));
    }
    Ok(paths)
}
