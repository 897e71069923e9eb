//! Several boots, and what a change made of them.

use super::lab::chance;
use super::layout::{BAD, BOLD, DIM, GOOD, PLAIN, Screen, WARN, delta};
use super::style::Style;
use super::table::{Cell, Column, Table, cell};
use crate::words::{self, counted};
use analysis::{Boots, BootsChange, BootsTime, Distribution, Gate, Judged, TimeKind, Verdict};
use record::{ClockKind, Nanos};

/// From these widths on, a table has room for an interval and for its chance.
const WITH_INTERVAL: usize = 96;
const WITH_CHANCE: usize = 110;

/// Where the lines below a verdict begin.
const INDENT: usize = 8;

/// How many outliers are named in a row.
const OUTLIERS: usize = 2;

/// How much each time varies from boot to boot, and what moved; `top` limits the items.
#[must_use]
pub fn boots(b: &Boots, top: usize, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let headline = match b.against {
        None => counted(b.boots, "boot"),
        Some(others) => format!("{} against {others}", counted(b.boots, "boot")),
    };
    let headline = screen.paint(BOLD, &headline);
    screen.line(&headline);
    if let Some(clock) = b.clock {
        screen.wrapped("", 2, DIM, words::clock(clock));
    }
    if b.zeros.len() > 1 {
        let zeros: Vec<&str> = b.zeros.iter().map(String::as_str).collect();
        let text = format!(
            "First light is measured from different starting points: {}.",
            zeros.join(", ")
        );
        screen.wrapped("", 2, WARN, &text);
    }
    let times = b.times.iter();
    match b.against {
        None => {
            screen.heading("Times", "");
            alone(&mut screen, times);
            items_alone(&mut screen, &b.items, top);
        }
        Some(_) => {
            screen.heading("Times", "");
            compared(&mut screen, times, b.clock);
            items_compared(&mut screen, b, top);
        }
    }
    screen.blank();
    screen.wrapped("", 2, DIM, explained(b));
    screen.finish()
}

/// Whether a time got slower, and what did; `top` limits the items.
#[must_use]
pub fn gate(g: &Gate, top: usize, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let (ansi, word) = match (g.passed, &g.missing) {
        (true, _) => (GOOD, "passed"),
        (false, None) => (BAD, "slower"),
        (false, Some(_)) => (BAD, "missing"),
    };
    let medians = g.time.base.as_ref().zip(g.time.against.as_ref());
    let moved = match (medians, &g.missing) {
        (_, Some(missing)) => missing.clone(),
        (Some((a, b)), None) => {
            let change = b.median - a.median;
            let percent = match a.median {
                Nanos::ZERO => String::new(),
                whole => {
                    let part = change.get() as f64 / whole.get() as f64;
                    format!(" ({:+.2} %)", 100.0 * part)
                }
            };
            let change = delta(change);
            let (a, b) = (a.median, b.median);
            format!("{}{percent}: {a} -> {b}", change.trim())
        }
        (None, None) => String::new(),
    };
    let line = format!(
        "{}  {}  {moved}",
        screen.paint(ansi, word),
        screen.paint(BOLD, g.time.label()),
    );
    screen.line(&line);
    let (before, after) = g.boots;
    let text = format!(
        "{} against {after}, medians; allowed increase: {}",
        counted(before, "boot"),
        g.allowed
    );
    screen.wrapped("", INDENT, DIM, &text);
    let have = g.time.base.as_ref().map_or(0, |d| d.boots);
    if have < before {
        let text = format!(
            "{} of {} without this metric",
            before - have,
            counted(before, "base boot")
        );
        screen.wrapped("", INDENT, WARN, &text);
    }
    if let Some(Judged::Sample(s)) = g.time.change.map(|c| c.judged) {
        let (low, high) = (delta(s.interval.0), delta(s.interval.1));
        let text = format!(
            "95 % confidence interval {} to {}, {}",
            low.trim(),
            high.trim(),
            chance(s.p_value)
        );
        screen.wrapped("", INDENT, DIM, &text);
        if g.passed && s.interval.1 > g.allowed {
            let text = "warning: with this few boots a regression larger than --allow could go \
                        unnoticed; run more boots";
            screen.wrapped("", INDENT, WARN, text);
        }
    }
    if let Some(clock) = g.clock {
        screen.wrapped("", INDENT, DIM, words::clock(clock));
    }
    let total = g.slower.len();
    if total > 0 {
        let about = match total > top {
            true => format!("the {top} largest increases of {total}"),
            false => String::new(),
        };
        screen.heading("Slower items", &about);
        compared(&mut screen, g.slower.iter().take(top), g.clock);
    }
    screen.finish()
}

