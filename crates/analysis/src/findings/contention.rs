//! Who had the only processor, and who waited for it: what can run and does not run waits for
//! what runs. Where every switch of tasks was recorded, that is known of all of them.

use super::view::View;
use crate::summary::merged;
use crate::unpacking::unpacking;
use record::{Nanos, Slice, Span, TaskState};
use std::collections::BTreeSet;

/// The idle task of a processor.
const IDLE: u32 = 0;

/// The stretches in which tasks were on the one processor; `None`: nobody recorded that, or
/// there are several.
fn running<'a>(view: &'a View<'_>) -> Option<impl Iterator<Item = &'a Slice> + Clone> {
    let slices = view.record.slices().iter();
    let running = slices.filter(|s| s.state == TaskState::Running && s.pid != IDLE);
    let mut processors = running.clone().filter_map(|s| s.cpu);
    let first = processors.next()?;
    processors.all(|cpu| cpu == first).then_some(running)
}

/// What is common to two lists of stretches, each in order and apart from one another.
fn shared(a: &[(Nanos, Nanos)], b: &[(Nanos, Nanos)]) -> Nanos {
    let mut all = Nanos::ZERO;
    for &(from, to) in a {
        let first = b.partition_point(|(_, end)| *end <= from);
        let within = b.get(first..).unwrap_or_default();
        for &(start, end) in within.iter().take_while(|(start, _)| *start < to) {
            all = all + (end.min(to) - start.max(from));
        }
    }
    all
}

/// How long the tasks that `wanted` picks by their number were on the processor between two
/// instants.
pub(super) fn ran_between(
    view: &View<'_>,
    wanted: impl Fn(u32) -> bool,
    from: Nanos,
    to: Nanos,
) -> Option<Nanos> {
    let ran = running(view)?.filter(|s| wanted(s.pid));
    let ran = merged(ran.map(|s| (s.start, s.end)));
    Some(shared(&[(from, to)], &ran))
}

/// How long the tasks of these names were on the processor before first light, and for how
/// much of that a program could have run and did not.
pub(super) fn held_up(view: &View<'_>, names: &BTreeSet<&str>) -> Option<(Nanos, Nanos)> {
    let end = view.phases.end();
    let all = view.record.processes().iter();
    let (own, others): (Vec<_>, Vec<_>) = all
        .filter(|p| !p.kernel_thread)
        .partition(|p| names.contains(view.record.name(p.name)));
    let pids = |of: &[&record::Process]| of.iter().map(|p| p.pid).collect::<BTreeSet<u32>>();
    let (own, others) = (pids(&own), pids(&others));
    let before = |s: &&Slice| s.start < end;
    let ran = running(view)?
        .filter(before)
        .filter(|s| own.contains(&s.pid));
    let ran = merged(ran.map(|s| (s.start, s.end.min(end))));
    let slices = view.record.slices().iter().filter(before);
    let waiting = slices.filter(|s| s.state == TaskState::Runnable && others.contains(&s.pid));
    let waiting = merged(waiting.map(|s| (s.start, s.end.min(end))));
    let whole = ran.iter().fold(Nanos::ZERO, |sum, (a, b)| sum + (*b - *a));
    Some((whole, shared(&ran, &waiting)))
}

/// What an initramfs that unpacks beside a call takes of the only processor is not the call's
/// own: once the call gives it up, the other goes on to its end.
pub(super) fn without_unpacking(view: &View<'_>, calls: &mut [(&str, Nanos, &Span)]) {
    let unpacked = unpacking(view.record).filter(|u| !u.within_call);
    let unpacked = unpacked.filter(|_| view.model().load().processors.is_none_or(|n| n == 1));
    for (_, time, span) in calls {
        if let (Some(u), Some(from), Some(to)) = (unpacked, span.start, span.end)
            && from <= u.end
            && u.end <= to
        {
            *time = (*time).min(to - u.end);
        }
    }
}
