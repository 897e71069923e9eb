//! Lists of paths: one in a line.

use crate::error::Error;
use crate::open;
use std::path::Path;

/// The longest list that is read, in bytes: a million long paths have less.
pub const MOST_BYTES: u64 = 1 << 30;

/// The paths in the list at `list`, or on standard input (`-`): one in a line; `#` begins a
/// comment. Of a folder, such as one to which each package adds a list, the lists in it: the
/// files that end in `.list`, one after the other in the order of their names.
///
/// # Errors
/// It cannot be read, is longer than 1 GiB, or is no text; a folder has no such file.
pub fn list(list: &Path) -> Result<Vec<Vec<u8>>, Error> {
    if !list.is_dir() {
        return one(list);
    }
    let shown = list.display().to_string();
    let failed = |e| Error::io(&shown, "cannot be listed", e);
    let mut lists = Vec::new();
    for entry in std::fs::read_dir(list).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|e| e == "list") {
            lists.push(path);
        }
    }
    if lists.is_empty() {
        let why = "is a folder without lists; expected files whose names end in `.list`";
        return Err(Error::unusable(&shown, why));
    }
    lists.sort();
    let mut paths = Vec::new();
    for list in lists {
        paths.extend(one(&list)?);
    }
    Ok(paths)
}

/// The paths in one file.
fn one(list: &Path) -> Result<Vec<Vec<u8>>, Error> {
    of_bytes(list, &open::bytes(list, MOST_BYTES)?)
}

/// The paths in the bytes of the file at `list`.
///
/// # Errors
/// They are more than 1 GiB, or no text.
pub fn of_bytes(list: &Path, text: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let shown = list.display().to_string();
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

#[cfg(test)]
mod tests {
    use super::list;
    use std::fs;

    #[test]
    fn packages_add_lists_to_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert!(
            list(folder.path())
                .unwrap_err()
                .to_string()
                .contains("`.list`")
        );
        write(
            "50-shop.list",
            "# the shop\n/usr/bin/shop\n/lib/libc.so.6\n",
        );
        write("10-init.list", "/sbin/init\n/lib/libc.so.6\n");
        write("README", "no list\n");
        let paths = list(folder.path()).unwrap();
        let paths: Vec<_> = paths.iter().map(|p| String::from_utf8_lossy(p)).collect();
        assert_eq!(
            paths,
            [
                "/sbin/init",
                "/lib/libc.so.6",
                "/usr/bin/shop",
                "/lib/libc.so.6"
            ]
        );
        // A file is read by its name, whatever that is.
        assert_eq!(list(&folder.path().join("README")).unwrap().len(), 1);
    }
}
