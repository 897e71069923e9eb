//! Several boots, and what a change made of them.

use super::Style;
use super::lab::chance;
use super::layout::{BAD, BOLD, DIM, GOOD, PLAIN, Screen, TIME, WARN, delta, left, right, time};
use crate::words::{self, plural};
use analysis::{Boots, BootsChange, BootsTime, Distribution, Gate, Judged, TimeKind, Verdict};
use record::{ClockKind, Nanos};

/// How wide an interval is: two durations and a word.
const INTERVAL: usize = 2 * TIME + 4;

const VERDICT: usize = 13;

/// `p < 0.001`.
const CHANCE: usize = 9;

/// How many odd boots are named in a row.
const ODD: usize = 2;

/// How much each time varies from boot to boot, and what moved; `top` limits the items.
#[must_use]
pub fn boots(b: &Boots, top: usize, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let count = |n: usize| format!("{n} {}", plural(n, "boot"));
    let headline = match b.against {
        None => count(b.boots),
        Some(others) => format!("{} against {others}", count(b.boots)),
    };
    let headline = screen.paint(BOLD, &headline);
    screen.line(&headline);
    if let Some(clock) = b.clock {
        screen.wrapped("", 2, DIM, words::clock(clock));
    }
    if b.zeros.len() > 1 {
        let zeros: Vec<&str> = b.zeros.iter().map(String::as_str).collect();
        let text = format!(
            "first light is told from different zeros: {}",
            zeros.join(", ")
        );
        screen.wrapped("", 2, WARN, &text);
    }
    match b.against {
        None => {
            heading(&mut screen, "Times", "");
            b.times.iter().for_each(|t| alone(&mut screen, t));
            items_alone(&mut screen, &b.items, top);
        }
        Some(_) => {
            compared_heading(&mut screen, "Times", "", b.clock);
            b.times.iter().for_each(|t| compared(&mut screen, t));
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
        screen.paint(BOLD, &label(&g.time)),
    );
    screen.line(&line);
    let (before, after) = g.boots;
    let count = plural(before, "boot");
    let text = format!(
        "{before} {count} against {after}; up to {} slower is fine",
        g.allowed
    );
    screen.wrapped("", 8, DIM, &text);
    let have = g.time.base.as_ref().map_or(0, |d| d.boots);
    if have < before {
        let text = format!("{} of the {before} boots before have it not", before - have);
        screen.wrapped("", 8, WARN, &text);
    }
    if let Some(Judged::Sample(s)) = g.time.change.map(|c| c.judged) {
        let (low, high) = (delta(s.interval.0), delta(s.interval.1));
        let text = format!(
            "the difference is {} to {} in 19 of 20 cases, {}",
            low.trim(),
            high.trim(),
            chance(s.p_value)
        );
        screen.wrapped("", 8, DIM, &text);
        if g.passed && s.interval.1 > g.allowed {
            let text = "more than is allowed would not be seen for sure: more boots tell";
            screen.wrapped("", 8, WARN, text);
        }
    }
    if let Some(clock) = g.clock {
        screen.wrapped("", 8, DIM, words::clock(clock));
    }
    let total = g.slower.len();
    if total > 0 {
        let about = match total > top {
            true => format!("the {top} that grew most of {total}"),
            false => String::new(),
        };
        compared_heading(&mut screen, "What takes longer", &about, g.clock);
        let shown = g.slower.iter().take(top);
        shown.for_each(|i| compared(&mut screen, i));
    }
    screen.finish()
}

fn explained(b: &Boots) -> &'static str {
    match (b.against, b.clock) {
        (None, _) => {
            "Typically: half of the boots lie within this distance of the median. Odd boots lie \
             further from it than three and a half times what the middle half suggests; they \
             count like all others. A milestone is told from the start of its phase."
        }
        (Some(_), Some(ClockKind::Virtual)) => {
            "A difference counts if the ranges do not overlap and the medians are further apart \
             than innocent changes move such boots."
        }
        (Some(_), _) => {
            "The interval holds the true difference of the medians in 19 of 20 cases; p is how \
             probable so uneven ranks are by chance. A difference counts if p is at most 0.01, \
             the interval does not hold zero, and it is half a percent at least. Four boots \
             against four cannot reach that."
        }
    }
}

/// What a screen's width has room for beside the names.
struct Columns {
    name: usize,
    interval: bool,
    chance: bool,
}

impl Columns {
    fn of(screen: &Screen) -> Self {
        let (interval, chance) = (screen.width() >= 96, screen.width() >= 110);
        let column = |shown: bool, width: usize| if shown { 2 + width } else { 0 };
        let beside = 2 + 3 * (2 + TIME) + column(true, VERDICT);
        let beside = beside + column(interval, INTERVAL) + column(chance, CHANCE);
        Self {
            name: screen.width().saturating_sub(beside).clamp(16, 40),
            interval,
            chance,
        }
    }
}

