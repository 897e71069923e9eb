//! `firstlight help formats` on a terminal.

use super::Style;
use super::layout::{PLAIN, Screen};

/// One entry for each format: its name, and what it is.
#[must_use]
pub fn formats(formats: &[(&str, &str)], style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.heading("Input formats", "recognized by content, not by file name");
    let names = formats.iter().map(|(name, _)| name.len());
    let indent = names.max().unwrap_or_default() + 4;
    for (name, description) in formats {
        screen.wrapped(&format!("  {name}"), indent, PLAIN, description);
    }
    screen.finish()
}
