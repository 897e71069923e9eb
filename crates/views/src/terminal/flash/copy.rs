//! The screen of `firstlight flash ubi --copy`.

use crate::terminal::Style;
use crate::terminal::layout::{PLAIN, Screen};
use crate::words::{size, utf8};
use flash::ubi::Copied;

/// A volume that was copied to `out`.
#[must_use]
pub fn copy(out: &str, copied: &Copied, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let name = utf8(&copied.name).0;
    screen.heading(out, &format!("volume {} ({name})", copied.id));
    screen.wrapped("", 2, PLAIN, &size(copied.bytes));
    screen.finish()
}
