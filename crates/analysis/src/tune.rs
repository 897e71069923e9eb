//! A question of the search for the best set of treatments: is a boot as healthy as the
//! one before.

use crate::phases::Phases;
use crate::spans;
use record::{Record, SpanKind};
use std::collections::BTreeSet;

/// Something that must not break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// What was looked at: `first-light`, `units`, `errors` or `sockets`.
    pub check: &'static str,
    /// Whether it is as it was.
    pub ok: bool,
    /// What was seen, in a sentence.
    pub detail: String,
}

/// Messages of this level and below tell of errors.
const ERROR: u8 = 3;

/// So many things are named; the rest is counted.
const NAMED: usize = 5;

/// Whether a boot does what the one before did: it came to first light, every
/// unit that ran before runs, and no error is in its log that was not there.
/// `left_out` are the units that a treatment leaves out on purpose.
#[must_use]
pub fn health(
    before: &Record,
    after: &Record,
    after_phases: &Phases,
    left_out: &[String],
) -> Vec<HealthCheck> {
    vec![
        first_light(after_phases),
        units(before, after, left_out),
        errors(before, after),
    ]
}

fn first_light(phases: &Phases) -> HealthCheck {
    let light = phases.first_light.as_ref();
    HealthCheck {
        check: "first-light",
        ok: light.is_some(),
        detail: light.map_or_else(
            || "the boot never reached first light".to_owned(),
            |f| format!("{} at {}", f.mark, f.at),
        ),
    }
}

fn some(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    match names.len().checked_sub(NAMED).filter(|n| *n > 0) {
        Some(more) => format!("{} and {more} more", shown.join(", ")),
        None => shown.join(", "),
    }
}

fn units(before: &Record, after: &Record, left_out: &[String]) -> HealthCheck {
    let active = |record: &Record, all: bool| -> BTreeSet<String> {
        let spans = spans::distinct(record);
        let units = spans.iter().filter(|s| s.kind == SpanKind::Unit);
        // In a boot that is faster some may still be starting at first light.
        let units = units.filter(|s| s.end.is_some() || (all && s.start.is_some()));
        units.map(|s| record.name(s.name).to_owned()).collect()
    };
    let (ran, runs) = (active(before, false), active(after, true));
    let lost: Vec<String> = ran
        .difference(&runs)
        .filter(|u| !left_out.contains(u))
        .cloned()
        .collect();
    HealthCheck {
        check: "units",
        ok: lost.is_empty(),
        detail: match (ran.is_empty(), lost.is_empty()) {
            (true, _) => "the earlier boot has no units".to_owned(),
            (_, true) => format!(
                "{} units run as before",
                ran.len() - left_out_of(&ran, left_out)
            ),
            _ => format!("no longer running: {}", some(&lost)),
        },
    }
}

fn left_out_of(ran: &BTreeSet<String>, left_out: &[String]) -> usize {
    left_out.iter().filter(|u| ran.contains(*u)).count()
}

/// A message without what differs from boot to boot: numbers.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut in_number = false;
    for c in text.trim().chars() {
        let digit = c.is_ascii_digit() || (in_number && (c.is_ascii_hexdigit() || c == 'x'));
        if digit && !in_number {
            plain.push('0');
        } else if !digit {
            plain.push(c);
        }
        in_number = digit;
    }
    plain
}

/// Words by which a log tells of an error, whatever its level.
const TROUBLE: [&str; 6] = [
    "Kernel panic",
    "BUG: ",
    "Oops",
    "Call Trace:",
    "Failed to start",
    "entered failed state",
];

fn errors(before: &Record, after: &Record) -> HealthCheck {
    let told = |record: &Record| -> BTreeSet<String> {
        let messages = record.messages().iter().filter(|m| {
            let text = record.text(m);
            m.level.is_some_and(|l| l <= ERROR) || TROUBLE.iter().any(|t| text.contains(t))
        });
        messages.map(|m| plain(record.text(m))).collect()
    };
    let new: Vec<String> = told(after).difference(&told(before)).cloned().collect();
    HealthCheck {
        check: "errors",
        ok: new.is_empty(),
        detail: match new.is_empty() {
            true => "no new error".to_owned(),
            false => format!("new in the log: {}", some(&new)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_make_no_new_error() {
        assert_eq!(
            plain("usb 1-2: error -110 at 0xffff8a"),
            plain("usb 3-4: error -71 at 0x12cd")
        );
        assert_ne!(plain("a failed"), plain("b failed"));
    }
}
