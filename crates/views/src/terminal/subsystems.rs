//! Time by part of the kernel.

use super::bar::share;
use super::layout::{DIM, Screen};
use super::style::Style;
use super::table::{Cell, Column, Table, cell};
use crate::words::counted;
use analysis::Subsystems;

/// The parts asked for, the longest first.
#[must_use]
pub fn subsystems(all: &Subsystems, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if all.rows.is_empty() {
        screen.line("No initcall with a duration was found in the input.");
        screen.line("To log initcalls, boot with `initcall_debug ignore_loglevel log_buf_len=4M`.");
        return screen.finish();
    }
    let cut = all.rows.len() < all.total_rows;
    let shown = match cut {
        true => format!("{} of ", all.rows.len()),
        false => String::new(),
    };
    let about = format!("{shown}{}", counted(all.total_rows, "subsystem"));
    screen.heading("Initcalls by subsystem", &about);
    let bar = screen.bar_width();
    let mut table = Table::new([
        Column::time("time"),
        Column::text(""),
        Column::time("busy"),
        Column::number("calls"),
        Column::text("subsystem"),
        Column::time("longest"),
        Column::name("longest call"),
    ]);
    let most = all.rows.first().map(|r| r.time).unwrap_or_default();
    for row in &all.rows {
        table.row([
            cell(row.time).bold(),
            cell(share(row.time, most, bar)).dim(),
            cell(row.busy),
            cell(row.calls),
            cell(&row.name),
            cell(row.longest.1),
            cell(&row.longest.0),
        ]);
    }
    let label = match cut {
        true => "total of all subsystems",
        false => "total",
    };
    table.total([
        cell(all.time),
        Cell::default(),
        Cell::default(),
        Cell::default(),
        cell(label),
        Cell::default(),
        Cell::default(),
    ]);
    table.print(&mut screen);
    let note = "busy: time with at least one of the calls running (overlaps counted once).";
    screen.wrapped("", 2, DIM, note);
    screen.finish()
}
