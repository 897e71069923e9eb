//! The comparison of an experiment.

use super::bar::share;
use super::layout::{BAD, BOLD, DIM, GOOD, PLAIN, Screen, WARN, clean, delta, fit, left};
use super::style::Style;
use super::table::{Cell, Column, Table, cell};
use crate::words::{self, chance, counted};
use analysis::{Effect, Experiment, VariantResult, Verdict};
use record::{ClockKind, Nanos};

/// The widest bar, and what stands beside it and the name.
const BAR: usize = 12;
const BESIDE: usize = 58;

/// How many of the last lines of a failed boot are shown; its capture has all.
const LAST_LINES: usize = 8;

/// How much of a digest is enough to distinguish two at a glance.
const DIGEST: usize = 16;

/// Every variant against the baseline, and how much neutral perturbations move it.
#[must_use]
pub fn lab(e: &Experiment, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let clock = match e.clock {
        ClockKind::Virtual => "virtual time",
        _ => "wall time",
    };
    screen.heading(&format!("First light of each variant, in {clock}"), "");
    let longest = e.variants.iter().map(|v| v.variant.chars().count()).max();
    let name = longest.unwrap_or(0).max(8);
    variants(&mut screen, e, name);
    screen.blank();
    screen.wrapped("", 2, DIM, &format!("Clock: {}.", words::clock(e.clock)));
    let explained = explained(e);
    if !explained.is_empty() {
        screen.wrapped("", 2, DIM, &explained);
    }
    outliers(&mut screen, e);
    recording(&mut screen, e);
    failures(&mut screen, e);
    exact(&mut screen, e, name);
    screen.finish()
}

fn is_sampled(e: &Experiment) -> bool {
    e.variants.iter().any(|v| v.sample.is_some())
}

/// The table of variants, the baseline first.
fn variants(screen: &mut Screen, e: &Experiment, name: usize) {
    // In real time, an interval takes the place of the spread and of the bar.
    let beside = match is_sampled(e) {
        true => "95 % interval",
        false => "spread",
    };
    let mut table = Table::new([
        Column::name("variant").at_least(8),
        Column::time("median"),
        Column::time("change"),
        Column::number(beside),
        Column::text("verdict"),
        Column::text(""),
    ]);
    let bar = screen.width().saturating_sub(BESIDE + name).min(BAR);
    let changes = e.variants.iter().filter_map(|v| v.effect);
    let most = changes.map(|e| e.delta.abs()).max().unwrap_or_default();
    for v in &e.variants {
        // With failed boots, the median of the others would look like a result.
        let median = cell(v.median.filter(|_| v.failed == 0));
        let [change, doubt, verdict, beside] = match v.effect {
            Some(effect) => judged(v, effect, most, bar),
            None if v.failed > 0 => said(BAD, &never(v)),
            None if v.variant == e.baseline => baseline(v),
            None => said(WARN, "the baseline never reached first light"),
        };
        table.row([cell(&v.variant), median, change, doubt, verdict, beside]);
    }
    table.print(screen);
}

/// `1 of 3 boots never reached first light`.
fn never(v: &VariantResult) -> String {
    let boots = counted(v.boots, "boot");
    format!("{} of {boots} never reached first light", v.failed)
}

fn said(ansi: super::layout::Ansi, text: &str) -> [Cell; 4] {
    let none = Cell::default;
    [cell(text).ansi(ansi).to_the_end(), none(), none(), none()]
}

fn baseline(v: &VariantResult) -> [Cell; 4] {
    let spread = v.range.map(|(min, max)| max - min).filter(|_| v.boots > 1);
    let spread = match &v.sample {
        Some(s) => cell(format!("{} to {}", s.first_light.low, s.first_light.high)),
        None => cell(spread),
    };
    [
        Cell::default(),
        spread.dim(),
        cell("baseline").ansi(BOLD),
        Cell::default(),
    ]
}

