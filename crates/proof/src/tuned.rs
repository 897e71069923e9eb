//! What a search found, as views take it.

use lab::search::Found;

/// What a search found, in wall time or in virtual time, and the command that repeats it.
#[must_use]
pub fn tuned(found: &Found, is_wall: bool, command: String) -> views::Tuned {
    let kept = found.kept.iter().map(|k| views::TunedKept {
        treatment: k.treatment.to_string(),
        share: k.share.map(|(share, _)| share),
        spread: k.share.map(|(_, spread)| spread),
    });
    let dropped = found.dropped.iter().map(|d| views::TunedDropped {
        treatment: d.treatment.clone(),
        why: d.why.clone(),
    });
    let health = found.best.health.iter().map(|h| analysis::HealthCheck {
        check: h.check,
        ok: h.ok,
        detail: h.detail.clone(),
    });
    views::Tuned {
        is_wall,
        baseline: found.baseline.median,
        best: found.best.median,
        whole: found.whole,
        boots: found.boots,
        kept: kept.collect(),
        dropped: dropped.collect(),
        health: health.collect(),
        limits: found.limits.clone(),
        command,
    }
}
