//! Time by part of the kernel.

use super::Style;
use super::bar::share;
use super::layout::{BOLD, DIM, Screen, TIME, fit, left, right, time};
use crate::words::{plural, thousands};
use analysis::Subsystems;

/// How wide the names of the parts are.
const NAME: usize = 20;

/// The parts asked for, the longest first.
#[must_use]
pub fn subsystems(all: &Subsystems, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if all.rows.is_empty() {
        screen.line("No initcall was timed in these sources.");
        screen.line("For initcalls, boot with `initcall_debug ignore_loglevel log_buf_len=4M`.");
        return screen.finish();
    }
    let shown = match all.rows.len() < all.total_rows {
        true => format!("{} of ", all.rows.len()),
        false => String::new(),
    };
    let total = all.total_rows;
    let parts = plural(total, "part");
    let about = format!("{shown}{total} {parts} of the kernel, {} in all", all.time);
    screen.heading("Initcalls by subsystem", &about);
    let bar = screen.bar_width();
    let head = format!(
        "  {}  {}  {}  {}  {}  longest call",
        right("time", TIME),
        left("", bar),
        right("busy", TIME),
        right("calls", 6),
        left("subsystem", NAME),
    );
    screen.columns(&head);
    let most = all.rows.first().map(|r| r.time).unwrap_or_default();
    for row in &all.rows {
        let room = screen
            .width()
            .saturating_sub(2 * (TIME + 2) + bar + 2 + 8 + NAME + 4);
        let longest = format!("{} {}", row.longest.1, row.longest.0);
        let line = format!(
            "  {}  {}  {}  {}  {}  {}",
            screen.paint(BOLD, &time(Some(row.time))),
            screen.paint(DIM, &left(&share(row.time, most, bar), bar)),
            time(Some(row.busy)),
            right(&thousands(row.calls), 6),
            left(&fit(&row.name, NAME), NAME),
            fit(&longest, room.max(16)),
        );
        screen.line(&line);
    }
    let note = "busy: the time in which at least one of the calls ran; where calls overlap, it is \
                shorter than their sum.";
    screen.wrapped("", 2, DIM, note);
    screen.finish()
}
