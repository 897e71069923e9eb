//! The screen of `firstlight image relocate`.

use crate::terminal::Style;
use crate::terminal::layout::{GOOD, PLAIN, Screen, WARN, clean, left, right};
use crate::words::{nanos, size, thousands};
use treat::relocate::{Layout, Relocation};

/// So many skipped files are named on the screen.
const ROWS: usize = 8;

/// How the files of a list lie below `root`, before and after; the forecast is for `storage`.
#[must_use]
pub fn relocate(root: &str, done: &Relocation, storage: &str, style: &Style) -> String {
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
    let then = done.reading_then_ns.map(nanos);
    screen.line(&format!(
        "  forecast on {storage}: {} to read them{}",
        nanos(done.reading_ns),
        then.map_or_else(String::new, |t| format!(", {t} at the best new location"))
    ));
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
    let (ansi, text) = match (done.after, done.reading_then_ns) {
        (Some(_), _) => (
            GOOD,
            format!(
                "Every file has the content, owner, mode and times that it had. {}",
                super::RECORD_AGAIN
            ),
        ),
        (None, Some(_)) => (
            WARN,
            "Nothing was moved: in the free space that there is, the files would not be read \
             sooner. --force moves them all the same."
                .to_owned(),
        ),
        (None, None) => (
            PLAIN,
            format!(
                "The plan: {} of free space, in as few pieces as possible; if the files will be read \
                 sooner there, the kernel exchanges blocks with it file by file, journalled. \
                 Content, owner, mode and times stay. Nothing was changed; --apply does it.",
                size(done.bytes)
            ),
        ),
    };
    screen.wrapped("  ", 2, ansi, &text);
    screen.finish()
}
