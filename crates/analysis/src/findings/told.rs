//! Silences that another finding explains are told once.

use super::finding::Finding;
use crate::place::Place;
use record::Nanos;

/// The rules of silences whose cause is not known.
const SILENCES: [&str; 2] = ["kernel-silence", "program-silence"];

/// The rule of devices that never appear: a silence at the end of such a wait is a part of it.
const DEVICE_TIMEOUT: &str = "device-timeout";

/// A finding that explains a silence has its length, but for one part in so many.
const PARTS: i64 = 20;

/// Leaves out each silence that begins or ends at a line by which another finding measured the
/// same time.
pub(super) fn once<T>(found: &mut Vec<T>, finding: impl Fn(&T) -> &Finding) {
    let all: Vec<&Finding> = found.iter().map(finding).collect();
    let is_told =
        |f: &Finding| SILENCES.contains(&f.id) && all.iter().any(|other| explains(other, f));
    let told: Vec<bool> = all.iter().map(|f| is_told(f)).collect();
    let mut told = told.into_iter();
    found.retain(|_| !told.next().unwrap_or(false));
}

fn explains(other: &Finding, silence: &Finding) -> bool {
    let most = |f: &Finding| f.saving.map_or(Nanos::ZERO, |s| s.1);
    let (own, length) = (most(other), most(silence));
    let is_shared = |place: &Place| other.evidence.iter().any(|e| e.place == *place);
    // While systemd waits, others may say something now and then.
    let is_longer = other.id == DEVICE_TIMEOUT && own >= length;
    !SILENCES.contains(&other.id)
        && (is_longer || (own.0 - length.0).abs() <= length.0 / PARTS)
        && silence.evidence.iter().any(|e| is_shared(&e.place))
}
