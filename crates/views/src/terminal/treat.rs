//! Screens of `firstlight treat`.

use crate::terminal::Style;
use crate::terminal::layout::{BOLD, DIM, GOOD, PLAIN, Screen, clean};
use std::fmt::Write;
use std::path::Path;
use treat::FileTreatment;
use treat::files::{KINDS, Kept, Plan};
use treat::shell::undo_command;

/// All treatments.
#[must_use]
pub fn list(style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.heading(
        "Treatments",
        "each is planned, applied and undone by its text",
    );
    for kind in KINDS {
        let line = format!("  {}", screen.paint(GOOD, kind.form));
        screen.line(&line);
        screen.wrapped("", 5, PLAIN, &format!("{}.", kind.what));
        screen.wrapped("     on:", 11, DIM, &kind.targets.join(", "));
        screen.wrapped("     cost:", 11, DIM, kind.risk);
        if !kind.then.is_empty() {
            screen.wrapped("     then:", 11, DIM, kind.then);
        }
    }
    screen.finish()
}

/// What was applied to a target.
#[must_use]
pub fn applied(target: &Path, applied: &[Kept], style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.heading("Applied", &target.display().to_string());
    if applied.is_empty() {
        screen.line("  nothing that can be taken back");
    }
    for kept in applied {
        let paths = clean(&kept.paths.join(", "));
        let line = format!(
            "  {:>4}  {}  {}",
            kept.entry,
            screen.paint(BOLD, &clean(&kept.treatment)),
            screen.paint(DIM, &paths)
        );
        screen.line(&line);
    }
    screen.finish()
}

/// What a treatment would change.
#[must_use]
pub fn plan(treatment: &FileTreatment, target: &Path, plan: &Plan, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if plan.is_empty() {
        screen.line(&already(target, plan, "nothing would change"));
        return screen.finish();
    }
    let about = format!("{treatment} on {}", target.display());
    screen.heading("What would change", &clean(&about));
    for sentence in &plan.sentences {
        screen.wrapped("  ", 4, PLAIN, &format!("{sentence}."));
    }
    screen.blank();
    for line in plan.diff().lines() {
        screen.line(&clean(line));
    }
    screen.blank();
    screen.wrapped("  cost:", 9, PLAIN, treatment.kind().risk);
    if !plan.then.is_empty() {
        screen.wrapped("  then:", 9, PLAIN, &plan.then);
    }
    // On one line, so that it can be copied.
    let undo = undo_command(treatment, target);
    screen.line(&format!("  undo:  {}", clean(&undo)));
    screen.finish()
}

/// What is said where a treatment has nothing to do; what it did not find is told, since a
/// name may be mistyped.
fn already(target: &Path, plan: &Plan, outcome: &str) -> String {
    let shown = target.display();
    let why = plan.sentences.iter().map(|s| format!("{}; ", clean(s)));
    let why: String = why.collect();
    match plan.sentences.is_empty() {
        true => format!("{shown} is treated so already: {outcome}."),
        false => format!("There is nothing to do on {shown}: {why}{outcome}."),
    }
}

/// What a treatment changed; the original bytes are in `side`.
#[must_use]
pub fn apply(treatment: &FileTreatment, target: &Path, plan: &Plan, side: &Path) -> String {
    if plan.is_empty() {
        return already(target, plan, "nothing was changed") + "\n";
    }
    let mut text = String::new();
    for sentence in &plan.sentences {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}.", clean(sentence));
    }
    if !plan.then.is_empty() {
        let _ = writeln!(text, "then: {}", plan.then);
    }
    let _ = writeln!(
        text,
        "undo: {}\nThe original bytes are in {}.",
        clean(&undo_command(treatment, target)),
        side.display()
    );
    text
}

/// What was taken back.
#[must_use]
pub fn undo(undone: &[Kept]) -> String {
    let mut text = String::new();
    for kept in undone {
        let _ = writeln!(
            text,
            "`{}` was undone: {}",
            clean(&kept.treatment),
            clean(&kept.paths.join(", "))
        );
    }
    if undone.is_empty() {
        text.push_str("nothing was applied here, so nothing was changed.\n");
    }
    text
}
