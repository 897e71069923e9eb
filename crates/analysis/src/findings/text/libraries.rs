//! The words of `findings::libraries`.

use std::fmt::Display;

pub(in crate::findings) const LOCALE: &str = "locale";

pub(in crate::findings) const FONT: &str = "font";

pub(in crate::findings) const LOCALE_WHY: &str = "Unset LANG or set it to `C.UTF-8`: the C library then reads none of them. Or build a \
     `locale-archive` with `localedef`: it then opens one file for all.";

pub(in crate::findings) const FONT_WHY: &str = "Build the font cache with the image (`fc-cache -s`), and install few fonts and one \
     configuration directory.";

pub(in crate::findings) fn bytes(path: impl Display, bytes: impl Display) -> String {
    format!("{path}: {bytes} bytes")
}

pub(in crate::findings) fn unused_why(libraries: impl Display, total: impl Display) -> String {
    format!(
        "{libraries} ({total} bytes) appear in no program, library or configuration file of \
         this root: not as a linker dependency, and not as a `dlopen` name. A root on a disk \
         never loads them, but a compressed or copied root does. Names assembled at run time \
         are not detected (`find_library` in Python, `loadLibrary` in Java)."
    )
}

pub(in crate::findings) fn looks(
    files: impl Display,
    what: impl Display,
    looks: impl Display,
) -> String {
    format!("{files} {what} files are looked up {looks} times")
}
