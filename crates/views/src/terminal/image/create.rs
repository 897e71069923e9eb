//! An image that was created.

use crate::terminal::Style;
use crate::terminal::layout::{PLAIN, Screen};
use crate::words::{size, thousands};

/// The image `out`, of a form, with so many files and folders.
#[must_use]
pub fn create(out: &str, form: &str, entries: u32, bytes: u64, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.heading(out, &format!("{form}, {}", size(bytes)));
    let text = format!(
        "{} files and folders. `firstlight image info` shows what its mount costs; write it to the \
         board with the board's own tool.",
        thousands(u64::from(entries))
    );
    screen.wrapped("", 2, PLAIN, &text);
    screen.finish()
}
