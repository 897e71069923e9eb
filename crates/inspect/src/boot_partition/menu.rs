//! What an extlinux.conf boots: its default entry.
//!
//! Format: the SYSLINUX wiki, "Config", as far as U-Boot reads it (`boot/pxe_utils.c`).

/// An entry of a menu. Paths are as they stand there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    label: String,
    pub kernel: Option<String>,
    pub initramfs: Vec<String>,
    /// The command line, and where it stands in the file.
    pub append: Option<(String, u64)>,
}

/// The entry that is booted if nobody chooses: the one that is named, or the first.
pub(super) fn default_entry(menu: &[u8]) -> Option<Entry> {
    let mut default = None;
    let mut entries: Vec<Entry> = Vec::new();
    let mut offset = 0;
    for line in menu.split_inclusive(|b| *b == b'\n') {
        let indent = line.len() - line.trim_ascii_start().len();
        let at = offset + indent;
        offset += line.len();
        let line = line.trim_ascii();
        let end = line.iter().position(u8::is_ascii_whitespace);
        let (word, rest) = line.split_at(end.unwrap_or(line.len()));
        let value = String::from_utf8_lossy(rest.trim_ascii()).into_owned();
        let word = word.to_ascii_lowercase();
        match (word.as_slice(), entries.last_mut()) {
            (b"default", _) => default = Some(value),
            (b"label", _) => entries.push(Entry {
                label: value,
                ..Entry::default()
            }),
            (b"menu", Some(entry)) if value.eq_ignore_ascii_case("default") => {
                default = Some(entry.label.clone());
            }
            // A FIT image may have the name of a configuration behind it.
            (b"kernel" | b"linux" | b"fit", Some(entry)) => {
                let path = value
                    .split_once('#')
                    .map_or(value.as_str(), |(path, _)| path);
                entry.kernel = Some(path.to_owned());
            }
            (b"initrd", Some(entry)) => {
                entry.initramfs = value.split(',').map(str::to_owned).collect();
            }
            (b"append", Some(entry)) => {
                let start = at + line.len() - rest.trim_ascii().len();
                entry.append = Some((value, start as u64));
            }
            _ => {}
        }
    }
    let named = entries
        .iter()
        .position(|e| Some(&e.label) == default.as_ref());
    let at = named.unwrap_or(0);
    (at < entries.len()).then(|| entries.swap_remove(at))
}

/// A path of an entry from the root of the filesystem on: it may be relative to the folder of
/// the menu.
pub(super) fn absolute(menu: &str, path: &str) -> String {
    let folder = menu.rsplit_once('/').map_or("", |(folder, _)| folder);
    let whole = match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("{folder}/{path}"),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{absolute, default_entry};

    #[test]
    fn the_default_entry_is_the_one_that_is_named() {
        let text = "DEFAULT two\nTIMEOUT 30\nlabel one\n kernel /a\nlabel two\n\
                    \tLINUX ../Image.gz\n\tinitrd /i,/j\n\tAPPEND  root=/dev/mmcblk0p2 rw\n";
        let entry = default_entry(text.as_bytes()).unwrap();
        assert_eq!(entry.kernel.as_deref(), Some("../Image.gz"));
        assert_eq!(entry.initramfs, ["/i", "/j"]);
        let (append, at) = entry.append.unwrap();
        assert_eq!(append, "root=/dev/mmcblk0p2 rw");
        assert!(text[at as usize..].starts_with("root="));
        let first = default_entry(b"label one\nfit /all.itb#conf-1\nlabel two\n").unwrap();
        assert_eq!(first.kernel.as_deref(), Some("/all.itb"));
        let chosen = default_entry(b"label one\nlabel two\nmenu default\nkernel /b\n").unwrap();
        assert_eq!(chosen.kernel.as_deref(), Some("/b"));
        assert_eq!(default_entry(b"timeout 5\n"), None);
    }

    #[test]
    fn a_command_line_has_its_place_behind_bytes_that_are_no_text() {
        // A comment in Latin-1, of which each letter is one byte.
        let menu = b"# B\xf6\xf6t\nlabel one\n  append quiet \xe9\r\n";
        let entry = default_entry(menu).unwrap();
        assert_eq!(entry.append, Some(("quiet \u{fffd}".to_owned(), 26)));
        assert!(menu[26..].starts_with(b"quiet"));
        let none = default_entry(b"label one\nAPPEND").unwrap();
        assert_eq!(none.append, Some((String::new(), 16)));
    }

    #[test]
    fn a_path_may_be_relative_to_the_menu() {
        let of = |path| absolute("/extlinux/extlinux.conf", path);
        assert_eq!(of("../Image"), "/Image");
        assert_eq!(of("Image"), "/extlinux/Image");
        assert_eq!(of("/../../boot/./Image"), "/boot/Image");
    }
}
