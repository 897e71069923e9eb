//! Two boots side by side.

use super::Style;
use super::bar::share;
use super::layout::{
    BAD, BOLD, DIM, GOOD, PLAIN, Screen, TIME, WARN, delta, fit, left, right, time,
};
use crate::words;
use analysis::{Change, Comparison, Presence};
use anstyle::Style as Ansi;
use record::Nanos;

const NAME: usize = 14;

fn of_delta(d: Nanos) -> Ansi {
    match d.get() {
        ..0 => GOOD,
        0 => DIM,
        _ => BAD,
    }
}

/// What changed from the first boot to the second; `top` limits the items, 0
/// gives all.
#[must_use]
pub fn diff(c: &Comparison, top: usize, style: &Style) -> String {
    let mut screen = Screen::new(style);
    first_light(&mut screen, c);
    phases(&mut screen, c);
    items(&mut screen, c, top);
    screen.finish()
}

fn first_light(screen: &mut Screen, c: &Comparison) {
    let f = &c.first_light;
    let headline = match (&f.a, &f.b, f.delta) {
        (Some(a), Some(b), Some(d)) => format!(
            "First light  {}  {} -> {}",
            screen.paint(of_delta(d), delta(d).trim()),
            a.at,
            b.at
        ),
        (Some(a), None, _) => format!(
            "First light  {} -> never: nothing ends the second boot",
            a.at
        ),
        (None, Some(b), _) => format!(
            "First light  never -> {}: nothing ends the first boot",
            b.at
        ),
        _ => "First light  nothing ends either boot".to_owned(),
    };
    let headline = screen.paint(BOLD, &headline);
    screen.line(&headline);
    if let Some(clock) = c.clock {
        screen.wrapped("", 13, DIM, words::clock(clock));
    }
    if let (Some(a), Some(b), false) = (&f.a, &f.b, f.same_marks) {
        let text = format!(
            "not the same stretch: the first is from {} to {}, the second from {} to {}",
            c.zero_a, a.mark, c.zero_b, b.mark
        );
        screen.wrapped("", 13, WARN, &text);
    }
    let known = c
        .items
        .iter()
        .filter_map(|i| i.usual)
        .map(|u| u.boots)
        .max();
    let note = match known {
        Some(boots) => &*format!(
            "items that took as long in one of {boots} boots before are left out; only a lab \
             ensemble says whether the whole is really different"
        ),
        None => "one boot on each side: only a lab ensemble says whether a difference is real",
    };
    screen.wrapped("", 13, DIM, note);
}

fn phases(screen: &mut Screen, c: &Comparison) {
    if c.phases.is_empty() {
        return;
    }
    screen.heading("Phases", "");
    head(screen, "phase", NAME);
    for p in &c.phases {
        let note = if p.same_marks || p.a.is_none() || p.b.is_none() {
            ""
        } else {
            "other marks"
        };
        let line = format!(
            "  {}  {}  {}  {}  {}",
            left(&p.name, NAME),
            time(p.a),
            time(p.b),
            screen.paint(of_delta(p.delta), &delta(p.delta)),
            screen.paint(WARN, note)
        );
        screen.line(&line);
    }
}

fn head(screen: &mut Screen, name: &str, width: usize) {
    let line = format!(
        "  {}  {}  {}  {}",
        left(name, width),
        right("first", TIME),
        right("second", TIME),
        right("change", TIME)
    );
    screen.columns(&line);
}

fn items(screen: &mut Screen, c: &Comparison, top: usize) {
    let changed = c.items.iter().filter(|i| i.change() != Change::Same);
    let total = changed.clone().count();
    if total == 0 {
        return;
    }
    let limit = if top == 0 { total } else { top };
    let about = if limit < total {
        format!("the largest {limit} of {total} changes")
    } else {
        format!("{total} {}", words::plural(total, "change"))
    };
    screen.heading("Items", &about);
    let bar = screen.bar_width();
    let name_width = screen
        .width()
        .saturating_sub(2 + 3 * (TIME + 2) + bar + 2 + 10);
    let most = changed.clone().map(|i| i.delta.abs()).max();
    let line = format!(
        "  {}  {}  {}  {}  {}  name",
        right("change", TIME),
        left("", bar),
        right("first", TIME),
        right("second", TIME),
        left("kind", 8)
    );
    screen.columns(&line);
    for i in changed.take(limit) {
        let mut name = i.name.clone();
        if i.nth > 1 {
            name += &format!(" #{}", i.nth);
        }
        let (ansi, gone) = match i.presence {
            Presence::Both => (PLAIN, ""),
            Presence::OnlyA => (GOOD, " gone"),
            Presence::OnlyB => (BAD, " new"),
        };
        let room = name_width.saturating_sub(gone.len());
        let line = format!(
            "  {}  {}  {}  {}  {}  {}{}",
            screen.paint(of_delta(i.delta), &delta(i.delta)),
            screen.paint(
                of_delta(i.delta),
                &share(i.delta.abs(), most.unwrap_or_default(), bar)
            ),
            time(i.a),
            time(i.b),
            left(i.kind.as_str(), 8),
            fit(&name, room.max(12)),
            screen.paint(ansi, gone)
        );
        screen.line(&line);
    }
}
