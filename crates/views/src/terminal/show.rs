//! A boot on one screen.

use super::bar::Scale;
use super::console;
use super::layout::{
    BAD, BOLD, DIM, GOOD, PLAIN, Screen, TIME, WARN, clean, fit, fit_end, left, of_phase,
    of_severity, right, time,
};
use super::{Style, blame, readings};
use crate::words::{self, plural, thousands};
use analysis::{
    BlameKind, Boot, ClockRow, Finding, Ledger, LedgerNote, Phases, Place, SourceBalance,
};
use record::{ClockKind, Nanos, Severity};

const NAME: usize = 15;

/// How many milestones fit the screen of a boot that has very many.
const MILESTONES: usize = 24;

/// A boot: what was lost, first light, phases, milestones, what took longest,
/// what could be better, the ledger.
#[must_use]
pub fn show(boot: &Boot, style: &Style) -> String {
    let mut screen = Screen::new(style);
    data_loss(&mut screen, &boot.ledger);
    headline(&mut screen, boot);
    phases(&mut screen, &boot.phases);
    milestones(&mut screen, &boot.phases);
    longest(&mut screen, boot);
    console::section(&mut screen, boot);
    readings::readings(&mut screen, &boot.readings);
    findings(&mut screen, &boot.findings);
    ledger(&mut screen, &boot.ledger);
    clocks(&mut screen, &boot.clocks);
    sources(&mut screen, &boot.ledger);
    screen.finish()
}

/// What is missing, which stands before all.
pub(super) fn data_loss(screen: &mut Screen, ledger: &Ledger) {
    let notes = &ledger.notes;
    let lost: Vec<&LedgerNote> = notes
        .iter()
        .filter(|n| n.severity == Severity::DataLoss)
        .collect();
    if lost.is_empty() {
        return;
    }
    let title = screen.paint(BAD, "Evidence is missing");
    screen.line(&format!("{title}  the numbers below are what is left"));
    for n in lost {
        note(screen, n);
    }
    screen.blank();
}

fn headline(screen: &mut Screen, boot: &Boot) {
    let phases = &boot.phases;
    match &phases.first_light {
        Some(f) => {
            let time = screen.paint(GOOD, &f.at.to_string());
            let title = screen.paint(BOLD, "First light");
            let line = format!("{title}  {time} after {}", clean(&phases.zero));
            screen.line(&line);
            screen.wrapped("", 13, DIM, &format!("at {}", f.mark));
        }
        None => {
            let title = screen.paint(BOLD, "First light");
            let line = format!(
                "{title}  {}",
                screen.paint(WARN, "nothing in the sources ends the boot")
            );
            screen.line(&line);
            let text = match phases.clock {
                Some(_) => format!("the last event is {} after {}", phases.last, phases.zero),
                None => "nothing in the sources carries a time".to_owned(),
            };
            screen.wrapped("", 13, DIM, &text);
        }
    }
    if let Some(clock) = phases.clock {
        let ansi = if clock == ClockKind::Virtual {
            WARN
        } else {
            DIM
        };
        screen.wrapped("", 13, ansi, words::clock(clock));
    }
    for (what, fact) in [
        ("kernel", &boot.kernel),
        ("machine", &boot.machine),
        ("cmdline", &boot.cmdline),
    ] {
        if let Some(fact) = fact {
            let room = screen.width().saturating_sub(13);
            let line = format!("{}{}", left(what, 13), fit(fact, room));
            screen.columns(&line);
        }
    }
}

