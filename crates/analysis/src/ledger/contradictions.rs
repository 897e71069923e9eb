//! What cannot be true together: sources that are of different boots.

use super::note::LedgerNote;
use crate::phases::begins_late;
use crate::place::Place;
use record::{Fact, NameId, Nanos, Record, Severity, Span, SpanKind};
use std::collections::BTreeMap;

/// Two sources round the same time by no more than this.
const ROUNDING: Nanos = Nanos::from_millis(50);

/// Times of one unit in one boot differ by less than this part of the longer one.
const PARTS: i64 = 5;

/// What cannot be true together, one note of each kind.
pub(crate) fn contradictions(record: &Record) -> Vec<LedgerNote> {
    let all = [no_boot(record), kernels(record), units(record)];
    all.into_iter().flatten().collect()
}

/// A log that is said to be of a boot, and begins long after it.
fn no_boot(record: &Record) -> Option<LedgerNote> {
    let (first, after) = begins_late(record)?;
    Some(note(
        "no_boot",
        1,
        "No line of this log is of the boot: the kernel had run for long when it begins. Give the \
         journal, which keeps the start (`journalctl -b -o short-monotonic`), or the output of \
         `dmesg` right after a boot; `log_buf_len=16M` makes room for more lines.",
        format!("it begins {after} after the kernel"),
        Place::of(record, first.origin),
    ))
}

/// Sources that name different kernels.
fn kernels(record: &Record) -> Option<LedgerNote> {
    let is_version = |f: &&Fact| record.name(f.key) == "kernel.version";
    let mut versions = record.facts().iter().filter(is_version);
    let release = |f: &Fact| record.name(f.value).split(' ').next().map(str::to_owned);
    let first = versions.next()?;
    let other = versions.find(|f| release(f) != release(first))?;
    let (a, b) = (release(first)?, release(other)?);
    Some(note(
        "different_kernels",
        1,
        "Two inputs name different kernels, so they are of different boots. Give the files of one \
         boot.",
        format!("{a} and {b}"),
        Place::of(record, other.origin),
    ))
}

/// Units that took different times in two sources, if most do that both have.
fn units(record: &Record) -> Option<LedgerNote> {
    let mut by_name: BTreeMap<NameId, Vec<&Span>> = BTreeMap::new();
    for span in record.spans().iter().filter(|s| s.kind == SpanKind::Unit) {
        by_name.entry(span.name).or_default().push(span);
    }
    let (mut both, mut differ) = (0_u64, 0_u64);
    let mut first: Option<(&Span, Nanos, Nanos)> = None;
    for spans in by_name.values() {
        let [a, b] = spans.as_slice() else { continue };
        let (Some(x), Some(y)) = (took(a), took(b)) else {
            continue;
        };
        if a.origin.source == b.origin.source {
            continue;
        }
        both += 1;
        let (least, most) = (x.min(y), x.max(y));
        if most - least > ROUNDING && (most - least).0 > most.0 / PARTS {
            differ += 1;
            first = first.or(Some((b, x, y)));
        }
    }
    let (span, x, y) = first.filter(|_| differ.saturating_mul(2) >= both)?;
    Some(note(
        "unit_times_differ",
        differ,
        "These units took different times in two inputs, which therefore seem to be of different \
         boots. Give the files of one boot.",
        format!("{}: {x} and {y}", record.name(span.name)),
        Place::of(record, span.origin),
    ))
}

/// How long a unit took to start; none of a target, which takes no time.
fn took(span: &Span) -> Option<Nanos> {
    span.duration().filter(|t| *t > Nanos::ZERO)
}

fn note(kind: &str, count: u64, advice: &str, detail: String, first: Place) -> LedgerNote {
    LedgerNote {
        severity: Severity::Doubt,
        kind: kind.to_owned(),
        count,
        advice: advice.to_owned(),
        detail,
        first: Some(first),
    }
}
