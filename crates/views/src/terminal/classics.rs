//! Published results, and what they are here.

use super::layout::{BAD, PLAIN, Screen, WARN, clean, left};
use super::style::Style;
use super::table::{Column, Table, cell};
use crate::classic::{Classic, ClassicResult};

/// The width of the labels beside a result.
const LABEL: usize = 14;

/// Which results there are, and which of them can run here.
#[must_use]
pub fn classics(all: &[Classic], style: &Style) -> String {
    let mut screen = Screen::new(style);
    let runs = all.iter().filter(|c| c.missing.is_empty()).count();
    screen.heading(
        "Published results",
        &format!("{runs} of {} can run on this host", all.len()),
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
    screen.wrapped("  published", LABEL, PLAIN, &result.classic.source);
    screen.wrapped("  measured", LABEL, PLAIN, &result.classic.here);
    screen.blank();
    let mut table = Table::new([
        Column::name(""),
        Column::number("published"),
        Column::number("ratio"),
        Column::number("measured"),
        Column::number("ratio"),
        Column::text("basis"),
    ]);
    for v in &result.values {
        let [published, of_first, here, ratio] = v.cells();
        table.row([
            cell(&v.name),
            cell(published),
            cell(of_first),
            cell(here),
            cell(ratio),
            cell(v.basis_cell()),
        ]);
    }
    table.print(&mut screen);
    screen.blank();
    for failure in &result.failures {
        screen.wrapped("  failed", LABEL, BAD, failure);
    }
    screen.wrapped("  difference", LABEL, PLAIN, &result.classic.why);
    screen.finish()
}
