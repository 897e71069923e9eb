//! Where nothing is known of a boot.

use super::layout::{DIM, Screen, fit};
use super::table::{Column, Table, cell};
use analysis::{Boot, Unknown};
use record::Nanos;

/// How many stretches fit the first screen.
const MOST: usize = 5;

/// The longest stretches of which nothing is known, and what to switch on.
pub(super) fn unknown(screen: &mut Screen, boot: &Boot) {
    let all = &boot.unknown;
    if all.is_empty() {
        return;
    }
    let sum = all.iter().fold(Nanos::ZERO, |s, u| s + (u.end - u.start));
    let start = boot.phases.phases.first().map_or(Nanos::ZERO, |p| p.start);
    let total = (boot.unknown_until - start).get().max(1);
    let percent = sum.get().saturating_mul(100) / total;
    let part = match boot.unknown_until < boot.phases.end() {
        true => format!(" up to {}", boot.unknown_until),
        false => String::new(),
    };
    let what = format!("of {sum}, {percent} % of the boot{part}");
    screen.heading("Nothing is known", &what);
    let shown = all.get(..MOST).unwrap_or(all);
    let words = screen.width().saturating_sub(44) / 2;
    let mut table = Table::new([
        Column::time("start"),
        Column::time("duration"),
        Column::text("phase"),
        Column::text("after"),
        Column::name("before"),
    ]);
    for u in shown {
        table.row([
            cell(u.start),
            cell(u.end - u.start).bold(),
            cell(u.phase.as_str()),
            cell(fit(&u.before, words)).dim(),
            cell(fit(&u.after, words)),
        ]);
    }
    table.print(screen);
    if all.len() > shown.len() {
        let more = all.len() - shown.len();
        screen.wrapped("", 2, DIM, &format!("and {more} more of over 1 % each"));
    }
    for u in shown {
        if let Some(within) = &u.within {
            let text = format!("From {}: {within}.", u.start);
            screen.wrapped("", 2, DIM, &text);
        }
    }
    for ask in asks(shown) {
        screen.wrapped("", 2, DIM, ask);
    }
}

/// What to switch on, each once, in the order of the stretches.
fn asks(shown: &[Unknown]) -> Vec<&'static str> {
    let mut asks: Vec<&'static str> = Vec::new();
    for u in shown {
        if !asks.contains(&u.ask) {
            asks.push(u.ask);
        }
    }
    asks
}
