//! Findings, one after another.

use super::Style;
use super::layout::{BOLD, DIM, GOOD, PLAIN, Screen, clean, left};
use super::show::place;
use crate::words::plural;
use analysis::{Advice, Finding};

/// What could be better, the most promising first.
#[must_use]
pub fn advise(advice: &Advice, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let n = advice.findings.len();
    if n == 0 {
        screen.line("Nothing in these sources could be better, as far as is known here.");
    } else {
        let about = format!("{n} {}, the most promising first", plural(n, "finding"));
        screen.heading("What could be better", &about);
        for (i, f) in advice.findings.iter().enumerate() {
            finding(&mut screen, i + 1, f);
        }
        let note = "saves: what is expected, and from the least to the most. Do what comes late in \
                    a boot first: applications and scripts, then the kernel, the boot loader last, \
                    so that measuring stays easy.";
        screen.wrapped("", 2, DIM, note);
    }
    if !advice.silent.is_empty() {
        screen.heading("What was not found", "");
        for s in &advice.silent {
            screen.wrapped("  ", 4, PLAIN, &format!("{}: {}.", s.title, s.why));
        }
    }
    screen.finish()
}

fn finding(screen: &mut Screen, number: usize, f: &Finding) {
    let saving = match f.saving {
        Some(_) => format!("saves {}", f.expected),
        None => String::new(),
    };
    let first = format!(" {number:>2}. ");
    let room = screen
        .width()
        .saturating_sub(first.len() + saving.chars().count() + 2);
    let line = format!(
        "{first}{}  {}",
        screen.paint(BOLD, &left(&f.title, room)),
        screen.paint(GOOD, &saving)
    );
    screen.line(&line);
    screen.wrapped("", 5, PLAIN, &f.why);
    for e in &f.evidence {
        let text = format!("{} ({})", e.text, place(&e.place));
        screen.wrapped("     seen:", 11, DIM, &text);
    }
    let waits = match f.on_critical_path {
        true => "first light waits for it",
        false => "first light may not wait for it",
    };
    let range = f.saving.map_or_else(String::new, |(low, high)| {
        format!("; {low} to {high}, {}", f.model)
    });
    let about = format!("{} confidence, {waits}{range}", f.confidence.as_str());
    screen.wrapped("     sure:", 11, DIM, &about);
    screen.wrapped("     cost:", 11, DIM, &f.cost);
    if let Some(treatment) = &f.treatment {
        let line = format!("     try:  {}", screen.paint(GOOD, &clean(treatment)));
        screen.line(&line);
    }
}
