//! The screen of `firstlight image repack`.

use crate::terminal::Style;
use crate::terminal::layout::{PLAIN, Screen};
use crate::words::{size, thousands};
use bootimage::Compression;
use bootimage::initramfs::Repacked;

/// An initramfs that was written to `out` with another compression.
#[must_use]
pub fn repack(out: &str, compression: Compression, done: &Repacked, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let how = match compression {
        Compression::None => "not packed".to_owned(),
        other => format!("packed with {other}"),
    };
    let entries = match done.before.count() {
        1 => "1 entry".to_owned(),
        n => format!("{} entries", thousands(n)),
    };
    screen.heading(
        out,
        &format!(
            "{how}: {}, where before it was {}",
            size(done.bytes),
            size(done.before.end)
        ),
    );
    let text = format!("{entries}, the same to the byte, read back");
    screen.wrapped("", 2, PLAIN, &text);
    if done.kept > 0 {
        let text = "The first part is read before anything is unpacked: it stays as it was.";
        screen.wrapped("", 2, PLAIN, text);
    }
    screen.finish()
}
