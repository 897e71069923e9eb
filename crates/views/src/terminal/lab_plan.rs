//! What `lab run` would do.

use super::Style;
use super::layout::{BOLD, DIM, PLAIN, Screen, WARN, clean, left, right};
use crate::LabPlan;
use crate::words::plural;

/// The columns of a boot's kind and length.
const KIND: usize = 10;
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
    let about = format!(
        "{open} {}, {at_once}: {} on this host",
        plural(open, "boot"),
        about(plan.wall_s)
    );
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
    screen.heading("Boots", "in the order of running");
    let head = format!(
        "  {}  {}  {}  {}",
        left("variant", name + 4),
        left("kind", KIND),
        right("takes", LENGTH),
        "known from"
    );
    let head = screen.paint(DIM, &head);
    screen.line(&head);
    for b in &plan.boots {
        let known = match b.basis {
            "there" => "done already, if nothing changed",
            "variant" => "this variant in this folder",
            "machine" => "such boots on this host",
            _ => "nothing: a guess",
        };
        let (length, ansi) = match b.basis {
            "there" => ("0 s".to_owned(), DIM),
            _ => (seconds(b.wall_s), BOLD),
        };
        let which = format!("{}/{}", b.variant, b.perturbation);
        let line = format!(
            "  {}  {}  {}  {}",
            left(&which, name + 4),
            left(b.kind, KIND),
            screen.paint(ansi, &right(&length, LENGTH)),
            screen.paint(DIM, known)
        );
        screen.line(&line);
    }
    screen.finish()
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