fn phases(screen: &mut Screen, phases: &Phases) {
    let (Some(first), Some(last)) = (phases.phases.first(), phases.phases.last()) else {
        return;
    };
    screen.heading("Phases", "");
    let marks = phases.phases.iter().map(|p| p.start_mark.chars().count());
    let marks = marks
        .chain([last.end_mark.chars().count()])
        .max()
        .unwrap_or(0);
    let marks = marks.min(screen.width() / 4);
    let scale = Scale {
        start: first.start,
        end: last.end,
        width: screen
            .width()
            .saturating_sub(2 + NAME + 2 + TIME + 2 + TIME + 2 + 2 + marks),
    };
    let head = format!(
        "  {}  {}  {}  {}  mark",
        left("phase", NAME),
        right("from", TIME),
        right("length", TIME),
        " ".repeat(scale.width)
    );
    screen.columns(&head);
    for p in &phases.phases {
        let line = format!(
            "  {}  {}  {}  {}  {}",
            screen.paint(BOLD, &left(p.name.as_str(), NAME)),
            time(Some(p.start)),
            screen.paint(BOLD, &time(Some(p.end - p.start))),
            screen.paint(of_phase(p.name), &scale.bar(p.start, p.end)),
            screen.paint(DIM, &fit(&p.start_mark, marks))
        );
        screen.line(&line);
        for s in &p.stages {
            let line = format!(
                "    {}  {}  {}  {}",
                left(&s.name, NAME - 2),
                time(Some(s.start)),
                time(Some(s.end - s.start)),
                screen.paint(DIM, &scale.bar(s.start, s.end))
            );
            screen.line(&line);
        }
    }
    let line = format!(
        "  {}  {}  {}  {}  {}",
        left("", NAME),
        time(Some(last.end)),
        right("", TIME),
        " ".repeat(scale.width),
        screen.paint(DIM, &fit(&last.end_mark, marks))
    );
    screen.line(&line);
}

fn milestones(screen: &mut Screen, phases: &Phases) {
    // Those that begin a phase stand in its table already.
    let others = || phases.milestones.iter().filter(|m| !m.begins);
    let total = others().count();
    if total == 0 {
        return;
    }
    let about = if total > MILESTONES {
        format!("the first {MILESTONES} of {total}")
    } else {
        String::new()
    };
    screen.heading("Milestones", &about);
    for m in others().take(MILESTONES) {
        let line = format!(
            "  {}  {}",
            time(Some(m.at)),
            fit(&m.name, screen.width() - 14)
        );
        screen.line(&line);
    }
}

fn longest(screen: &mut Screen, boot: &Boot) {
    for (kind, rows) in &boot.longest {
        let Some(k) = boot.summary.kinds.iter().find(|k| k.kind == *kind) else {
            continue;
        };
        let mut about = format!("{} in all", thousands(k.count as u64));
        if *kind == BlameKind::Process && k.sum > Nanos::ZERO {
            about += &format!("; together on a processor for {}", k.sum);
        } else if k.busy > Nanos::ZERO {
            about += &format!("; at least one ran for {}", k.busy);
        }
        let title = match kind {
            BlameKind::Process => "Busiest processes".to_owned(),
            kind => format!("Longest {}", plural(2, kind.as_str())),
        };
        screen.heading(&title, &about);
        blame::rows(screen, &rows.rows);
    }
    let rows = boot.longest.iter().flat_map(|(_, b)| &b.rows);
    blame::legend(screen, rows);
}

/// How many findings the first screen holds.
const FINDINGS: usize = 5;

fn findings(screen: &mut Screen, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    screen.heading("What could be better", "");
    for (i, f) in findings.iter().take(FINDINGS).enumerate() {
        let saving = saving(f);
        let first = format!("  {}. ", i + 1);
        let room = screen
            .width()
            .saturating_sub(first.len() + saving.chars().count() + 2);
        let title = left(&f.title, room);
        let line = format!(
            "{first}{}  {}",
            screen.paint(BOLD, &title),
            screen.paint(GOOD, &saving)
        );
        screen.line(&line);
        screen.wrapped("", 5, PLAIN, &f.why);
        for e in &f.evidence {
            let text = format!("{} ({})", e.text, place(&e.place));
            screen.wrapped("     seen:", 11, DIM, &text);
        }
        screen.wrapped("     cost:", 11, DIM, &f.cost);
        if let Some(treatment) = &f.treatment {
            let line = format!("     try:  {}", screen.paint(GOOD, &clean(treatment)));
            screen.line(&line);
        }
    }
    if let Some(more) = findings.len().checked_sub(FINDINGS).filter(|n| *n > 0) {
        let text = format!("  and {more} more: `firstlight advise`");
        let line = screen.paint(DIM, &text);
        screen.line(&line);
    }
}

