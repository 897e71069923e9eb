//! A history of boots: where its times changed.

use super::layout::{Ansi, BAD, BOLD, DIM, GOOD, PLAIN, Screen, WARN};
use super::style::Style;
use super::table::{Column, Table, cell};
use crate::words::{self, chance, counted, percent, signed};
use analysis::{Differing, FEWEST, History, HistoryChange, HistoryVerdict};
use record::Nanos;

/// Where the lines below a verdict begin.
const INDENT: usize = 8;

/// The most change points that are listed: the newest.
const CHANGES: usize = 12;

/// The most releases and remarks that are listed: the newest.
const MARKS: usize = 5;

/// How many judged times have a line of their own.
const JUDGED: usize = 5;

/// From so many entries on a gate can compare some with others.
const FOR_A_GATE: usize = 5;

/// How many items explain a change.
const ITEMS: usize = 5;

/// The verdict on a history, with its change points; `input` is its name for the commands
/// that say more, and `notes` are problems of it.
#[must_use]
pub fn history(h: &History, input: &str, notes: &[String], style: &Style) -> String {
    let mut screen = Screen::new(style);
    verdict(&mut screen, h, input);
    explained(&mut screen, h);
    if let HistoryVerdict::CannotTell(_) = h.verdict {
        next(&mut screen, h, input);
    }
    changes(&mut screen, h);
    marks(&mut screen, h);
    for g in &h.groups {
        screen.heading("Two groups of boots", &g.item);
        let text = format!(
            "{} around {} and {} around {}; the slower group begins at {}.",
            counted(g.counts.0, "boot"),
            g.medians.0,
            g.counts.1,
            g.medians.1,
            g.from
        );
        screen.wrapped("", 2, DIM, &text);
        for field in &g.environment {
            screen.wrapped("", 2, WARN, &format!("differs with {field}"));
        }
        items(&mut screen, &g.items, ["faster", "slower"]);
    }
    for d in &h.drifts {
        let label = |at: usize| h.labels.get(at).map_or("", String::as_str);
        screen.heading("Drift", &d.item);
        let text = format!(
            "{} from {} to {}, without a step: no single entry explains it.",
            signed(d.change),
            label(d.entries.0),
            label(d.entries.1)
        );
        screen.wrapped("", 2, WARN, &text);
    }
    if !notes.is_empty() {
        screen.heading("Data quality", "");
        for note in notes {
            screen.wrapped("", 2, WARN, note);
        }
    }
    screen.finish()
}

fn verdict(screen: &mut Screen, h: &History, input: &str) {
    let judged = h.changes.iter().rfind(|c| c.is_judged);
    let (ansi, word, text): (Ansi, &str, String) = match (&h.verdict, judged) {
        (HistoryVerdict::Regressed(at), _) => {
            let text = h.changes.get(*at).map_or(String::new(), since);
            (BAD, "slower", text)
        }
        (HistoryVerdict::Fine, Some(c)) if c.change < Nanos::ZERO => (GOOD, "faster", since(c)),
        (HistoryVerdict::Fine, Some(c)) => {
            (GOOD, "fine", format!("last change point: {}", since(c)))
        }
        (HistoryVerdict::Fine, None) => (GOOD, "fine", "no change point".to_owned()),
        (HistoryVerdict::CannotTell(why), _) => (WARN, "cannot tell", why.clone()),
    };
    let entries = counted(h.labels.len(), "entry");
    let line = format!("{}  {text}", screen.paint(ansi, word));
    screen.line(&line);
    screen.wrapped("", INDENT, DIM, &entries);
    match (&h.verdict, judged) {
        (HistoryVerdict::Regressed(at), _) => {
            if let Some(c) = h.changes.get(*at) {
                sure(screen, h, c, input);
                let text = match is_table(input) {
                    true => {
                        "accept it: --allow SIZE; a store (firstlight history add) keeps reasons, \
                             a table does not"
                            .to_owned()
                    }
                    false => format!(
                        "accept it: firstlight history annotate {input} --entry {} --accept REASON",
                        c.label
                    ),
                };
                screen.wrapped("", INDENT, DIM, &text);
            }
        }
        (HistoryVerdict::Fine, Some(c)) => sure(screen, h, c, input),
        (HistoryVerdict::Fine, None) => {}
        (HistoryVerdict::CannotTell(_), _) => {}
    }
}

