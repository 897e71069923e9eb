//! What `lab run` would do.

use super::Style;
use super::layout::{BOLD, DIM, PLAIN, Screen, WARN, clean, left, right};
use crate::LabPlan;
use crate::words::plural;

/// The columns of a boot's kind, of a number of boots, and of a length.
const KIND: usize = 10;
const COUNT: usize = 5;
const LENGTH: usize = 8;

/// The variants with their changes, the boots with their lengths, and the whole.
#[must_use]
pub fn lab_plan(plan: &LabPlan, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let open = plan.boots.iter().filter(|b| b.basis != "there").count();
    let at_once = match plan.jobs.min(open.max(1)) {
        1 => "one after another".to_owned(),
        n => format!("{n} at once"),
    };
    let about = match open {
        0 => "nothing to boot: all is there".to_owned(),
        _ => format!(
            "{open} {}, {at_once}: {} on this host",
            plural(open, "boot"),
            about(plan.wall_s)
        ),
    };
    screen.heading(&format!("Plan of {}", clean(&plan.experiment)), &about);
    screen.line(&format!("  machine  {}", clean(&plan.machine)));
    for text in &plan.before {
        screen.wrapped("  first    ", 11, WARN, text);
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
        let none = ["as it is".to_owned()];
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
    let head = format!(
        "  {}  {}  {}  {}  {}",
        left("variant", name),
        left("kind", KIND),
        right("boots", COUNT),
        right("each", LENGTH),
        "known from"
    );
    screen.columns(&head);
    for row in rows(plan) {
        let known = match row.basis {
            "there" => "done already, if nothing changed",
            "variant" => "this variant in this folder",
            "machine" => "such boots on this host",
            _ => "nothing: a guess",
        };
        let (length, ansi) = match row.basis {
            "there" => ("0 s".to_owned(), DIM),
            _ => (seconds(row.wall_s), BOLD),
        };
        let line = format!(
            "  {}  {}  {}  {}  {}",
            left(row.variant, name),
            left(row.kind, KIND),
            right(&row.boots.to_string(), COUNT),
            screen.paint(ansi, &right(&length, LENGTH)),
            screen.paint(DIM, known)
        );
        screen.line(&line);
    }
    screen.finish()
}

/// Boots of one variant that take equally long.
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
        s if s < 9.95 => format!("{s:.1} s"),
        s => format!("{s:.0} s"),
    }
}

/// A length that is not known to the second.
fn about(s: f64) -> String {
    match s {
        s if s < 1.0 => "no time".to_owned(),
        s if s < 90.0 => format!("about {s:.0} s"),
        s if s < 5400.0 => format!("about {:.0} min", s / 60.0),
        s => format!("about {:.1} h", s / 3600.0),
    }
}
