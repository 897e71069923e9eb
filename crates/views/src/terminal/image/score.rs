//! The screen of `firstlight image score`.

use crate::terminal::Style;
use crate::terminal::layout::{PLAIN, Screen, WARN, clean, left, right};
use crate::words::{size, thousands};
use disk::Score;

/// So many missing files are named on the screen.
const ROWS: usize = 5;

/// How well an image suits an order of access.
#[must_use]
pub fn score(image: &str, s: &Score, notes: &[String], style: &Style) -> String {
    let mut screen = Screen::new(style);
    let files = thousands(s.files);
    screen.heading(image, &format!("{files} files, {}", size(s.bytes)));
    screen.blank();
    let rows = [
        (
            s.discontinuities,
            "discontinuities",
            "the next piece does not follow the previous one",
        ),
        (
            s.requests,
            "requests",
            "when what follows directly is read at once",
        ),
        (
            s.requests_in_disk_order,
            "in disk order",
            "the same, if all of it is read by place",
        ),
        (s.distance_bytes, "bytes of jumps", "the way between them"),
        (
            s.read_bytes,
            "bytes read",
            "whole blocks, packed as they lie",
        ),
        (
            s.over_read_bytes,
            "bytes for nothing",
            "behind the ends of files, in their last blocks",
        ),
    ];
    for (value, what, meaning) in rows {
        let first = format!("  {}  {}", right(&thousands(value), 16), left(what, 19));
        screen.wrapped(&first, 39, PLAIN, meaning);
    }
    for path in s.missing.iter().take(ROWS) {
        let text = format!("not in the image: {}", String::from_utf8_lossy(path));
        screen.wrapped("  ", 2, WARN, &clean(&text));
    }
    if let Some(more) = s.missing.len().checked_sub(ROWS).filter(|m| *m > 0) {
        let text = format!("and {} more are not in the image", thousands(more as u64));
        screen.wrapped("  ", 2, WARN, &text);
    }
    for note in notes {
        screen.wrapped("  ", 2, WARN, &clean(note));
    }
    screen.finish()
}