/// `first_light  +210.0 ms (+4.10 %) since 4f1c2d9`.
fn since(c: &HistoryChange) -> String {
    format!("{}  {} since {}", c.item, moved(c), c.label)
}

/// How sure a change is, where it is, what changed there, and how to see it.
fn sure(screen: &mut Screen, h: &History, c: &HistoryChange, input: &str) {
    let text = format!(
        "{} -> {}, 95 % confidence interval {} to {}, {}",
        c.medians.0,
        c.medians.1,
        signed(c.interval.0),
        signed(c.interval.1),
        chance(c.p)
    );
    screen.wrapped("", INDENT, DIM, &text);
    if c.kind.is_work() {
        let text = "judged by work: processor time, which a busy order of processes does not move";
        screen.wrapped("", INDENT, DIM, text);
    }
    let label = |at: usize| h.labels.get(at).map_or("", String::as_str);
    if c.range.0 != c.range.1 {
        let text = format!(
            "the change is between {} and {} with 95 % confidence",
            label(c.range.0.saturating_sub(1)),
            label(c.range.1)
        );
        screen.wrapped("", INDENT, DIM, &text);
    }
    if let Some(why) = &c.accepted {
        screen.wrapped("", INDENT, DIM, &format!("accepted: {why}"));
    }
    for field in &c.environment {
        screen.wrapped("", INDENT, WARN, &format!("changed there: {field}"));
    }
    let text = format!("look at it: firstlight history show {input} -o trend.html");
    screen.wrapped("", INDENT, DIM, &text);
}

/// Whether the input of this name is a table: nothing can be added to it.
fn is_table(input: &str) -> bool {
    input.ends_with(".csv") || input.ends_with(".tsv") || input == "-"
}

/// What to do next with a history that is too short.
fn next(screen: &mut Screen, h: &History, input: &str) {
    let judged = h.resolution.iter().max_by_key(|r| r.entries);
    let entries = judged.map_or(0, |r| r.entries);
    if entries >= FEWEST || (entries == 0 && !h.labels.is_empty()) {
        return;
    }
    let more = FEWEST - entries;
    let text = match (is_table(input), entries) {
        (true, _) => format!("add {more} more rows, one for each commit or boot"),
        (false, 0) => {
            format!("add the first boot: firstlight history add {input} BOOT --commit ID")
        }
        (false, _) => format!("add {more} more: firstlight history add {input} BOOT --commit ID"),
    };
    screen.wrapped("", INDENT, PLAIN, &text);
    let name = match judged {
        Some(r) if r.item != "first_light" => r.item.as_str(),
        _ => "first-light",
    };
    let text =
        format!("a limit needs no history: firstlight gate --against BOOT --budget {name}=TIME");
    screen.wrapped("", INDENT, PLAIN, &text);
    if entries >= FOR_A_GATE {
        let text = "boots before and after a change can be compared at once, five of each: \
                    firstlight gate OLD... --against NEW...";
        screen.wrapped("", INDENT, PLAIN, text);
    }
}

