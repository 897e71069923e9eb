//! The boot up to the first program: one thing after another.

use super::graph::NodeId;
use super::{About, Activities, Doer, PathKind};
use crate::phases::{PhaseRow, Phases};
use crate::place::Place;
use record::{Nanos, Phase, Record, Span, SpanKind};

/// Time between two calls is an item of its own from here on, and so is a probe.
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
    let calls = record.spans().iter().filter(&main);
    let calls = calls.filter_map(|s| Some((s.start?, s.end?, s)));
    let calls = calls.filter(|(start, end, _)| *start >= phase.start && *end <= phase.end);
    let probes = probes(record, phase, &main);
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
        before = format!("the kernel, after {}", record.name(span.name));
        let mut add = |kind, span: &Span, start, end| {
            let about = About {
                kind,
                name: record.name(span.name).to_owned(),
                start,
                end,
                origin: Some(Place::of(record, span.origin)),
                by: Doer::Nobody,
            };
            let after: Vec<NodeId> = last.into_iter().collect();
            last = Some(all.add(about, &after));
        };
        begun = start;
        for (probed, taken, kind, probe) in &probes {
            if *probed < begun || *taken > end {
                continue;
            }
            if begun < *probed {
                add(PathKind::Initcall, span, begun, *probed);
            }
            add(*kind, probe, *probed, *taken);
            begun = *taken;
        }
        if begun < end || begun == start {
            add(PathKind::Initcall, span, begun, end);
        }
        begun = end;
    }
    if begun == phase.start {
        return stages(all, phase, last);
    }
    all.fill(last, phase.end, PathKind::Kernel, &before)
}

/// The longer probes of a phase that an initcall of the main sequence can have done,
/// by start. The log does not say who probed: what lies within a call that ran aside
/// may be that one's. Nor is the length known before the clock source switch.
fn probes<'r>(
    record: &'r Record,
    phase: &PhaseRow,
    main: &impl Fn(&&Span) -> bool,
) -> Vec<(Nanos, Nanos, PathKind, &'r Span)> {
    let spans = record.spans();
    let aside = |s: &&Span| s.kind == SpanKind::Initcall && !main(s);
    let aside: Vec<(Nanos, Nanos)> = spans
        .iter()
        .filter(aside)
        .filter_map(|s| s.start.zip(s.end))
        .collect();
    let probes = spans.iter().filter_map(|span| {
        let kind = PathKind::of_call(span).filter(|k| *k != PathKind::Initcall)?;
        let (start, end) = span.start.zip(span.end)?;
        let within = phase.start <= start && end <= phase.end;
        let sure = within && span.doubt.is_none() && end - start >= GAP;
        let others = aside.iter().any(|a| a.0 <= start && end <= a.1);
        (sure && !others).then_some((start, end, kind, span))
    });
    probes.collect()
}
