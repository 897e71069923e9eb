//! The longest silences of the logs.

use super::Style;
use super::bar::share;
use super::layout::{BOLD, DIM, Screen, TIME, WARN, fit, left, right, time};
use analysis::Gap;
use record::Nanos;

/// Each with the line before it and the one behind it.
#[must_use]
pub fn gaps(all: &[Gap], style: &Style) -> String {
    let mut screen = Screen::new(style);
    let Some(longest) = all.first().map(|g| g.end - g.start) else {
        screen.line("No two lines of these sources have times that differ.");
        return screen.finish();
    };
    screen.heading(
        "Longest silences",
        "between a line of the logs and the next",
    );
    let bar = screen.bar_width();
    let head = format!(
        "  {}  {}  {}  {}",
        right("silent", TIME),
        left("", bar),
        right("from", TIME),
        "behind, and before"
    );
    screen.columns(&head);
    let used = 2 + TIME + 2 + bar + 2 + TIME + 2;
    let room = screen.width().saturating_sub(used).max(16);
    for gap in all {
        let silent: Nanos = gap.end - gap.start;
        let line = format!(
            "  {}  {}  {}  {}",
            screen.paint(BOLD, &time(Some(silent))),
            screen.paint(DIM, &share(silent, longest, bar)),
            time(Some(gap.start)),
            fit(&gap.before, room)
        );
        screen.line(&line);
        let doubt = if gap.may_be_loss_of.is_some() {
            "or loss"
        } else {
            ""
        };
        let doubt = screen.paint(WARN, &right(doubt, TIME));
        let rest = " ".repeat(used - 2 - TIME);
        screen.line(&format!("  {doubt}{rest}{}", fit(&gap.after, room)));
    }
    let mut logs: Vec<&str> = all
        .iter()
        .filter_map(|g| g.may_be_loss_of.as_deref())
        .collect();
    logs.sort_unstable();
    logs.dedup();
    for log in logs {
        let words = format!(
            "{log} lost more than one line, and only the place of the first is known: others may \
             have been lost in these times."
        );
        screen.wrapped("  or loss:", 11, DIM, &words);
    }
    screen.finish()
}
