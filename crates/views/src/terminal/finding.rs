//! One finding, as several screens print it.

use super::layout::{BOLD, DIM, GOOD, PLAIN, Screen, clean, left};
use super::place::place;
use analysis::Finding;

/// Where the sentences of a finding begin, and what is said about them.
const INDENT: usize = 5;
const LABEL: usize = INDENT + 13;

/// The number, title and saving in one line; then why, what to do, what it costs
/// and the evidence. `sure` says how sure the saving is.
pub(super) fn finding(
    screen: &mut Screen,
    number: usize,
    f: &Finding,
    saving: &str,
    sure: Option<&str>,
) {
    let first = format!(" {number:>2}. ");
    let title = clean(&f.title);
    let used = first.len() + saving.chars().count() + 2;
    let room = screen.width().saturating_sub(used);
    if title.chars().count() <= room {
        let line = format!(
            "{first}{}  {}",
            screen.paint(BOLD, &left(&title, room)),
            screen.paint(GOOD, saving)
        );
        screen.line(&line);
    } else {
        // A long title is shown whole, with the saving below it.
        screen.wrapped(&first, INDENT, BOLD, &title);
        screen.wrapped("", INDENT, GOOD, saving);
    }
    screen.wrapped("", INDENT, PLAIN, &f.why);
    if let Some(treatment) = &f.treatment {
        let line = format!(
            "     do:          {}",
            screen.paint(GOOD, &clean(treatment))
        );
        screen.line(&line);
    }
    screen.wrapped("     cost:", LABEL, DIM, &f.cost);
    if let Some(sure) = sure {
        screen.wrapped("     confidence:", LABEL, DIM, sure);
    }
    for (i, e) in f.evidence.iter().enumerate() {
        let label = if i == 0 { "     evidence:" } else { "" };
        let text = format!("{} ({})", e.text, place(&e.place));
        screen.wrapped(label, LABEL, DIM, &text);
    }
}