/// The change, how sure it is, the verdict, and its chance or its size.
fn judged(v: &VariantResult, effect: Effect, most: Nanos, bar: usize) -> [Cell; 4] {
    let difference = v.sample.as_ref().and_then(|s| s.difference);
    let doubt = if let Some(d) = difference {
        let (low, high) = d.interval;
        cell(format!("{} to {}", delta(low).trim(), delta(high).trim()))
    } else if effect.unperturbed && effect.spread == Nanos::ZERO {
        cell("unknown")
    } else {
        cell(effect.spread)
    };
    let (ansi, verdict) = match effect.verdict {
        Verdict::Faster => (GOOD, "faster"),
        Verdict::Slower => (BAD, "slower"),
        Verdict::NoDifference => (PLAIN, "not significant"),
    };
    let beside = match difference {
        Some(d) => cell(chance(d.p_value)).dim(),
        None => cell(share(effect.delta.abs(), most, bar)).ansi(ansi),
    };
    [
        cell(delta(effect.delta).trim()).ansi(ansi),
        doubt.dim(),
        cell(verdict).ansi(ansi),
        beside,
    ]
}

/// How a verdict comes about.
fn explained(e: &Experiment) -> String {
    let one_boot = |v: &VariantResult| v.effect.is_some_and(|e| e.unperturbed);
    if is_sampled(e) {
        "The interval is the 95 % confidence interval of the change (for the baseline: of its \
         median). p is the probability of so large a change arising by chance. We call a variant \
         faster or slower if p is at most 0.01, the interval excludes zero and the change is at \
         least 0.5 %."
            .to_owned()
    } else if e.variants.iter().any(one_boot) {
        "With one boot of a variant, the spread under neutral perturbations is unknown and the \
         verdict is only the sign of the change. Run more boots (`--ensemble 5`) to measure the \
         spread."
            .to_owned()
    } else {
        words::spread(e).unwrap_or_default()
    }
}

fn recording(screen: &mut Screen, e: &Experiment) {
    let Some(first) = e.recording.first() else {
        return;
    };
    screen.heading("Recording overhead", &first.asked.join(", "));
    let mut table = Table::new([Column::name("").at_least(8), Column::time("")]);
    for r in &e.recording {
        let cost = match r.cost {
            Some(cost) => cell(delta(cost).trim()),
            None => cell("unknown"),
        };
        table.row([cell(&r.variant), cost]);
    }
    table.print(screen);
}

fn failures(screen: &mut Screen, e: &Experiment) {
    let failed = e
        .trials
        .iter()
        .filter_map(|t| Some((t, t.failure.as_ref()?)));
    for (i, (trial, failure)) in failed.enumerate() {
        if i == 0 {
            screen.heading("Never reached first light", "");
        }
        let label = format!("  {}/{}  ", trial.variant, trial.perturbation);
        screen.wrapped(&label, 4, BAD, &failure.detail);
        let skipped = failure.last_lines.len().saturating_sub(LAST_LINES);
        for line in failure.last_lines.iter().skip(skipped) {
            let line = fit(&clean(line), screen.width().saturating_sub(6));
            let line = screen.paint(DIM, &line);
            screen.line(&format!("      {line}"));
        }
    }
}

fn exact(screen: &mut Screen, e: &Experiment, name: usize) {
    if !e.exact.is_empty() {
        screen.heading("Booted twice", "");
    }
    for pair in &e.exact {
        let digest: String = pair.digests[0].chars().take(DIGEST).collect();
        let (ansi, text) = match &pair.difference {
            None => (GOOD, format!("identical to the byte, digest {digest}...")),
            Some(difference) => (BAD, format!("NOT identical: {difference}")),
        };
        let label = format!("  {}  ", left(&pair.variant, name));
        screen.wrapped(&label, name + 4, ansi, &text);
    }
}

/// Boots in real time that lie far from the others of their variant.
fn outliers(screen: &mut Screen, e: &Experiment) {
    let mut table = Table::new([
        Column::name("variant").at_least(8),
        Column::time("first light"),
        Column::time("from median"),
        Column::text("boot"),
    ]);
    let mut any = false;
    for v in &e.variants {
        for (boot, first_light) in v.sample.iter().flat_map(|s| &s.outliers) {
            any = true;
            table.row([
                cell(&v.variant),
                cell(*first_light),
                cell(delta(*first_light - v.median.unwrap_or_default()).trim()),
                cell(boot.to_string()),
            ]);
        }
    }
    if any {
        screen.heading("Outliers", "they count like all other boots");
    }
    table.print(screen);
}
