//! The longest gaps between log lines.

use super::bar::share;
use super::layout::{DIM, Screen, TIME, WARN};
use super::style::Style;
use super::table::{Cell, Column, Table, cell};
use analysis::Gap;
use record::Nanos;

/// Each with the line before it and the one after it.
#[must_use]
pub fn gaps(all: &[Gap], style: &Style) -> String {
    let mut screen = Screen::new(style);
    let Some(longest) = all.first().map(|g| g.end - g.start) else {
        screen.line("No two log lines in the input have different timestamps.");
        return screen.finish();
    };
    screen.heading("Longest gaps", "between one log line and the next");
    let bar = screen.bar_width();
    let mut table = Table::new([
        Column::time("gap"),
        Column::text(""),
        Column::time("start"),
        Column::name("line before, line after"),
    ]);
    for gap in all {
        let length: Nanos = gap.end - gap.start;
        table.row([
            cell(length).bold(),
            cell(share(length, longest, bar)).dim(),
            cell(gap.start),
            cell(&gap.before),
        ]);
        let doubt = if gap.may_be_loss_of.is_some() {
            "or loss"
        } else {
            ""
        };
        table.row([
            cell(doubt).ansi(WARN),
            Cell::default(),
            Cell::default(),
            cell(&gap.after),
        ]);
    }
    table.print(&mut screen);
    let mut logs: Vec<&str> = all
        .iter()
        .filter_map(|g| g.may_be_loss_of.as_deref())
        .collect();
    logs.sort_unstable();
    logs.dedup();
    for log in logs {
        let words = format!(
            "{log} lost more than one line, and only the position of the first is known. Lines may \
             be missing from these gaps."
        );
        screen.wrapped("  or loss:", 2 + TIME, DIM, &words);
    }
    screen.finish()
}
