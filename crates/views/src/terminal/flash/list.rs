//! The screen of `firstlight flash list`.

use crate::terminal::Style;
use crate::terminal::layout::{BAD, BOLD, DIM, PLAIN, Screen, clean, right};
use crate::words::{size, thousands, utc, utf8};
use flash::files::FileType;
use flash::jffs2::decompress;
use flash::listing::Listing;

/// The mode as `ls -l` shows it.
fn mode(mode: u32) -> String {
    let mut text = letter(FileType::of_mode(mode)).to_string();
    for (shift, special, letter) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let bits = mode >> shift;
        text.push(if bits & 4 == 0 { '-' } else { 'r' });
        text.push(if bits & 2 == 0 { '-' } else { 'w' });
        text.push(match (mode & special != 0, bits & 1 != 0) {
            (true, true) => letter,
            (true, false) => letter.to_ascii_uppercase(),
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    text
}

/// The files of an image, as `ls -l` shows them.
#[must_use]
pub fn list(listing: &Listing, style: &Style) -> String {
    let mut screen = Screen::new(style);
    for file in &listing.files {
        let stat = &file.stat;
        let what = match (&file.target, file.device) {
            (Some(target), _) => format!(" -> {}", clean(&utf8(target).0)),
            (None, Some(device)) => format!("  {}:{}", device.major, device.minor),
            _ => String::new(),
        };
        let bold = match stat.file_type {
            FileType::Directory => BOLD,
            _ => PLAIN,
        };
        let path = match file.path.as_slice() {
            b"" => ".".to_owned(),
            path => utf8(path).0,
        };
        let line = format!(
            "{} {} {} {}  {}  {}{}",
            mode(stat.mode),
            right(&stat.links.to_string(), 3),
            right(&format!("{}/{}", stat.uid, stat.gid), 9),
            right(&thousands(stat.size), 12),
            screen.paint(DIM, &utc(stat.mtime)),
            screen.paint(bold, &clean(&path)),
            screen.paint(DIM, &what)
        );
        screen.line(&line);
        for attribute in &file.attributes {
            let name = utf8(&attribute.name).0;
            let text = format!("{name} ({} bytes)", attribute.value.len());
            screen.wrapped("", 52, DIM, &text);
        }
        for node in file.nodes.iter().flatten() {
            let text = format!(
                "version {} at byte {}: {} bytes at {}, {} as {}; the file is then {}",
                node.version,
                node.place,
                node.length,
                node.offset,
                size(node.stored.into()),
                decompress::name(node.compression),
                size(node.size.into())
            );
            screen.wrapped("", 6, DIM, &text);
        }
    }
    for (path, fault) in &listing.faults {
        let text = format!("{}: {fault}", path.escape_ascii());
        screen.wrapped("  not listed", 14, BAD, &text);
    }
    screen.finish()
}

/// The letter of `ls`.
fn letter(file_type: FileType) -> char {
    match file_type {
        FileType::Directory => 'd',
        FileType::File => '-',
        FileType::Symlink => 'l',
        FileType::BlockDevice => 'b',
        FileType::CharacterDevice => 'c',
        FileType::Fifo => 'p',
        FileType::Socket => 's',
        FileType::Unknown => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_as_ls_shows_them() {
        for (bits, text) in [
            (0o100_644, "-rw-r--r--"),
            (0o040_755, "drwxr-xr-x"),
            (0o104_755, "-rwsr-xr-x"),
            (0o102_644, "-rw-r-Sr--"),
            (0o041_777, "drwxrwxrwt"),
            (0o120_777, "lrwxrwxrwx"),
            (0o060_660, "brw-rw----"),
        ] {
            assert_eq!(mode(bits), text);
        }
    }
}
