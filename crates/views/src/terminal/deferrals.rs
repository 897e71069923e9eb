//! Probes that were deferred and retried.

use super::layout::{Screen, WARN};
use super::style::Style;
use super::table::{Cell, Column, Table, cell};
use crate::words::counted;
use analysis::Deferral;
use record::Nanos;

/// The first `top` devices (all, if `top` is 0), the most time wasted first.
#[must_use]
pub fn deferrals(all: &[Deferral], top: usize, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if all.is_empty() {
        screen.line("No probe was deferred in the input.");
        screen.line("To log probes, boot with `initcall_debug ignore_loglevel`.");
        return screen.finish();
    }
    let tries: usize = all.iter().map(|d| d.tries).sum();
    let wasted = all.iter().fold(Nanos::ZERO, |sum, d| sum + d.wasted);
    let shown = if top == 0 {
        all.len()
    } else {
        top.min(all.len())
    };
    let about = match shown < all.len() {
        true => format!("{shown} of {}", counted(all.len(), "device")),
        false => counted(all.len(), "device"),
    };
    screen.heading("Deferred probes", &about);
    let mut table = Table::new([
        Column::number("tries"),
        Column::time("wasted"),
        Column::time("first try"),
        Column::time("probed"),
        Column::name("device"),
        Column::name("waited for"),
    ]);
    for d in all.iter().take(shown) {
        table.row([
            cell(d.tries),
            cell(d.wasted).bold(),
            cell(d.first),
            match d.settled {
                Some(at) => cell(at),
                None => cell("never").ansi(WARN),
            },
            cell(&d.device),
            cell(d.waited_for.as_deref().unwrap_or_default()),
        ]);
    }
    let label = match shown < all.len() {
        true => "total of all devices",
        false => "total",
    };
    table.total([
        cell(tries),
        cell(wasted),
        Cell::default(),
        Cell::default(),
        cell(label),
        Cell::default(),
    ]);
    table.print(&mut screen);
    screen.finish()
}