/// `saves up to 736.0 ms`, `saves 500 ms to 736.0 ms`.
fn saving(f: &Finding) -> String {
    match f.saving {
        Some((low, high)) if low == high => format!("saves {high}"),
        Some((low, high)) if low <= Nanos::ZERO => format!("saves up to {high}"),
        Some((low, high)) => format!("saves {low} to {high}"),
        None => String::new(),
    }
}

pub(super) fn place(p: &Place) -> String {
    // The end of a long path tells more than its beginning.
    format!("{} at byte {}", fit_end(&p.source, 40), p.offset)
}

/// What is doubtful or was passed over.
pub(super) fn ledger(screen: &mut Screen, ledger: &Ledger) {
    let notes = ledger.notes.iter();
    let rest: Vec<&LedgerNote> = notes.filter(|n| n.severity != Severity::DataLoss).collect();
    if rest.is_empty() {
        return;
    }
    screen.heading("Ledger", "what is doubtful, and what was passed over");
    for n in rest {
        note(screen, n);
    }
}

fn note(screen: &mut Screen, n: &LedgerNote) {
    let severity = match n.severity {
        Severity::DataLoss => "lost",
        Severity::Doubt => "doubt",
        Severity::Info => "info",
    };
    let first = n.first.as_ref().map_or_else(String::new, place);
    let kind = n.kind.replace('_', " ");
    let room = screen.width().saturating_sub(2 + 5 + 2 + 8 + 2);
    let about = if n.count > 1 && !first.is_empty() {
        format!("{kind}, first in {first}")
    } else if first.is_empty() {
        kind
    } else {
        format!("{kind}, in {first}")
    };
    let line = format!(
        "  {}  {}  {}",
        screen.paint(of_severity(n.severity), &left(severity, 5)),
        right(&thousands(n.count), 8),
        fit(&about, room)
    );
    screen.line(&line);
    if !n.detail.is_empty() {
        screen.wrapped("", 19, PLAIN, &n.detail);
    }
    screen.wrapped("", 19, DIM, &n.advice);
}

/// The clocks, if times had to be moved from one to another.
fn clocks(screen: &mut Screen, clocks: &[ClockRow]) {
    let Some(own) = clocks.iter().find(|c| c.is_boots) else {
        return;
    };
    if clocks.len() < 2 {
        return;
    }
    let about = format!("all times are on {}", clean(&own.name));
    screen.heading("Clocks", &about);
    let width = clocks.iter().map(|c| c.name.chars().count()).max();
    let width = width.unwrap_or(0).min(24);
    for clock in clocks {
        let says = match clock.error {
            _ if clock.is_boots => "the boot's own".to_owned(),
            Some(Nanos::ZERO) => "the same".to_owned(),
            Some(error) => format!("within {error}"),
            None => "not related: its times may be anywhere".to_owned(),
        };
        let line = format!(
            "  {}  {}  {says}",
            left(&fit_end(&clean(&clock.name), width), width),
            left(clock.kind.as_str(), 9)
        );
        let line = fit(&line, screen.width());
        screen.line(&line);
    }
}

/// The balance of every source.
pub(super) fn sources(screen: &mut Screen, ledger: &Ledger) {
    let sources = &ledger.sources;
    if sources.is_empty() {
        return;
    }
    screen.heading("Sources", "every line is an event, or is counted above");
    let widest = |of: fn(&SourceBalance) -> &str| {
        let widths = sources.iter().map(|s| of(s).chars().count());
        widths.max().unwrap_or(0)
    };
    let format = widest(|s| &s.format).clamp(6, 18);
    let name = widest(|s| &s.name).min(screen.width().saturating_sub(2 + 2 + format + 2 + 34));
    for s in sources {
        let line = format!(
            "  {}  {}  {} {}: {} events, {} noted",
            left(&fit_end(&s.name, name), name),
            left(&s.format, format),
            right(&thousands(s.units), 7),
            words::units(&s.format),
            thousands(s.events),
            thousands(s.noted)
        );
        let line = fit(&line, screen.width());
        screen.line(&line);
    }
}
