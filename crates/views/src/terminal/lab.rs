//! The comparison of an experiment.

use super::Style;
use super::bar::share;
use super::layout::{
    BAD, BOLD, DIM, GOOD, PLAIN, Screen, TIME, WARN, clean, delta, fit, left, right, time,
};
use crate::words;
use analysis::{Experiment, Verdict};
use record::{ClockKind, Nanos};

const BAR: usize = 12;

/// The columns beside the name and the bar, with the gaps between them.
const NUMBERS: usize = 2 + 3 * (2 + TIME) + 2 + VERDICT + 2;
const VERDICT: usize = 13;

/// How many of the last lines of a failed boot are shown; its capture has all.
const LAST_LINES: usize = 8;

/// How much of a digest is enough to tell two apart at a glance.
const DIGEST: usize = 16;

/// Every variant against the baseline, with what innocent changes alone do.
#[must_use]
pub fn lab(e: &Experiment, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let clock = match e.clock {
        ClockKind::Virtual => "virtual time",
        _ => "wall time",
    };
    screen.heading(&format!("First light of each variant, in {clock}"), "");
    let longest = e.variants.iter().map(|v| v.variant.chars().count()).max();
    let name = longest
        .unwrap_or(0)
        .clamp(8, screen.width().saturating_sub(60).max(12));
    let bar = screen.width().saturating_sub(NUMBERS + name).min(BAR);
    let head = format!(
        "  {}  {}  {}  {}  {}",
        left("variant", name),
        right("median", TIME),
        right("change", TIME),
        right("spread", TIME),
        "verdict"
    );
    let head = screen.paint(DIM, &head);
    screen.line(&head);
    let most = e
        .variants
        .iter()
        .filter_map(|v| v.effect)
        .map(|e| e.delta.abs())
        .max();
    let mut any_unperturbed = false;
    for v in &e.variants {
        // With failed boots, the median of the others would look like a result.
        let mut line = format!(
            "  {}  {}",
            left(&v.variant, name),
            time(v.median.filter(|_| v.failed == 0))
        );
        if let Some(effect) = v.effect {
            any_unperturbed |= effect.unperturbed;
            let spread = if effect.unperturbed && effect.spread == Nanos::ZERO {
                right("unknown", TIME)
            } else {
                time(Some(effect.spread))
            };
            let (ansi, verdict) = match effect.verdict {
                Verdict::Faster => (GOOD, "faster"),
                Verdict::Slower => (BAD, "slower"),
                Verdict::NoDifference => (PLAIN, "no difference"),
            };
            line += &format!(
                "  {}  {}  {}  {}",
                screen.paint(ansi, &delta(effect.delta)),
                screen.paint(DIM, &spread),
                screen.paint(ansi, &left(verdict, VERDICT)),
                screen.paint(
                    ansi,
                    &share(effect.delta.abs(), most.unwrap_or_default(), bar)
                )
            );
        } else if v.failed > 0 {
            let text = format!(
                "{} of {} boots never came to first light",
                v.failed, v.boots
            );
            line += &format!("  {}", screen.paint(BAD, &text));
        } else if v.variant == e.baseline {
            let spread = v.range.map(|(min, max)| max - min).filter(|_| v.boots > 1);
            let spread = screen.paint(DIM, &time(spread));
            line += &format!(
                "  {}  {spread}  {}",
                right("", TIME),
                screen.paint(BOLD, "baseline")
            );
        } else {
            line += &format!(
                "  {}",
                screen.paint(WARN, "the baseline did not come to first light")
            );
        }
        screen.line(&line);
    }
    screen.blank();
    screen.wrapped("", 2, DIM, &format!("Times are {}.", words::clock(e.clock)));
    let text = if any_unperturbed {
        "One boot of a variant: how far an innocent change would move it is not known, and the \
         verdict is the bare sign. More boots (`--ensemble 5`) give the spread."
    } else {
        "Spread: how far innocent changes alone, such as an unused word on the command line, move \
         first light. A variant is faster or slower only outside of it."
    };
    screen.wrapped("", 2, DIM, text);
    if !e.recording.is_empty() {
        let asked = e.recording.first().map(|r| r.asked.join(", "));
        screen.heading("What recording costs", &asked.unwrap_or_default());
    }
    for r in &e.recording {
        let cost = match r.cost {
            Some(cost) => delta(cost),
            None => right("unknown", TIME),
        };
        let line = format!("  {}  {cost}", left(&r.variant, name));
        screen.line(&line);
    }
    let failed = || {
        let trials = e.trials.iter();
        trials.filter_map(|t| Some((t, t.failure.as_ref()?)))
    };
    if failed().next().is_some() {
        screen.heading("Never came to first light", "");
    }
    for (trial, failure) in failed() {
        let label = format!("  {}/{}  ", trial.variant, trial.perturbation);
        screen.wrapped(&label, 4, BAD, &failure.detail);
        let skipped = failure.last_lines.len().saturating_sub(LAST_LINES);
        for line in failure.last_lines.iter().skip(skipped) {
            let line = fit(&clean(line), screen.width().saturating_sub(6));
            let line = screen.paint(DIM, &line);
            screen.line(&format!("      {line}"));
        }
    }
    if !e.exact.is_empty() {
        screen.heading("Booted a second time", "");
    }
    for pair in &e.exact {
        let digest: String = pair.digests[0].chars().take(DIGEST).collect();
        let (ansi, text) = match &pair.difference {
            None => (GOOD, format!("the same to the byte, digest {digest}...")),
            Some(difference) => (BAD, format!("NOT the same: {difference}")),
        };
        let label = format!("  {}  ", left(&pair.variant, name));
        screen.wrapped(&label, name + 4, ansi, &text);
    }
    screen.finish()
}
