//! Published results, and what they are here.

use super::Style;
use super::layout::{BAD, PLAIN, Screen, WARN, clean, left, right};
use crate::{Classic, ClassicResult};

/// The columns of a time and of a ratio.
const TIME: usize = 12;
const RATIO: usize = 8;

/// Which results there are, and which of them run here.
#[must_use]
pub fn classics(all: &[Classic], style: &Style) -> String {
    let mut screen = Screen::new(style);
    let runs = all.iter().filter(|c| c.missing.is_empty()).count();
    screen.heading(
        "Published results",
        &format!("{runs} of {} run here", all.len()),
    );
    let name = all.iter().map(|c| c.id.len()).max().unwrap_or(0);
    for c in all {
        let label = format!("  {}  ", left(&c.id, name));
        screen.wrapped(&label, name + 4, PLAIN, &c.title);
        for missing in &c.missing {
            screen.wrapped(&" ".repeat(name + 4), name + 4, WARN, missing);
        }
    }
    screen.finish()
}

/// A result beside what was published.
#[must_use]
pub fn classics_result(result: &ClassicResult, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.heading(&clean(&result.classic.title), "");
    screen.wrapped("  published  ", 13, PLAIN, &result.classic.source);
    screen.wrapped("  here       ", 13, PLAIN, &result.classic.here);
    screen.line("");
    let longest = result.values.iter().map(|v| v.name.chars().count()).max();
    let room = screen.width().saturating_sub(2 * TIME + 2 * RATIO + 10);
    let name = longest.unwrap_or(0).clamp(12, room.max(12));
    let head = format!(
        "  {}  {}  {}  {}  {}",
        left("", name),
        right("published", TIME),
        right("ratio", RATIO),
        right("here", TIME),
        right("ratio", RATIO)
    );
    screen.columns(&head);
    for v in &result.values {
        let [published, of_first, here, ratio] = v.cells();
        screen.line(&format!(
            "  {}  {}  {}  {}  {}",
            left(&clean(&v.name), name),
            right(&published, TIME),
            right(&of_first, RATIO),
            right(&here, TIME),
            right(&ratio, RATIO)
        ));
    }
    screen.line("");
    for failure in &result.failures {
        screen.wrapped("  failed     ", 13, BAD, failure);
    }
    screen.wrapped("  why        ", 13, PLAIN, &result.classic.why);
    screen.finish()
}
