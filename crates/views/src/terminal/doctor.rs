//! What the lab needs on this machine.

use super::layout::{BAD, BOLD, DIM, GOOD, Screen, clean, left};
use super::style::Style;
use crate::plan::Check;
use crate::words::counted;

/// One line for each requirement, and how to get what is missing.
#[must_use]
pub fn doctor(checks: &[Check], style: &Style) -> String {
    let mut screen = Screen::new(style);
    let longest = checks.iter().map(|c| c.name.chars().count()).max();
    let name = longest.unwrap_or(0).clamp(8, 32);
    for check in checks {
        let state = if check.ok {
            screen.paint(GOOD, "ok     ")
        } else {
            screen.paint(BAD, "missing")
        };
        let found = clean(check.found.as_deref().unwrap_or(""));
        let line = format!(
            "{state}  {}  {}",
            left(&check.name, name),
            screen.paint(DIM, &found)
        );
        screen.line(&line);
        if let Some(advice) = check.advice.as_deref().filter(|_| !check.ok) {
            screen.wrapped("", 9, BOLD, advice);
        }
    }
    let missing = checks.iter().filter(|c| !c.ok).count();
    screen.blank();
    let verdict = match missing {
        0 => "Everything is ready.".to_owned(),
        1 => "1 requirement is missing.".to_owned(),
        n => format!("{} are missing.", counted(n, "requirement")),
    };
    screen.line(&verdict);
    screen.finish()
}
