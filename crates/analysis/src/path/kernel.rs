//! The boot up to the first program: one thing after another.

use super::graph::NodeId;
use super::{About, Activities, Doer, PathKind};
use crate::phases::{PhaseRow, Phases};
use crate::place::Place;
use record::{Nanos, Phase, Span, SpanKind};

/// Time between two calls is an item of its own from here on.
const GAP: Nanos = Nanos::from_millis(1);

/// Adds everything before the first of the phases `programs`; gives the last of
/// it.
pub(super) fn until(
    all: &mut Activities<'_>,
    phases: &Phases,
    programs: &[Phase],
) -> Option<NodeId> {
    let mut last = None;
    for phase in &phases.phases {
        match phase.name {
            program if programs.contains(&program) => break,
            Phase::Kernel => last = calls(all, phase, last),
            _ => last = stages(all, phase, last),
        }
    }
    last
}

/// Adds what is left of the phases up to `end`, a phase an item.
pub(super) fn rest(
    all: &mut Activities<'_>,
    phases: &Phases,
    mut last: Option<NodeId>,
    end: Nanos,
) -> Option<NodeId> {
    for phase in &phases.phases {
        if matches!(phase.name, Phase::Userspace | Phase::App) {
            last = stages(all, phase, last);
        }
    }
    all.fill(last, end, PathKind::Wait, "until first light")
}

/// A phase, or its stages if it has any.
fn stages(all: &mut Activities<'_>, phase: &PhaseRow, mut last: Option<NodeId>) -> Option<NodeId> {
    let mut add = |name: &str, start, end| {
        let after: Vec<NodeId> = last.into_iter().collect();
        let about = About {
            kind: PathKind::Phase,
            name: name.to_owned(),
            start,
            end,
            origin: Some(phase.origin.clone()),
            by: Doer::Nobody,
        };
        last = Some(all.add(about, &after));
    };
    if phase.stages.is_empty() {
        add(phase.name.as_str(), phase.start, phase.end);
    }
    for stage in &phase.stages {
        add(&stage.name, stage.start, stage.end);
    }
    last
}

/// The kernel's own sequence of initcalls. Calls of modules, and those that
/// run aside of it, are not waited for.
fn calls(all: &mut Activities<'_>, phase: &PhaseRow, mut last: Option<NodeId>) -> Option<NodeId> {
    let record = all.record;
    let main = |s: &&Span| {
        let track = s.track.map(|t| record.name(t));
        s.kind == SpanKind::Initcall && matches!(track, Some("task 0" | "task 1") | None)
    };
    let calls = record.spans().iter().filter(main);
    let calls = calls.filter_map(|s| Some((s.start?, s.end?, s)));
    let calls = calls.filter(|(start, end, _)| *start >= phase.start && *end <= phase.end);
    let mut before = "the kernel, before its first initcall".to_owned();
    let mut begun = phase.start;
    for (start, end, span) in calls {
        // A call within another one is that one's time.
        if start < begun {
            continue;
        }
        if start - begun >= GAP {
            last = all.fill(last, start, PathKind::Kernel, &before);
        }
        let about = About {
            kind: PathKind::Initcall,
            name: record.name(span.name).to_owned(),
            start,
            end,
            origin: Some(Place::of(record, span.origin)),
            by: Doer::Nobody,
        };
        before = format!("the kernel, after {}", about.name);
        let after: Vec<NodeId> = last.into_iter().collect();
        last = Some(all.add(about, &after));
        begun = end;
    }
    if begun == phase.start {
        return stages(all, phase, last);
    }
    all.fill(last, phase.end, PathKind::Kernel, &before)
}
