//! What `lab run` would do.

use super::layout::{BOLD, DIM, PLAIN, Screen, WARN, clean, left};
use super::style::Style;
use super::table::{Cell, Column, Table, cell};
use crate::plan::LabPlan;
use crate::words::counted;

/// The variants with their changes, the boots with their durations, and the total.
#[must_use]
pub fn lab_plan(plan: &LabPlan, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let open = plan.boots.iter().filter(|b| b.basis != "there").count();
    let at_once = match plan.jobs.min(open.max(1)) {
        1 => "one after another".to_owned(),
        n => format!("{n} at once"),
    };
    let about = match open {
        0 => "nothing to boot: every result already exists".to_owned(),
        _ => format!(
            "{}, {at_once}: {} on this host",
            counted(open, "boot"),
            roughly(plan.wall_s)
        ),
    };
    screen.heading(&format!("Plan of {}", clean(&plan.experiment)), &about);
    screen.line(&format!("  machine  {}", clean(&plan.machine)));
    for text in &plan.before {
        screen.wrapped("  before   ", 11, WARN, text);
    }
    screen.heading("Variants", "");
    let longest = plan
        .variants
        .iter()
        .map(|v| v.variant.chars().count())
        .max();
    let name = longest.unwrap_or(0).clamp(8, 24);
    for v in &plan.variants {
        let label = format!("  {}  ", left(&v.variant, name));
        let none = ["no change".to_owned()];
        let changes = match v.changes.is_empty() {
            true => &none[..],
            false => &v.changes,
        };
        for (i, change) in changes.iter().enumerate() {
            let first = match i {
                0 => label.clone(),
                _ => " ".repeat(name + 4),
            };
            screen.wrapped(&first, name + 4, PLAIN, change);
        }
    }
    screen.heading("Boots", "");
    let mut table = Table::new([
        Column::name("variant").at_least(8),
        Column::text("kind"),
        Column::number("boots"),
        Column::number("each"),
        Column::text("estimated from"),
    ]);
    let mut whole = (0, 0.0);
    for row in rows(plan) {
        let known = match row.basis {
            "there" => "already done, if nothing changed",
            "variant" => "this variant in this folder",
            "machine" => "similar boots on this host",
            _ => "a guess",
        };
        let (length, ansi) = match row.basis {
            "there" => (0.0, DIM),
            _ => (row.wall_s, BOLD),
        };
        whole.0 += row.boots;
        whole.1 += length * row.boots as f64;
        table.row([
            cell(row.variant),
            cell(row.kind),
            cell(row.boots),
            cell(seconds(length)).ansi(ansi),
            cell(known).dim(),
        ]);
    }
    table.total([
        cell("total"),
        Cell::default(),
        cell(whole.0),
        Cell::default(),
        cell(format!("{} of machine time", roughly(whole.1))),
    ]);
    table.print(&mut screen);
    screen.finish()
}

/// Boots of one variant that take the same time.
struct Row<'a> {
    variant: &'a str,
    kind: &'static str,
    basis: &'static str,
    boots: usize,
    wall_s: f64,
}

/// The boots, those of one kind together, in the order of the first of each.
fn rows(plan: &LabPlan) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for b in &plan.boots {
        let same = |r: &&mut Row<'_>| (r.variant, r.kind, r.basis) == (&b.variant, b.kind, b.basis);
        match rows.iter_mut().find(same) {
            Some(row) => row.boots += 1,
            None => rows.push(Row {
                variant: &b.variant,
                kind: b.kind,
                basis: b.basis,
                boots: 1,
                wall_s: b.wall_s,
            }),
        }
    }
    rows
}

fn seconds(s: f64) -> String {
    match s {
        s if s <= 0.0 => "0 s".to_owned(),
        s if s < 9.95 => format!("{s:.1} s"),
        s => format!("{s:.0} s"),
    }
}

/// A duration that is an estimate.
fn roughly(s: f64) -> String {
    match s {
        s if s < 1.0 => "under 1 s".to_owned(),
        s if s < 90.0 => format!("about {s:.0} s"),
        s if s < 5400.0 => format!("about {:.0} min", s / 60.0),
        s => format!("about {:.1} h", s / 3600.0),
    }
}
