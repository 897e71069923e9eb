//! The boot up to the first program: one thing after another.

use super::activity::{About, Activities, Doer};
use super::graph::NodeId;
use super::report::PathKind;
use crate::phases::{PROTECTION_STAGE, PhaseRow, Phases, UNIT_STAGE};
use crate::place::Place;
use record::{Nanos, Phase, Record, Span, SpanKind};
use std::cmp::Reverse;

/// Time between two calls is an item of its own from here on, and so is a probe.
const GAP: Nanos = Nanos::from_millis(1);

/// Who runs the first program, as the kernel log names tasks.
const FIRST_TASK: &str = "task 1";

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
            Phase::Kernel => last = calls(all, phases, phase, last),
            Phase::Initrd => last = modules(all, phase, last),
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
        let about = About {
            kind: PathKind::Phase,
            name: name.to_owned(),
            start,
            end,
            origin: Some(phase.origin.clone()),
            call: None,
            by: Doer::Nobody,
        };
        last = Some(all.follow(last, about));
    };
    if phase.stages.is_empty() {
        add(phase.name.as_str(), phase.start, phase.end);
        return last;
    }
    for stage in &phase.stages {
        match phase.name {
            // A loader's stages are named by its marks.
            Phase::Firmware | Phase::Loader => add(&stage.name, stage.start, stage.end),
            of => add(
                &format!("{}: {}", of.as_str(), stage.name),
                stage.start,
                stage.end,
            ),
        }
    }
    last
}

/// An initrd whose first program loads modules itself, one after another: what they take, and
/// what their load takes before it. What other tasks load may not be waited for, so any other
/// initrd is a phase or its stages.
fn modules(all: &mut Activities<'_>, phase: &PhaseRow, last: Option<NodeId>) -> Option<NodeId> {
    let record = all.record;
    let by_first = |s: &Span| s.track.is_some_and(|t| record.name(t) == FIRST_TASK);
    let calls: Vec<_> = initcalls(record, phase).filter(|c| by_first(c.2)).collect();
    // Units may not be waited for either.
    let has_units = phase.stages.iter().any(|s| s.name == UNIT_STAGE);
    if calls.is_empty() || has_units {
        return stages(all, phase, last);
    }
    let mut last = last;
    let (mut begun, mut is_next) = (phase.start, false);
    for (start, end, span) in calls {
        if start < begun {
            continue;
        }
        let name = record.name(span.name);
        match name.rsplit_once(" [").filter(|_| is_next) {
            Some((_, module)) if start - begun >= GAP => {
                let name = format!("the kernel loads {}", module.trim_end_matches(']'));
                last = all.fill(last, start, PathKind::Kernel, &name);
            }
            _ => last = between(all, phase, last, start),
        }
        let about = About {
            kind: PathKind::Initcall,
            name: name.to_owned(),
            start,
            end,
            origin: Some(Place::of(record, span.origin)),
            call: Some(span.name),
            by: Doer::Nobody,
        };
        last = Some(all.follow(last, about));
        (begun, is_next) = (end, true);
    }
    between(all, phase, last, phase.end)
}

/// Adds what fills the time of a phase up to `until`: its stages, or the phase itself.
fn between(
    all: &mut Activities<'_>,
    phase: &PhaseRow,
    mut last: Option<NodeId>,
    until: Nanos,
) -> Option<NodeId> {
    for stage in &phase.stages {
        let begun = last.map_or(phase.start, |l| all.graph.end(l));
        if stage.start < until && stage.end > begun {
            let name = format!("{}: {}", phase.name.as_str(), stage.name);
            last = all.fill(last, stage.end.min(until), PathKind::Phase, &name);
        }
    }
    all.fill(last, until, PathKind::Phase, phase.name.as_str())
}

/// The initcalls that lie within a phase as a whole: start, end, and what is known of each.
fn initcalls<'r>(
    record: &'r Record,
    phase: &PhaseRow,
) -> impl Iterator<Item = (Nanos, Nanos, &'r Span)> {
    let (from, to) = (phase.start, phase.end);
    let calls = record
        .spans()
        .iter()
        .filter(|s| s.kind == SpanKind::Initcall);
    let calls = calls.filter_map(|s| Some((s.start?, s.end?, s)));
    calls.filter(move |(start, end, _)| *start >= from && *end <= to)
}

