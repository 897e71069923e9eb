//! The screens of `firstlight flash env`.

use crate::terminal::Style;
use crate::terminal::layout::{BAD, BOLD, DIM, GOOD, PLAIN, Screen, WARN, clean, left, right};
use crate::words::{counted, size, thousands};
use bootimage::Patch;
use bootimage::environment::{Change, Difference, Environment, Look, Proposal, Proposals};
use record::Nanos;

/// Names of variables are shown in a column of at most so many characters.
const WIDEST: usize = 24;

/// What an environment holds, and what could be better.
#[must_use]
pub fn env(image: &str, look: &Look, style: &Style) -> String {
    let mut screen = Screen::new(style);
    for (environment, proposals) in look.found.environments.iter().zip(&look.proposals) {
        head(&mut screen, image, environment);
        variables(&mut screen, environment);
        better(&mut screen, proposals);
    }
    for barebox in &look.barebox {
        let about = format!(
            "environment of Barebox, {} at {}, {}",
            size(barebox.size),
            place(barebox.offset),
            counted(barebox.files.len(), "file"),
        );
        screen.heading(image, &about);
        screen.blank();
        if !barebox.is_whole {
            screen.wrapped(
                "",
                2,
                BAD,
                "Their checksum is wrong: Barebox does not take them.",
            );
        }
        for (name, bytes) in &barebox.files {
            screen.line(&format!(
                "  {}  {}",
                right(&thousands(*bytes), 9),
                clean(name)
            ));
        }
    }
    if let Some(at) = look.found.gave_up {
        screen.blank();
        let text = format!(
            "The search ended at {}, after much that looked like an environment and was none: \
             give --offset if one lies behind that.",
            place(at)
        );
        screen.wrapped("", 2, WARN, &text);
    }
    screen.finish()
}

/// `byte 8192 (0x2000)`.
fn place(offset: u64) -> String {
    match offset {
        0..10 => format!("byte {offset}"),
        _ => format!("byte {offset} ({offset:#x})"),
    }
}

fn head(screen: &mut Screen, image: &str, environment: &Environment) {
    let Some(active) = environment.active() else {
        return;
    };
    let order = active
        .endian
        .map_or(String::new(), |e| format!(", {e}-endian"));
    let bytes = size(active.size);
    let about = match environment.copies.len() {
        2 => format!("U-Boot environment, two copies of {bytes}{order}"),
        _ if active.header.flags().is_some() => {
            format!(
                "U-Boot environment, one copy of two, {bytes} at {}{order}",
                place(active.offset)
            )
        }
        _ => format!(
            "U-Boot environment, {bytes} at {}{order}",
            place(active.offset)
        ),
    };
    screen.heading(image, &about);
    screen.blank();
    if environment.copies.len() == 2 {
        for (i, copy) in environment.copies.iter().enumerate() {
            let (state, ansi) = match (copy.is_whole(), i == environment.active) {
                (false, _) => ("damaged", BAD),
                (true, true) => ("active", GOOD),
                (true, false) => ("old", DIM),
            };
            let flags = copy.header.flags().unwrap_or(0);
            let line = format!(
                "  {}  {}, flags {flags}",
                screen.paint(ansi, &left(state, 8)),
                place(copy.offset)
            );
            screen.line(&line);
        }
        if let (Some(scheme), true) = (environment.scheme, environment.scheme_is_a_guess) {
            let text = format!(
                "These flags may be meant in two ways, and are taken as a {scheme} number; on \
                 parallel NOR flash say --flags boolean."
            );
            screen.wrapped("", 12, DIM, &text);
        }
    }
    let data = environment.data();
    let count = data.map_or(0, |d| d.variables().len());
    let line = format!(
        "  {}, {} of {} bytes used",
        counted(count, "variable"),
        data.map_or(0, |d| d.used()),
        data.map_or(0, |d| d.bytes().len())
    );
    screen.line(&line);
}

fn variables(screen: &mut Screen, environment: &Environment) {
    let variables = environment.data().map(|d| d.variables());
    let rows: Vec<(String, String)> = variables
        .unwrap_or_default()
        .iter()
        .map(|v| (lossy(&v.name), lossy(&v.value)))
        .collect();
    let widest = rows.iter().map(|(n, _)| n.chars().count()).max();
    let width = widest.unwrap_or(0).min(WIDEST);
    screen.heading("Variables", "");
    for (name, value) in rows {
        row(screen, &name, width, &value);
    }
}

