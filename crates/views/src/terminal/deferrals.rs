//! The ledger of probes that were put off.

use super::Style;
use super::layout::{BOLD, Screen, TIME, WARN, fit, right, time};
use crate::words::{plural, thousands};
use analysis::Deferral;
use record::Nanos;

/// The first `top` devices (all, if `top` is 0), the most time wasted first.
#[must_use]
pub fn deferrals(all: &[Deferral], top: usize, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if all.is_empty() {
        screen.line("No probe was put off in these sources.");
        screen.line("Probes are in a log that was taken with `initcall_debug ignore_loglevel`.");
        return screen.finish();
    }
    let tries: usize = all.iter().map(|d| d.tries).sum();
    let wasted = all.iter().fold(Nanos::ZERO, |sum, d| sum + d.wasted);
    let about = format!(
        "{} vain {} on {} {}, {wasted} in them",
        thousands(tries as u64),
        if tries == 1 { "try" } else { "tries" },
        thousands(all.len() as u64),
        plural(all.len(), "device"),
    );
    screen.heading("Probes put off", &about);
    let head = format!(
        "  {}  {}  {}  {}  device",
        right("tries", 6),
        right("wasted", TIME),
        right("first", TIME),
        right("settled", TIME)
    );
    screen.columns(&head);
    let shown = if top == 0 { all.len() } else { top };
    for d in all.iter().take(shown) {
        let settled = match d.settled {
            Some(at) => time(Some(at)),
            None => screen.paint(WARN, &right("never", TIME)),
        };
        let mut name = d.device.clone();
        if let Some(supplier) = &d.waited_for {
            name += &format!(", waited for {supplier}");
        }
        let room = screen.width().saturating_sub(2 + 6 + 3 * (TIME + 2) + 2);
        let line = format!(
            "  {}  {}  {}  {settled}  {}",
            right(&thousands(d.tries as u64), 6),
            screen.paint(BOLD, &time(Some(d.wasted))),
            time(d.first),
            fit(&name, room.max(16))
        );
        screen.line(&line);
    }
    screen.finish()
}