/// The width of a name beside four times and an odd one.
fn name_alone(screen: &Screen) -> usize {
    let beside = 2 + 4 * (2 + TIME) + 2 + TIME + 5;
    screen.width().saturating_sub(beside).clamp(16, 32)
}

fn heading(screen: &mut Screen, title: &str, about: &str) {
    screen.heading(title, about);
    let columns = ["median", "typically", "least", "most"].map(|c| right(c, TIME));
    let name = left("", name_alone(screen));
    screen.columns(&format!("  {name}  {}", columns.join("  ")));
}

fn label(t: &BootsTime) -> String {
    match t.kind {
        TimeKind::Milestone => format!("... {}", t.label()),
        _ => t.label().to_owned(),
    }
}

fn alone(screen: &mut Screen, t: &BootsTime) {
    let Some(d) = &t.base else { return };
    let line = format!(
        "  {}  {}  {}  {}  {}  {}",
        left(&label(t), name_alone(screen)),
        time(Some(d.median)),
        screen.paint(DIM, &right(&format!("\u{b1} {}", d.median_deviation), TIME)),
        time(Some(d.least)),
        time(Some(d.most)),
        screen.paint(WARN, &odd(d))
    );
    screen.line(&line);
}

fn odd(d: &Distribution) -> String {
    let named = d.outliers.iter().take(ODD).map(Nanos::to_string);
    let named: Vec<String> = named.collect();
    match d.outliers.len() {
        0 => String::new(),
        n if n > ODD => format!("odd: {} and {} more", named.join(", "), n - ODD),
        _ => format!("odd: {}", named.join(", ")),
    }
}

fn items_alone(screen: &mut Screen, items: &[BootsTime], top: usize) {
    let varies = |i: &&BootsTime| i.base.as_ref().is_some_and(|d| d.least < d.most);
    let varying = items.iter().filter(varies);
    let total = varying.clone().count();
    if total == 0 {
        return;
    }
    let about = format!("the {} that vary most of {total}", total.min(top));
    heading(screen, "Items", &about);
    varying.take(top).for_each(|i| alone(screen, i));
}

fn compared_heading(screen: &mut Screen, title: &str, about: &str, clock: Option<ClockKind>) {
    screen.heading(title, about);
    let columns = Columns::of(screen);
    let name = left("", columns.name);
    let mut line = format!("  {name}");
    for column in ["first", "second", "change"] {
        line += &format!("  {}", right(column, TIME));
    }
    if columns.interval {
        let beside = match clock {
            Some(ClockKind::Virtual) => "counts from",
            _ => "95 % interval",
        };
        line += &format!("  {}", right(beside, INTERVAL));
    }
    screen.columns(&format!("{line}  verdict"));
}

fn compared(screen: &mut Screen, t: &BootsTime) {
    let columns = Columns::of(screen);
    let median = |side: &Option<Distribution>| time(side.as_ref().map(|d| d.median));
    let mut line = format!(
        "  {}  {}  {}",
        left(&label(t), columns.name),
        median(&t.base),
        median(&t.against)
    );
    line += &match &t.change {
        None if t.base.is_none() => format!("  {}", screen.paint(BAD, &right("new", TIME))),
        None if t.against.is_none() => format!("  {}", screen.paint(GOOD, &right("gone", TIME))),
        None => String::new(),
        Some(c) => change(screen, c, &columns),
    };
    screen.line(&line);
}

fn change(screen: &Screen, c: &BootsChange, columns: &Columns) -> String {
    let unperturbed = matches!(&c.judged, Judged::Exact(e) if e.unperturbed);
    let (ansi, verdict) = match c.verdict {
        _ if unperturbed => (DIM, "one boot"),
        Verdict::Faster => (GOOD, "faster"),
        Verdict::Slower => (BAD, "slower"),
        Verdict::NoDifference => (PLAIN, "no difference"),
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
    let mut line = format!("  {}", screen.paint(ansi, &delta(c.delta)));
    if columns.interval {
        line += &format!("  {}", screen.paint(DIM, &right(&beside, INTERVAL)));
    }
    line += &format!("  {}", screen.paint(ansi, &left(verdict, VERDICT)));
    if columns.chance {
        line += &format!("  {}", screen.paint(DIM, &p));
    }
    line
}

fn items_compared(screen: &mut Screen, b: &Boots, top: usize) {
    let moved = b.items.iter().filter(|i| i.is_apart());
    let total = moved.clone().count();
    if total == 0 {
        return;
    }
    let about = match total > top {
        true => format!("the {top} that moved most of {total} whose ranges are apart"),
        false => format!("{total} whose ranges are apart"),
    };
    compared_heading(screen, "Items", &about, b.clock);
    moved.take(top).for_each(|i| compared(screen, i));
}