/// A name and what stands beside it; a long name has a line of its own.
fn row(screen: &mut Screen, name: &str, width: usize, value: &str) {
    if name.chars().count() > width {
        screen.line(&format!("  {name}"));
        screen.wrapped("", width + 4, PLAIN, value);
    } else {
        screen.wrapped(&format!("  {}", left(name, width)), width + 4, PLAIN, value);
    }
}

fn lossy(bytes: &[u8]) -> String {
    clean(&String::from_utf8_lossy(bytes))
}

fn better(screen: &mut Screen, proposals: &Proposals) {
    if !proposals.proposals.is_empty() {
        screen.heading("What could be better", "none of it is done by itself");
    }
    for (i, proposal) in proposals.proposals.iter().enumerate() {
        propose(screen, i + 1, proposal);
    }
    if !proposals.notes.is_empty() {
        screen.heading("Worth a look", "");
    }
    for note in &proposals.notes {
        screen.wrapped("", 2, PLAIN, note);
    }
}

fn propose(screen: &mut Screen, number: usize, proposal: &Proposal) {
    let name = lossy(proposal.change.name());
    let saves = proposal.saves_ns.and_then(|ns| i64::try_from(ns).ok());
    let saves = saves.map_or(String::new(), |ns| format!("saves {}", Nanos(ns)));
    let first = format!("{}. {}", right(&number.to_string(), 3), name);
    let room = screen.width().saturating_sub(first.chars().count());
    let line = format!("{}{}", screen.paint(BOLD, &first), right(&saves, room));
    screen.line(&line);
    screen.wrapped("", 5, PLAIN, &sentence(&proposal.why));
    screen.wrapped("     cost:", 11, PLAIN, &proposal.cost);
    let all = proposal.with.iter().chain([&proposal.change]).map(option);
    screen.wrapped("     try:", 11, PLAIN, &all.collect::<Vec<_>>().join(" "));
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    let first = first.map_or(String::new(), String::from);
    let end = if text.ends_with('.') { "" } else { "." };
    // A name of a variable keeps its letters.
    let word = text.split_whitespace().next().unwrap_or_default();
    let is_name = matches!(word, "bootcmd" | "bootdelay" | "verify");
    if is_name {
        format!("{text}{end}")
    } else {
        format!("{first}{}{end}", chars.as_str())
    }
}

/// The option that makes a change, as a shell takes it.
fn option(change: &Change) -> String {
    match change {
        Change::Set(name, value) => {
            format!(
                "--set {}",
                quoted(&format!("{}={}", lossy(name), lossy(value)))
            )
        }
        Change::Unset(name) => format!("--unset {}", quoted(&lossy(name))),
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-=./:,".contains(c);
    if word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Changes of an environment that were made, or would be; `out` is the file that was written.
#[must_use]
pub fn env_changed(image: &str, patch: &Patch, out: Option<&str>, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let about = match out {
        Some(_) => "changed",
        None => "would be changed",
    };
    screen.heading(image, about);
    for sentence in &patch.description {
        screen.wrapped("", 2, PLAIN, &clean(sentence));
    }
    screen.blank();
    match out {
        Some(out) => screen.line(&format!("{out}  written, and read back")),
        None => screen.line("Nothing was written; -o OUT writes it."),
    }
    screen.finish()
}

/// What differs between two environments.
#[must_use]
pub fn env_differences(a: &str, b: &str, all: &[Difference], style: &Style) -> String {
    let mut screen = Screen::new(style);
    let about = match all.len() {
        0 => "the same variables".to_owned(),
        n => format!("{} differ", counted(n, "variable")),
    };
    screen.heading(&format!("{a} and {b}"), &about);
    for difference in all {
        screen.line(&format!(
            "  {}",
            screen.paint(BOLD, &lossy(&difference.name))
        ));
        for (sign, ansi, value) in [
            ("-", BAD, &difference.before),
            ("+", GOOD, &difference.after),
        ] {
            if let Some(value) = value {
                let sign = format!("    {}", screen.paint(ansi, sign));
                let text = lossy(value);
                // The sign may carry colour, so the first line is laid out by hand.
                screen.line(&format!("{sign} {text}"));
            }
        }
    }
    screen.finish()
}
