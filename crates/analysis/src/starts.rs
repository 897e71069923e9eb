//! Cold and warm starts of a program, compared.

use crate::bootstrap::{Interval, interval};
use crate::effect::median;
use record::Nanos;

/// What one start took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// From before it was started to after its end.
    pub time: Nanos,
    /// Time of the processor, nanoseconds.
    pub processor_ns: u64,
    /// Bytes that the program itself read from storage.
    pub read_bytes: u64,
    /// Page faults that waited for storage.
    pub major_faults: u64,
    /// How long some task of the machine waited for storage; `None` where the kernel does
    /// not count it.
    pub storage_wait_ns: Option<u64>,
}

/// Starts in one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartCase {
    /// The case: `cold`, `warm`, ...
    pub case: &'static str,
    /// How long each took.
    pub times: Vec<Nanos>,
    /// Their median.
    pub bounds: Interval,
    /// The median of the processor's time, nanoseconds.
    pub processor_ns: i64,
    /// The median of bytes read.
    pub read_bytes: i64,
    /// The median of page faults that waited.
    pub major_faults: i64,
    /// The median of waits, nanoseconds.
    pub storage_wait_ns: Option<i64>,
}

fn middle(values: impl Iterator<Item = u64>) -> i64 {
    let values: Vec<Nanos> = values
        .map(|v| Nanos(i64::try_from(v).unwrap_or(i64::MAX)))
        .collect();
    median(&values).map_or(0, |n| n.0)
}

/// The figures of a case; `None` if there are no starts.
#[must_use]
pub fn start_case(case: &'static str, starts: &[Start]) -> Option<StartCase> {
    let times: Vec<Nanos> = starts.iter().map(|s| s.time).collect();
    let waits: Option<Vec<u64>> = starts.iter().map(|s| s.storage_wait_ns).collect();
    Some(StartCase {
        case,
        bounds: interval(&times)?,
        times,
        processor_ns: middle(starts.iter().map(|s| s.processor_ns)),
        read_bytes: middle(starts.iter().map(|s| s.read_bytes)),
        major_faults: middle(starts.iter().map(|s| s.major_faults)),
        storage_wait_ns: waits.map(|w| middle(w.into_iter())),
    })
}

/// How much longer the starts of one case take than those of another, start by start.
#[must_use]
pub fn start_difference(longer: &[Start], shorter: &[Start]) -> Option<Interval> {
    let pairs = longer.iter().zip(shorter);
    let pairs = pairs.map(|(a, b)| Nanos(a.time.0 - b.time.0));
    interval(&pairs.collect::<Vec<_>>())
}