fn explained(b: &Boots) -> &'static str {
    match (b.against, b.clock) {
        (None, _) => {
            "MAD is the median absolute deviation: half of the boots are within this distance of \
             the median. An outlier has a modified z-score above 3.5; it counts like all other \
             boots. Milestones are measured from the start of their phase."
        }
        (Some(_), Some(ClockKind::Virtual)) => {
            "A difference is significant if the ranges do not overlap and the medians differ by \
             more than neutral perturbations move such boots (column \"needed\")."
        }
        (Some(_), _) => {
            "The interval is the 95 % confidence interval of the difference of the medians. p is \
             the probability of so large a difference arising by chance (rank test). A \
             difference is significant if p is at most 0.01, the interval excludes zero and the \
             difference is at least 0.5 %. Four boots against four cannot reach that."
        }
    }
}

fn label(t: &BootsTime) -> String {
    match t.kind {
        TimeKind::Milestone => format!("  {}", t.label()),
        _ => t.label().to_owned(),
    }
}

fn alone<'t>(screen: &mut Screen, times: impl Iterator<Item = &'t BootsTime>) {
    let mut table = Table::new([
        Column::name("").at_least(16),
        Column::time("median"),
        Column::time("MAD"),
        Column::time("min"),
        Column::time("max"),
        Column::text("outliers"),
    ]);
    for t in times {
        let Some(d) = &t.base else { continue };
        table.row([
            cell(label(t)),
            cell(d.median),
            cell(format!("\u{b1} {}", d.median_deviation)).dim(),
            cell(d.least),
            cell(d.most),
            cell(outliers(d)).ansi(WARN),
        ]);
    }
    table.print(screen);
}

fn outliers(d: &Distribution) -> String {
    let named = d.outliers.iter().take(OUTLIERS).map(Nanos::to_string);
    let named: Vec<String> = named.collect();
    match d.outliers.len().checked_sub(OUTLIERS) {
        None | Some(0) => named.join(", "),
        Some(more) => format!("{} and {more} more", named.join(", ")),
    }
}

fn items_alone(screen: &mut Screen, items: &[BootsTime], top: usize) {
    let varies = |i: &&BootsTime| i.base.as_ref().is_some_and(|d| d.least < d.most);
    let varying = items.iter().filter(varies);
    let total = varying.clone().count();
    if total == 0 {
        return;
    }
    let about = format!("{} of {total}, the most variable first", total.min(top));
    screen.heading("Items", &about);
    alone(screen, varying.take(top));
}

fn compared<'t>(
    screen: &mut Screen,
    times: impl Iterator<Item = &'t BootsTime>,
    clock: Option<ClockKind>,
) {
    let beside = match clock {
        Some(ClockKind::Virtual) => "needed",
        _ => "95 % interval",
    };
    let mut table = Table::new([
        Column::name("").at_least(16),
        Column::time("base"),
        Column::time("new"),
        Column::time("change"),
        Column::number(beside).from_width(WITH_INTERVAL),
        Column::text("verdict"),
        Column::text("").from_width(WITH_CHANCE),
    ]);
    for t in times {
        let median = |side: &Option<Distribution>| cell(side.as_ref().map(|d| d.median));
        let [delta, interval, verdict, p] = match &t.change {
            Some(c) => change(c),
            None => {
                let only = if t.base.is_none() {
                    cell("new").ansi(BAD)
                } else if t.against.is_none() {
                    cell("gone").ansi(GOOD)
                } else {
                    Cell::default()
                };
                [only, Cell::default(), Cell::default(), Cell::default()]
            }
        };
        table.row([
            cell(label(t)),
            median(&t.base),
            median(&t.against),
            delta,
            interval,
            verdict,
            p,
        ]);
    }
    table.print(screen);
}

/// The change, what it is judged by, the verdict, and its chance.
fn change(c: &BootsChange) -> [Cell; 4] {
    let unperturbed = matches!(&c.judged, Judged::Exact(e) if e.unperturbed);
    let (ansi, verdict) = match c.verdict {
        _ if unperturbed => (DIM, "one boot"),
        Verdict::Faster => (GOOD, "faster"),
        Verdict::Slower => (BAD, "slower"),
        Verdict::NoDifference => (PLAIN, "not significant"),
    };
    let (beside, p) = match &c.judged {
        Judged::Exact(_) if unperturbed => ("unknown".to_owned(), String::new()),
        Judged::Exact(e) => (e.least.to_string(), String::new()),
        Judged::Sample(s) => {
            let (low, high) = (delta(s.interval.0), delta(s.interval.1));
            (
                format!("{} to {}", low.trim(), high.trim()),
                chance(s.p_value),
            )
        }
    };
    [
        cell(delta(c.delta).trim()).ansi(ansi),
        cell(beside).dim(),
        cell(verdict).ansi(ansi),
        cell(p).dim(),
    ]
}

fn items_compared(screen: &mut Screen, b: &Boots, top: usize) {
    let moved = b.items.iter().filter(|i| i.is_apart());
    let total = moved.clone().count();
    if total == 0 {
        return;
    }
    let about = match total > top {
        true => format!("the {top} largest changes of {total} whose ranges do not overlap"),
        false => format!("{total} whose ranges do not overlap"),
    };
    screen.heading("Items", &about);
    compared(screen, moved.take(top), b.clock);
}