/// What can be seen, on which clock, and by which items the last change is explained.
fn explained(screen: &mut Screen, h: &History) {
    for r in h.resolution.iter().take(JUDGED) {
        let text = match (r.visible, r.entries) {
            (Some(visible), entries) => format!(
                "{}: {} since the last change point, median {}, scatter {}; a step of {visible} \
                 is visible within 10 entries, and half of that with four boots an entry",
                r.item,
                counted(entries, "entry"),
                r.level,
                r.scatter,
            ),
            (None, 1) => format!("{}: {} in its only entry", r.item, r.level),
            (None, entries) => format!(
                "{}: median {} of {}, scatter {}; no step is visible with so few",
                r.item,
                r.level,
                counted(entries, "entry"),
                r.scatter,
            ),
        };
        screen.wrapped("", INDENT, DIM, &text);
    }
    if let Some(more) = h.resolution.len().checked_sub(JUDGED).filter(|m| *m > 0) {
        let text = format!("{} more; --json has all of them", counted(more, "time"));
        screen.wrapped("", INDENT, DIM, &text);
    }
    if let Some(clock) = h.clock {
        screen.wrapped("", INDENT, DIM, words::clock(clock));
    }
    let last = match h.verdict {
        HistoryVerdict::Regressed(at) => h.changes.get(at),
        HistoryVerdict::Fine => h.changes.iter().rfind(|c| c.is_judged),
        HistoryVerdict::CannotTell(_) => None,
    };
    if let Some(c) = last.filter(|c| !c.items.is_empty()) {
        screen.heading("Items that changed with it", "");
        items(screen, &c.items, ["before", "after"]);
    }
}

/// `+210.0 ms (+4.10 %)`.
fn moved(c: &HistoryChange) -> String {
    match percent(c.change, c.medians.0) {
        part if part.is_empty() => signed(c.change),
        part => format!("{} ({part})", signed(c.change)),
    }
}

fn items(screen: &mut Screen, items: &[Differing], heads: [&str; 2]) {
    let mut table = Table::new([
        Column::name("").at_least(16),
        Column::text("kind"),
        Column::time(heads[0]),
        Column::time(heads[1]),
        Column::time("change"),
    ]);
    for d in items.iter().take(ITEMS) {
        table.row([
            cell(&d.name),
            cell(d.kind.as_str()).dim(),
            cell(d.before),
            cell(d.after),
            cell(signed(d.delta())),
        ]);
    }
    table.print(screen);
}

fn marks(screen: &mut Screen, h: &History) {
    let total = h.marks.len();
    if total == 0 {
        return;
    }
    let about = match total > MARKS {
        true => format!("the newest {MARKS} of {total}"),
        false => String::new(),
    };
    screen.heading("Releases and remarks", &about);
    let mut table = Table::new([Column::name("entry").at_least(8), Column::text("")]);
    for (at, text) in h.marks.iter().skip(total.saturating_sub(MARKS)) {
        table.row([
            cell(h.labels.get(*at).map_or("", String::as_str)),
            cell(text),
        ]);
    }
    table.print(screen);
}

fn changes(screen: &mut Screen, h: &History) {
    let total = h.changes.len();
    if total == 0 {
        return;
    }
    let about = match total > CHANGES {
        true => format!("the newest {CHANGES} of {total}"),
        false => String::new(),
    };
    screen.heading("Change points", &about);
    let mut table = Table::new([
        Column::name("entry").at_least(8),
        Column::name("").at_least(12),
        Column::time("before"),
        Column::time("after"),
        Column::time("change"),
        Column::number("95 % interval").from_width(96),
        Column::text(""),
    ]);
    for c in h.changes.iter().skip(total.saturating_sub(CHANGES)) {
        let ansi = match c.change > Nanos::ZERO {
            _ if !c.is_judged || c.accepted.is_some() => DIM,
            true => BAD,
            false => GOOD,
        };
        let accepted = c.accepted.as_ref().map(|why| format!("accepted: {why}"));
        table.row([
            cell(&c.label).ansi(if c.is_judged { BOLD } else { DIM }),
            cell(&c.item),
            cell(c.medians.0),
            cell(c.medians.1),
            cell(signed(c.change)).ansi(ansi),
            cell(format!(
                "{} to {}",
                signed(c.interval.0),
                signed(c.interval.1)
            ))
            .dim(),
            cell(accepted.unwrap_or_else(|| chance(c.p))).dim(),
        ]);
    }
    table.print(screen);
}
