//! A boot on one screen.

use super::bar::Scale;
use super::console;
use super::finding::finding;
use super::layout::{
    BAD, BOLD, DIM, GOOD, PLAIN, Screen, TIME, WARN, clean, fit, left, of_phase, of_severity, right,
};
use super::place::place;
use super::style::Style;
use super::table::{Cell, Column, Table, cell};
use super::{blame, readings, unknown};
use crate::words::{self, plural, thousands};
use analysis::{BlameKind, Boot, ClockRow, Finding, KernelClock, Ledger, LedgerNote, Phases};
use record::{ClockKind, Nanos, Severity};

const NAME: usize = 15;

/// How many milestones fit the screen of a boot that has very many.
const MILESTONES: usize = 24;

/// A boot: what was lost, first light, where nothing is known, phases, milestones, what took longest,
/// findings, the quality of the data.
#[must_use]
pub fn show(boot: &Boot, style: &Style) -> String {
    let mut screen = Screen::new(style);
    data_loss(&mut screen, &boot.ledger);
    headline(&mut screen, boot);
    kernel_clock(&mut screen, boot.kernel_clock.as_ref());
    unknown::unknown(&mut screen, boot);
    phases(&mut screen, &boot.phases);
    milestones(&mut screen, &boot.phases);
    longest(&mut screen, boot);
    console::section(&mut screen, boot);
    readings::readings(&mut screen, &boot.readings);
    findings(&mut screen, &boot.findings);
    quality(&mut screen, &boot.ledger);
    clocks(&mut screen, &boot.clocks);
    inputs(&mut screen, &boot.ledger);
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
    let title = screen.paint(BAD, "Incomplete input");
    screen.line(&format!(
        "{title}  the numbers below cover only what remains"
    ));
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
            screen.wrapped("", 13, DIM, &format!("mark: {}", f.mark));
            if f.uncertain > record::Nanos::ZERO {
                let text = format!(
                    "up to {} later: the line that ends the boot has no timestamp",
                    f.uncertain
                );
                screen.wrapped("", 13, WARN, &text);
            }
        }
        None => {
            let title = screen.paint(BOLD, "First light");
            let line = format!("{title}  {}", screen.paint(WARN, "unknown"));
            screen.line(&line);
            let text = "No input says when the boot ended. Pass --first-light TEXT (such as \
                        `login:`) to say what ends it.";
            screen.wrapped("", 13, PLAIN, text);
            let text = match phases.clock {
                Some(_) => format!("last event: {} after {}", phases.last, phases.zero),
                None => "no input has timestamps".to_owned(),
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
        screen.wrapped("", 13, ansi, words::clock_of(boot).unwrap_or_default());
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

/// The time before the kernel's clock, and how exactly it is known.
fn kernel_clock(screen: &mut Screen, known: Option<&KernelClock>) {
    let Some(k) = known else { return };
    let text = format!(
        "The kernel log starts {} after the hardware counter, within {}. Lines with the \
         timestamp 0.000000 are earlier.",
        k.after,
        k.most - k.after
    );
    screen.wrapped(&left("log starts", 13), 13, PLAIN, &text);
    let text = match k.entry_least == k.entry_most {
        true => format!("The kernel was entered at {}.", k.entry_most),
        false => format!(
            "The kernel was entered between {} ({}) and {}.",
            k.entry_least,
            clean(&k.entry_after),
            k.entry_most
        ),
    };
    screen.wrapped("", 13, DIM, &text);
}

fn phases(screen: &mut Screen, phases: &Phases) {
    let (Some(first), Some(last)) = (phases.phases.first(), phases.phases.last()) else {
        return;
    };
    screen.heading("Phases", "");
    let marks = phases.phases.iter().map(|p| p.start_mark.chars().count());
    let marks = marks
        .chain([last.end_mark.chars().count() + 3])
        .max()
        .unwrap_or(0);
    let marks = marks.min(screen.width() / 4);
    let names = phases.phases.iter().map(|p| p.name.as_str().len());
    let name = names.max().unwrap_or(0).max(NAME);
    let scale = Scale {
        start: first.start,
        end: last.end,
        width: screen
            .width()
            .saturating_sub(2 + name + 2 + TIME + 2 + TIME + 2 + 2 + marks),
    };
    let mut table = Table::new([
        Column::text("phase").at_least(NAME),
        Column::time("start"),
        Column::time("duration"),
        Column::text(""),
        Column::name("starts at"),
    ]);
    for p in &phases.phases {
        table.row([
            cell(p.name.as_str()).bold(),
            cell(p.start),
            cell(p.end - p.start).bold(),
            cell(scale.bar(p.start, p.end)).ansi(of_phase(p.name)),
            cell(fit(&p.start_mark, marks)).dim(),
        ]);
        for s in &p.stages {
            table.row([
                cell(format!("  {}", fit(&s.name, NAME - 2))),
                cell(s.start),
                cell(s.end - s.start),
                cell(scale.bar(s.start, s.end)).dim(),
                Cell::default(),
            ]);
        }
    }
    table.row([
        cell("total").bold(),
        Cell::default(),
        cell(last.end - first.start).bold(),
        Cell::default(),
        cell(fit(&format!("to {}", last.end_mark), marks)).dim(),
    ]);
    table.print(screen);
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
    let mut table = Table::new([Column::time(""), Column::name("")]);
    for m in others().take(MILESTONES) {
        table.row([cell(m.at), cell(&m.name)]);
    }
    table.print(screen);
}

fn longest(screen: &mut Screen, boot: &Boot) {
    for (kind, rows) in &boot.longest {
        let Some(k) = boot.summary.kinds.iter().find(|k| k.kind == *kind) else {
            continue;
        };
        let mut about = format!("{} in all", thousands(k.count as u64));
        if *kind == BlameKind::Process && k.sum > Nanos::ZERO {
            about += &format!(", {} of CPU time", k.sum);
        } else if k.busy > Nanos::ZERO {
            about += &format!("; {} with overlaps counted once", k.busy);
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
    let total = findings.len();
    let about = match total > FINDINGS {
        true => format!("{FINDINGS} of {total}; `firstlight advise` lists all"),
        false => String::new(),
    };
    screen.heading("What to change", &about);
    for (i, f) in findings.iter().take(FINDINGS).enumerate() {
        finding(screen, i + 1, f, &saving(f), None);
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

/// What is uncertain or was skipped.
pub(super) fn quality(screen: &mut Screen, ledger: &Ledger) {
    let notes = ledger.notes.iter();
    let rest: Vec<&LedgerNote> = notes.filter(|n| n.severity != Severity::DataLoss).collect();
    if rest.is_empty() {
        return;
    }
    screen.heading("Data quality", "what is uncertain and what was skipped");
    for n in rest {
        note(screen, n);
    }
}

fn note(screen: &mut Screen, n: &LedgerNote) {
    let severity = match n.severity {
        Severity::DataLoss => "loss",
        Severity::Doubt => "warning",
        Severity::Info => "info",
    };
    let kind = n.kind.replace('_', " ");
    let room = screen.width().saturating_sub(2 + 7 + 2 + 8 + 2);
    let about = match &n.first {
        Some(first) if n.count > 1 => format!("{kind} (first: {})", place(first)),
        Some(first) => format!("{kind} ({})", place(first)),
        None => kind,
    };
    let line = format!(
        "  {}  {}  {}",
        screen.paint(of_severity(n.severity), &left(severity, 7)),
        right(&thousands(n.count), 8),
        fit(&about, room)
    );
    screen.line(&line);
    if !n.detail.is_empty() {
        screen.wrapped("", 21, PLAIN, &n.detail);
    }
    screen.wrapped("", 21, DIM, &n.advice);
}

/// The clocks, if times had to be moved from one to another.
fn clocks(screen: &mut Screen, clocks: &[ClockRow]) {
    let Some(own) = clocks.iter().find(|c| c.is_boots) else {
        return;
    };
    if clocks.len() < 2 {
        return;
    }
    let about = format!("all times are on the clock {}", clean(&own.name));
    screen.heading("Clocks", &about);
    let mut table = Table::new([
        Column::path("clock"),
        Column::text("kind"),
        Column::text("alignment"),
    ]);
    for clock in clocks {
        let says = match clock.error {
            _ if clock.is_boots => "reference".to_owned(),
            Some(Nanos::ZERO) => "exact".to_owned(),
            Some(error) => format!("within {error}"),
            None => "not aligned: its offset is unknown".to_owned(),
        };
        table.row([cell(&clock.name), cell(clock.kind.as_str()), cell(says)]);
    }
    table.print(screen);
}

/// The balance of every input.
pub(super) fn inputs(screen: &mut Screen, ledger: &Ledger) {
    let sources = &ledger.sources;
    if sources.is_empty() {
        return;
    }
    screen.heading(
        "Inputs",
        "every line was either parsed or is accounted for above",
    );
    let mut table = Table::new([
        Column::path("input"),
        Column::text("format"),
        Column::number("read"),
        Column::number("events"),
        Column::number("noted"),
    ]);
    for s in sources {
        table.row([
            cell(&s.name),
            cell(&s.format),
            cell(format!(
                "{} {}",
                thousands(s.units),
                words::units(&s.format)
            )),
            cell(s.events),
            cell(s.noted),
        ]);
    }
    table.print(screen);
}
