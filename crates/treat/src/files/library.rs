//! Shared libraries by their names.

use memchr::memmem;
use std::collections::BTreeSet;

/// Folders in which the dynamic linker looks, and in their folders that are named for a
/// machine (`x86_64-linux-gnu`): `ld.so(8)`.
pub const LIBRARY_FOLDERS: [&str; 5] = ["lib", "lib64", "usr/lib", "usr/lib64", "usr/local/lib"];

/// No library has a longer name.
const LONGEST: usize = 255;

/// Whether the dynamic linker finds what is at `path` of a root by its name.
#[must_use]
pub fn is_in_library_folder(path: &str) -> bool {
    let Some((folder, _)) = path.rsplit_once('/') else {
        return false;
    };
    let of_machine = |part: &str| part.contains("-linux-") && !part.contains('/');
    LIBRARY_FOLDERS.iter().any(|known| {
        let rest = folder.strip_prefix(known);
        rest.is_some_and(|r| r.is_empty() || r.strip_prefix('/').is_some_and(of_machine))
    })
}

/// Every word in `bytes` that is named as a shared library is.
#[must_use]
pub fn library_names(bytes: &[u8]) -> BTreeSet<String> {
    let part = |b: &u8| b.is_ascii_alphanumeric() || b"._+-".contains(b);
    let mut names = BTreeSet::new();
    for at in memmem::find_iter(bytes, b".so") {
        let before = bytes.get(..at).unwrap_or_default();
        let after = bytes.get(at..).unwrap_or_default();
        let from = at
            - before
                .iter()
                .rev()
                .take(LONGEST)
                .take_while(|b| part(b))
                .count();
        let to = at + after.iter().take(LONGEST).take_while(|b| part(b)).count();
        let word = bytes
            .get(from..to)
            .and_then(|w| std::str::from_utf8(w).ok());
        names.extend(word.map(|w| w.trim_end_matches('.').to_owned()));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::{is_in_library_folder, library_names};

    #[test]
    fn words_that_are_named_as_libraries() {
        let bytes = b"\0libm.so.6\0/opt/x/libfoo-2.so \xff.so\xffpam_unix.so\tnone.s\0";
        let names: Vec<String> = library_names(bytes).into_iter().collect();
        assert_eq!(names, [".so", "libfoo-2.so", "libm.so.6", "pam_unix.so"]);
        assert!(library_names(b"").is_empty());
    }

    #[test]
    fn where_the_linker_looks() {
        for path in [
            "usr/lib/libz.so.1",
            "lib/x86_64-linux-gnu/libz.so",
            "lib64/ld.so",
        ] {
            assert!(is_in_library_folder(path), "{path}");
        }
        for path in [
            "usr/lib/x86_64-linux-gnu/gconv/EUC.so",
            "opt/libz.so",
            "libz.so",
            "usr/lib/app/a.so",
        ] {
            assert!(!is_in_library_folder(path), "{path}");
        }
    }
}
