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

/// How wide an interval is: two durations and a word.
const INTERVAL: usize = 2 * TIME + 4;

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
    // In real time, an interval takes the place of the spread and of the bar.
    let sampled = e.variants.iter().any(|v| v.sample.is_some());
    let (beside, doubt) = match sampled {
        true => ("95 % interval", INTERVAL),
        false => ("spread", TIME),
    };
    let bar = screen.width().saturating_sub(NUMBERS + name).min(BAR);
    let head = format!(
        "  {}  {}  {}  {}  {}",
        left("variant", name),
        right("median", TIME),
        right("change", TIME),
        right(beside, doubt),
        "verdict"
    );
    screen.columns(&head);
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
            let difference = v.sample.as_ref().and_then(|s| s.difference);
            let spread = if let Some(d) = difference {
                let (low, high) = d.interval;
                right(&format!("{} to {}", delta(low), delta(high)), doubt)
            } else if effect.unperturbed && effect.spread == Nanos::ZERO {
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
                match difference {
                    Some(d) => screen.paint(DIM, &chance(d.p_value)),
                    None => screen.paint(
                        ansi,
                        &share(effect.delta.abs(), most.unwrap_or_default(), bar)
                    ),
                }
            );
        } else if v.failed > 0 {
            let text = format!(
                "{} of {} boots never came to first light",
                v.failed, v.boots
            );
            line += &format!("  {}", screen.paint(BAD, &text));
        } else if v.variant == e.baseline {
            let spread = v.range.map(|(min, max)| max - min).filter(|_| v.boots > 1);
            let spread = match &v.sample {
                Some(s) => format!("{} to {}", s.first_light.low, s.first_light.high),
                None => time(spread),
            };
            let spread = screen.paint(DIM, &right(&spread, doubt));
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
    let spread = words::spread(e);
    let text = if sampled {
        "The interval holds the true difference (of the baseline: the true median) in 19 of 20 \
         cases; p is how probable such a difference is by chance. A variant is faster or slower \
         if p is at most 0.01, the interval does not hold zero, and the difference is half a \
         percent at least."
    } else if any_unperturbed {
        "One boot of a variant: how far an innocent change would move it is not known, and the \
         verdict is the bare sign. More boots (`--ensemble 5`) give the spread."
    } else {
        spread.as_deref().unwrap_or_default()
    };
    if !text.is_empty() {
        screen.wrapped("", 2, DIM, text);
    }
    outliers(&mut screen, e, name);
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

/// `p 0.008`, or less than what could be told.
pub(super) fn chance(p: f64) -> String {
    match p < 0.001 {
        true => "p < 0.001".to_owned(),
        false => format!("p = {p:.3}"),
    }
}

/// Boots in real time that lie far from the others of their variant.
fn outliers(screen: &mut Screen, e: &Experiment, name: usize) {
    let far = |v: &analysis::VariantResult| v.sample.iter().any(|s| !s.outliers.is_empty());
    if !e.variants.iter().any(far) {
        return;
    }
    screen.heading(
        "Far from the others of their variant",
        "they count like all others",
    );
    for v in &e.variants {
        for (boot, first_light) in v.sample.iter().flat_map(|s| &s.outliers) {
            let beyond = delta(*first_light - v.median.unwrap_or_default());
            let line = format!(
                "  {}  {}  {beyond}  boot {boot}",
                left(&v.variant, name),
                time(Some(*first_light)),
            );
            screen.line(&line);
        }
    }
}
