//! Phases that consist of hardly more than one wait.

use super::{tail, timeout};
use crate::findings::view::View;
use crate::phases::PhaseRow;
use record::{Nanos, Phase};

/// Whether a phase of systemd consists of hardly more than such a wait.
pub(super) fn is_hardly_longer(phase: Phase, time: Nanos, wait: Nanos) -> bool {
    let beside = match phase {
        Phase::Initrd => timeout::OF_INITRD,
        Phase::Userspace => timeout::BESIDE,
        _ => return false,
    };
    (Nanos::ZERO..=beside).contains(&(time - wait))
}

/// How many phases consist of hardly more than such a wait.
pub(super) fn waited_out(view: &View<'_>, wait: Nanos) -> usize {
    let rows = view.phases.phases.iter();
    rows.filter(|p| is_hardly_longer(p.name, length(view, p), wait))
        .count()
}

/// How long a phase lasts. What systemd does after the default target is another rule's.
pub(super) fn length(view: &View<'_>, row: &PhaseRow) -> Nanos {
    let target = tail::tail(view).map(|(target, _)| target);
    let target = target.filter(|_| row.name == Phase::Userspace);
    target.map_or(row.end, |t| t.min(row.end)) - row.start
}