/// The kernel's own sequence of initcalls. Calls of modules, and those that
/// run aside of it, are not waited for.
fn calls(
    all: &mut Activities<'_>,
    phases: &Phases,
    phase: &PhaseRow,
    mut last: Option<NodeId>,
) -> Option<NodeId> {
    let record = all.record;
    let calls = initcalls(record, phase).filter(|c| is_main(record, c.2));
    let mut probes = probes(record, phase).into_iter().peekable();
    let mut before = "the kernel, before its first initcall".to_owned();
    let mut begun = phase.start;
    for (start, end, span) in calls {
        // A call within another one is that one's time.
        if start < begun {
            continue;
        }
        if begun == phase.start {
            last = before_calls(all, phase, last, start);
        }
        if start - begun >= GAP {
            last = all.fill(last, start, PathKind::Kernel, &before);
        }
        before = format!("the kernel, after {}", record.name(span.name));
        let call = Some(span.name);
        let mut add = |kind, span: &Span, start, end| {
            let about = About {
                kind,
                name: record.name(span.name).to_owned(),
                start,
                end,
                origin: Some(Place::of(record, span.origin)),
                call,
                by: Doer::Nobody,
            };
            last = Some(all.follow(last, about));
        };
        begun = start;
        while let Some((probed, taken, kind, probe)) = probes.next_if(|p| p.0 < end) {
            // Within another probe, or not within this call.
            if probed < begun || taken > end {
                continue;
            }
            if begun < probed {
                add(PathKind::Initcall, span, begun, probed);
            }
            add(kind, probe, probed, taken);
            begun = taken;
        }
        if begun < end || begun == start {
            add(PathKind::Initcall, span, begun, end);
        }
        begun = end;
    }
    if begun == phase.start {
        return told(all, phases, phase, last);
    }
    // Calls of modules that are built in go on aside: the stage may have begun.
    let protection = phase.stages.iter().find(|s| s.name == PROTECTION_STAGE);
    match protection.filter(|s| s.end > begun) {
        Some(stage) => {
            if stage.start - begun >= GAP {
                last = all.fill(last, stage.start, PathKind::Kernel, &before);
            }
            let name = format!("the kernel: {}", stage.name);
            all.fill(last, phase.end, PathKind::Kernel, &name)
        }
        None => all.fill(last, phase.end, PathKind::Kernel, &before),
    }
}

/// A kernel of which no initcall was recorded: the work that the lines of its log tell of, and
/// its stages in between. Which of that work ran beside the rest is not known.
fn told(
    all: &mut Activities<'_>,
    phases: &Phases,
    phase: &PhaseRow,
    mut last: Option<NodeId>,
) -> Option<NodeId> {
    let record = all.record;
    let works = all.works(phases);
    let works = works.iter();
    for work in works.filter(|w| w.end <= phase.end && w.end - w.start >= GAP) {
        let begun = last.map_or(phase.start, |l| all.graph.end(l));
        if work.start < begun {
            continue;
        }
        last = between(all, phase, last, work.start);
        let about = About {
            kind: PathKind::Kernel,
            name: format!("the kernel: {}", work.name),
            start: work.start,
            end: work.end,
            origin: Some(work.place(record)),
            call: None,
            by: Doer::Nobody,
        };
        last = Some(all.follow(last, about));
    }
    between(all, phase, last, phase.end)
}

/// Adds what the kernel does before `first`, its first initcall, as far as it is known.
fn before_calls(
    all: &mut Activities<'_>,
    phase: &PhaseRow,
    mut last: Option<NodeId>,
    first: Nanos,
) -> Option<NodeId> {
    for stage in phase.stages.iter().filter(|s| s.start < first) {
        let name = format!("the kernel: {}", stage.name);
        last = all.fill(last, stage.end.min(first), PathKind::Kernel, &name);
    }
    last
}

/// Whether a span can be of the kernel's own sequence: its first task's, as far as
/// the log says whose it is.
fn is_main(record: &Record, span: &Span) -> bool {
    let track = span.track.map(|t| record.name(t));
    matches!(track, Some("task 0" | FIRST_TASK) | None)
}

/// The longer probes of a phase that an initcall of the main sequence can have done,
/// by start, an outer one before those within it. Where the log does not say who probed,
/// what lies within a call that ran aside may be that one's. Nor is the length known
/// before the clock source switch.
fn probes<'r>(record: &'r Record, phase: &PhaseRow) -> Vec<(Nanos, Nanos, PathKind, &'r Span)> {
    let spans = record.spans();
    let aside = spans
        .iter()
        .filter(|s| s.kind == SpanKind::Initcall && !is_main(record, s));
    let mut aside: Vec<(Nanos, Nanos)> = aside.filter_map(|s| s.start.zip(s.end)).collect();
    aside.sort_unstable();
    // With each, the latest end of all that began by then.
    let mut latest = Nanos(i64::MIN);
    for (_, end) in &mut aside {
        latest = latest.max(*end);
        *end = latest;
    }
    let probes = spans.iter().filter_map(|span| {
        let kind = PathKind::of_call(span).filter(|k| *k != PathKind::Initcall)?;
        let (start, end) = span.start.zip(span.end)?;
        let within = phase.start <= start && end <= phase.end;
        let sure = within && span.doubt.is_none() && end - start >= GAP;
        if !sure || !is_main(record, span) {
            return None;
        }
        let begun = aside.partition_point(|a| a.0 <= start);
        let other = begun.checked_sub(1).and_then(|i| aside.get(i));
        let others = other.is_some_and(|a| end <= a.1);
        (!others).then_some((start, end, kind, span))
    });
    let mut probes: Vec<_> = probes.collect();
    probes.sort_by_key(|p| (p.0, Reverse(p.1)));
    probes
}
