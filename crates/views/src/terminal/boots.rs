//! Several boots, and what a change made of them.

use super::layout::{Ansi, BAD, BOLD, DIM, GOOD, PLAIN, Screen, WARN, delta};
use super::style::Style;
use super::table::{Cell, Column, Table, cell};
use crate::words::{self, chance, counted};
use analysis::{
    Boots, BootsChange, BootsTime, BudgetVerdict, Budgeted, Distribution, Gate, GateCompared,
    GateVerdict, Judged, TimeKind, Verdict,
};
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
    match &g.compared {
        Some(compared) => gate_compared(&mut screen, g, compared),
        None => {
            let (ansi, word) = gate_word(g.verdict);
            let line = format!("{}  budgets", screen.paint(ansi, word));
            screen.line(&line);
            let text = match g.boots {
                (0, new) => format!("{}, nothing to compare with", counted(new, "boot")),
                _ => "the base boots have no first-light time; only budgets were checked".into(),
            };
            screen.wrapped("", INDENT, DIM, &text);
        }
    }
    if let Some(clock) = g.clock {
        screen.wrapped("", INDENT, DIM, words::clock(clock));
    }
    if !g.budgets.is_empty() {
        screen.heading("Budgets", "");
        gate_budgets(&mut screen, &g.budgets);
    }
    for parts in g.work.iter().chain(&g.waits) {
        let total = parts.items.len();
        if total == 0 {
            continue;
        }
        let about = match total > top {
            true => format!("the {top} largest changes of {total}"),
            false => String::new(),
        };
        screen.heading(&format!("Changed {}", parts.part.as_str()), &about);
        compared(&mut screen, parts.items.iter().take(top), g.clock);
    }
    for (title, what, items) in [
        ("Slower items", "increases", &g.slower),
        ("Faster items", "decreases", &g.faster),
    ] {
        let total = items.len();
        if total == 0 {
            continue;
        }
        let about = match total > top {
            true => format!("the {top} largest {what} of {total}"),
            false => String::new(),
        };
        screen.heading(title, &about);
        compared(&mut screen, items.iter().take(top), g.clock);
    }
    screen.finish()
}

const fn gate_word(verdict: GateVerdict) -> (Ansi, &'static str) {
    match verdict {
        GateVerdict::Passed => (GOOD, "passed"),
        GateVerdict::CannotTell => (WARN, "cannot tell"),
        GateVerdict::OverBudget => (BAD, "over budget"),
        GateVerdict::Missing => (BAD, "missing"),
        GateVerdict::Slower => (BAD, "slower"),
    }
}

fn gate_compared(screen: &mut Screen, g: &Gate, c: &GateCompared) {
    let mut parts = g.work.iter().chain(&g.waits);
    let is_slower = parts.any(|p| p.verdict == GateVerdict::Slower);
    let (ansi, word) = match c.verdict {
        GateVerdict::Passed if g.verdict != GateVerdict::Passed => gate_word(g.verdict),
        GateVerdict::CannotTell if is_slower => gate_word(GateVerdict::Slower),
        verdict => gate_word(verdict),
    };
    let line = format!(
        "{}  {}  {}",
        screen.paint(ansi, word),
        screen.paint(BOLD, c.time.label()),
        words::gate_moved(c),
    );
    screen.line(&line);
    for parts in g.work.iter().chain(&g.waits) {
        let ansi = match parts.verdict {
            GateVerdict::Slower => BAD,
            _ => DIM,
        };
        screen.wrapped("", INDENT, ansi, &words::gate_parts(parts));
    }
    let (before, after) = g.boots;
    let text = format!(
        "{} against {after}, medians; allowed increase: {}",
        counted(before, "boot"),
        c.allowed
    );
    screen.wrapped("", INDENT, DIM, &text);
    if let Some(reason) = &g.reason {
        let ansi = if c.verdict == GateVerdict::Missing {
            BAD
        } else {
            WARN
        };
        screen.wrapped("", INDENT, ansi, reason);
    }
    if c.gained {
        screen.wrapped("", INDENT, GOOD, "faster by more than the allowed increase");
    }
    let have = c.time.base.as_ref().map_or(0, |d| d.boots);
    if have < before {
        let text = format!(
            "{} of {} without this metric",
            before - have,
            counted(before, "base boot")
        );
        screen.wrapped("", INDENT, WARN, &text);
    }
    if let Some(Judged::Sample(s)) = c.time.change.map(|c| c.judged) {
        let (low, high) = (delta(s.interval.0), delta(s.interval.1));
        let text = format!(
            "95 % confidence interval {} to {}, {}",
            low.trim(),
            high.trim(),
            chance(s.p_value)
        );
        screen.wrapped("", INDENT, DIM, &text);
        if c.verdict == GateVerdict::Passed && s.interval.1 > c.allowed {
            let text = "warning: with this few boots a regression larger than --allow could go \
                        unnoticed; run more boots";
            screen.wrapped("", INDENT, WARN, text);
        }
    }
    let is_sample = matches!(c.time.change.map(|c| c.judged), Some(Judged::Sample(_)));
    let text = match c.resolution {
        Some(Nanos::ZERO) => "resolution: these boots show any slowdown".to_owned(),
        Some(least) if is_sample => format!(
            "resolution: these boots show a slowdown of {least} or more, and four times as many \
             show about half of that"
        ),
        Some(least) => format!("resolution: these boots show a slowdown of {least} or more"),
        None => "resolution: unknown with so few boots".to_owned(),
    };
    screen.wrapped("", INDENT, DIM, &text);
    if g.verdict != GateVerdict::Passed {
        let text = "look at it: firstlight boots BASE... --against NEW...";
        screen.wrapped("", INDENT, DIM, text);
    }
}

fn gate_budgets(screen: &mut Screen, budgets: &[Budgeted]) {
    let mut table = Table::new([
        Column::name("").at_least(16),
        Column::time("budget"),
        Column::time("median"),
        Column::number("range"),
        Column::text("verdict"),
    ]);
    for b in budgets {
        let (ansi, word) = match b.verdict {
            BudgetVerdict::Within => (GOOD, "within"),
            BudgetVerdict::Over => (BAD, "over"),
            BudgetVerdict::Missing => (BAD, "missing"),
            BudgetVerdict::CannotTell => (WARN, "cannot tell"),
        };
        let range = b.range.map(|(low, high)| format!("{low} to {high}"));
        table.row([
            cell(&b.budget.name),
            cell(b.budget.limit),
            cell(b.median),
            cell(range.unwrap_or_default()).dim(),
            cell(word).ansi(ansi),
        ]);
    }
    table.print(screen);
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
