//! The screen of `firstlight image relocate`.

use crate::terminal::Style;
use crate::terminal::layout::{GOOD, PLAIN, Screen, WARN, clean, left, right};
use crate::words::{size, thousands};
use treat::relocate::{Layout, Relocation};

/// So many skipped files are named on the screen.
const ROWS: usize = 8;

/// How the files of a list lie below `root`, before and after.
#[must_use]
pub fn relocate(root: &str, done: &Relocation, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let about = format!("{} files, {}", thousands(done.files), size(done.bytes));
    screen.heading(root, &about);
    screen.blank();
    let mut row = |what: &str, l: &Layout| {
        screen.line(&format!(
            "  {}  {} discontinuities in the order of the list, {} of jumps",
            left(what, 6),
            right(&thousands(l.discontinuities), 9),
            size(l.distance)
        ));
    };
    row(
        if done.after.is_some() {
            "before"
        } else {
            "now"
        },
        &done.before,
    );
    if let Some(after) = &done.after {
        row("after", after);
    }
    for s in done.skipped.iter().take(ROWS) {
        let text = format!(
            "left where it was: {}: {}",
            String::from_utf8_lossy(&s.path),
            s.reason
        );
        screen.wrapped("  ", 2, WARN, &clean(&text));
    }
    if let Some(more) = done.skipped.len().checked_sub(ROWS).filter(|m| *m > 0) {
        let text = format!(
            "and {} more were left where they were",
            thousands(more as u64)
        );
        screen.wrapped("  ", 2, WARN, &text);
    }
    screen.blank();
    match done.after {
        Some(after) if after.discontinuities < done.before.discontinuities => {
            screen.wrapped(
                "  ",
                2,
                GOOD,
                "Every file has the content, owner, mode and times that it had.",
            );
        }
        Some(_) => {
            let text = "They lie no better than before: there is no free space in one piece that is \
                        large enough.";
            screen.wrapped("  ", 2, WARN, text);
        }
        None => {
            let text = format!(
                "The plan: {} in one piece of free space, and file by file the kernel exchanges \
                 blocks with it, journalled; content, owner, mode and times stay. Nothing was \
                 changed; --apply does it.",
                size(done.bytes)
            );
            screen.wrapped("  ", 2, PLAIN, &text);
        }
    }
    screen.finish()
}
