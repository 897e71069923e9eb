//! What is found in boots that are written by hand, and what it saves.
#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "a malformed test is a failed test")]

use crate::common::record;
use firstlight_analysis::{Finding, SystemFacts, advice, phases};
use record::Nanos;

/// What is found in a boot of which nothing but the text is known.
pub fn found(text: &str) -> Vec<Finding> {
    let record = record(text);
    advice(&record, &phases(&record), &SystemFacts::default()).findings
}

/// The first finding of a kind.
pub fn of<'a>(all: &'a [Finding], id: &str) -> Option<&'a Finding> {
    all.iter().find(|f| f.id == id)
}

/// The same of a boot that has it.
pub fn one(text: &str, id: &str) -> Finding {
    let all = found(text);
    let ids: Vec<_> = all.iter().map(|f| f.id).collect();
    let of = of(&all, id);
    assert!(of.is_some(), "{id} is not in {ids:?}");
    of.unwrap().clone()
}

/// Whole milliseconds.
pub fn ms(time: Nanos) -> i64 {
    time.0 / 1_000_000
}

/// The least, expected and greatest saving of a finding, in milliseconds.
pub fn range_ms(finding: &Finding) -> (i64, i64, i64) {
    let (low, high) = finding.saving.unwrap();
    (ms(low), ms(finding.expected), ms(high))
}
