//! Two boots side by side.

use super::bar::share;
use super::layout::{Ansi, BAD, BOLD, DIM, GOOD, PLAIN, Screen, WARN, delta};
use super::style::Style;
use super::table::{Column, Table, cell};
use crate::words;
use analysis::{Change, Comparison, Presence};
use record::Nanos;

/// Where the lines below the headline begin.
const INDENT: usize = 13;

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
        (Some(a), None, _) => format!("First light  {} -> unknown in the second boot", a.at),
        (None, Some(b), _) => format!("First light  unknown in the first boot -> {}", b.at),
        _ => "First light  unknown in both boots".to_owned(),
    };
    let headline = screen.paint(BOLD, &headline);
    screen.line(&headline);
    if f.a.is_none() || f.b.is_none() {
        let text = "Pass --first-light TEXT (such as `login:`) to say what ends a boot.";
        screen.wrapped("", INDENT, PLAIN, text);
    }
    if let Some(clock) = c.clock {
        screen.wrapped("", INDENT, DIM, words::clock(clock));
    }
    if let (Some(a), Some(b), false) = (&f.a, &f.b, f.same_marks) {
        let text = format!(
            "Not comparable: the first boot is measured from {} to {}, the second from {} to {}.",
            c.zero_a, a.mark, c.zero_b, b.mark
        );
        screen.wrapped("", INDENT, WARN, &text);
    }
    let known = c
        .items
        .iter()
        .filter_map(|i| i.usual)
        .map(|u| u.boots)
        .max();
    let usual = known.map_or_else(String::new, |boots| {
        format!(
            "Items that took as long in one of {} are omitted. ",
            words::counted(boots, "earlier boot")
        )
    });
    let note = format!(
        "{usual}With one boot on each side, a difference may be noise: compare several boots with \
         `firstlight boots` or in the lab."
    );
    screen.wrapped("", INDENT, DIM, &note);
}

fn phases(screen: &mut Screen, c: &Comparison) {
    if c.phases.is_empty() {
        return;
    }
    screen.heading("Phases", "");
    let mut table = Table::new([
        Column::text("phase").at_least(14),
        Column::time("first"),
        Column::time("second"),
        Column::time("change"),
        Column::text(""),
    ]);
    for p in &c.phases {
        let note = if p.same_marks || p.a.is_none() || p.b.is_none() {
            ""
        } else {
            "different marks"
        };
        table.row([
            cell(&p.name),
            cell(p.a),
            cell(p.b),
            cell(delta(p.delta).trim()).ansi(of_delta(p.delta)),
            cell(note).ansi(WARN),
        ]);
    }
    table.print(screen);
}

fn items(screen: &mut Screen, c: &Comparison, top: usize) {
    let changed = c.items.iter().filter(|i| i.change() != Change::Same);
    let total = changed.clone().count();
    if total == 0 {
        return;
    }
    let limit = if top == 0 { total } else { top };
    let changes = words::counted(total, "change");
    let about = if limit < total {
        format!("the largest {limit} of {changes}")
    } else {
        changes
    };
    screen.heading("Items", &about);
    let bar = screen.bar_width();
    let most = changed.clone().map(|i| i.delta.abs()).max();
    let most = most.unwrap_or_default();
    let mut table = Table::new([
        Column::time("change"),
        Column::text(""),
        Column::time("first"),
        Column::time("second"),
        Column::text("kind").at_least(8),
        Column::name("name"),
    ]);
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
        table.row([
            cell(delta(i.delta).trim()).ansi(of_delta(i.delta)),
            cell(share(i.delta.abs(), most, bar)).ansi(of_delta(i.delta)),
            cell(i.a),
            cell(i.b),
            cell(i.kind.as_str()),
            cell(name).remark(gone, ansi),
        ]);
    }
    table.print(screen);
}
