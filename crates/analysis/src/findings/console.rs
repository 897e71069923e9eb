//! What writing to the console costs.

use super::evidence::Evidence;
use super::found::Found;
use super::text::console as text;
use super::view::View;
use crate::console::{
    LEVEL_QUIET, kernel_alone, kernels, level, line_rate, of_calls, per_line, plain_line_time,
    serial_console,
};
use record::{Message, Nanos, Phase, Span, SpanKind};

/// The rate that is assumed if the command line gives none. A faster line
/// makes the estimate smaller, so it errs on the safe side.
const ASSUMED_BAUD: i64 = 115_200;

/// The least part of the line time that `quiet` saves. Some of it overlaps
/// with other work where a console has a thread or a queue of its own.
const SURE_PART: i64 = 2;

/// What the kernel's lines that `wanted` picks weigh on the console: of all
/// sources that saw them the one that saw most.
///
/// Lines, bytes, how long the kernel talked in that source, and the first line.
fn weigh(
    view: &View<'_>,
    wanted: impl Fn(&Message) -> bool,
) -> (i64, i64, Option<Nanos>, Option<Evidence>) {
    let mut best = (0, 0, None, None);
    for source in messages_by_source(view) {
        let (start, end) = kernel_talks(view, source);
        let (mut lines, mut bytes, mut first) = (0_i64, 0_i64, None);
        let kernels = kernels(view.record, source);
        let per_line = per_line(view.record, source);
        let timed = source.iter().any(|m| m.at.is_some());
        for message in source
            .iter()
            .filter(|m| kernels(m) && m.at.is_none_or(|at| start <= at && at <= end))
        {
            let text = view.record.text(message);
            if !text.trim().is_empty() && wanted(message) {
                lines += 1;
                let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
                bytes = bytes.saturating_add(length.saturating_add(per_line));
                first = first.or(Some(message));
            }
        }
        if bytes > best.1 {
            let first = first.map(|m| {
                let text: String = view.record.text(m).chars().take(60).collect();
                view.evidence(text::first_line(lines, text), m.origin)
            });
            best = (lines, bytes, timed.then_some(end - start), first);
        }
    }
    best
}

/// When the messages of a source are the kernel's: in a kernel log from its
/// first one to first light; on a serial line, where everybody writes, only
/// while the kernel is alone.
fn kernel_talks(view: &View<'_>, source: &[Message]) -> (Nanos, Nanos) {
    let info = source
        .first()
        .and_then(|m| view.record.source(m.origin.source));
    if info.is_some_and(|i| i.format != "kernel-log") {
        return kernel_alone(view.record, view.phases);
    }
    let rows = &view.phases.phases;
    let start = rows.iter().find(|p| p.name >= Phase::Kernel);
    let start = start.map_or(Nanos::ZERO, |p| p.start);
    (start, view.phases.end())
}

/// Messages are sorted by evidence, so those of a source stand together.
fn messages_by_source<'a>(view: &'a View<'_>) -> impl Iterator<Item = &'a [Message]> {
    view.record
        .messages()
        .chunk_by(|a, b| a.origin.source == b.origin.source)
}

/// The kernel writes all its messages to a serial line, and waits for it.
pub(super) fn messages(view: &View<'_>) -> Option<Found> {
    let level = level(view.cmdline());
    let console = serial_console(view.cmdline())?;
    if level <= LEVEL_QUIET {
        return None;
    }
    let (lines, bytes, window, first) = weigh(view, |m| {
        let l = m.level.unwrap_or(LEVEL_QUIET);
        l < level && l >= LEVEL_QUIET
    });
    if lines == 0 {
        return None;
    }
    let mut evidence: Vec<Evidence> = view.cmdline_evidence(console.word).into_iter().collect();
    evidence.extend(first);
    let rate = line_rate(view.record);
    let baud = rate.map_or(ASSUMED_BAUD, |r| r.baud);
    let time = plain_line_time(bytes, baud);
    let emulated = rate.is_some_and(|r| !r.kept);
    let why = if emulated {
        text::emulated_why(lines, bytes, baud, time)
    } else if view.is_virtual() {
        text::virtual_why(lines, bytes, baud, time)
    } else {
        let assumed = if rate.is_none() { text::ASSUMED } else { "" };
        text::messages_why(lines, bytes, time, baud, assumed)
    };
    let found = Found::new()
        .why(why)
        .evidence(evidence)
        .treatment("cmdline+=quiet");
    let measurable = !view.is_virtual() && !emulated;
    Some(match measurable {
        // The kernel waits for a UART byte by byte, so all of it goes.
        true => waited(found, time, window),
        false => found,
    })
}

/// `initcall_debug` writes two lines for each initcall.
pub(super) fn initcall_debug(view: &View<'_>) -> Option<Found> {
    // Its lines are of level 7: they only cost where they reach the console.
    if !view.has_flag("initcall_debug") || level(view.cmdline()) <= 7 {
        return None;
    }
    let console = serial_console(view.cmdline())?;
    let calls = view.initcalls(|_| true).len();
    let (lines, bytes) = of_calls(view.record, view.phases.end());
    if calls == 0 || lines == 0 {
        return None;
    }
    let baud = console.baud.unwrap_or(ASSUMED_BAUD);
    let time = plain_line_time(bytes, baud);
    let why = if view.is_virtual() {
        text::initcalls_virtual_why(lines, bytes, calls)
    } else {
        text::initcalls_why(lines, bytes, calls, time, baud)
    };
    let found = Found::new()
        .why(why)
        .evidence(view.cmdline_evidence("initcall_debug"))
        .treatment("cmdline-=initcall_debug");
    Some(match view.is_virtual() {
        false => waited(found, time, calling(view)),
        true => found,
    })
}

/// What goes if the kernel does not write what needs `time` on the line. Lines that were
/// written in less are no measure of that: the line is faster, or nobody waited for it.
fn waited(found: Found, time: Nanos, window: Option<Nanos>) -> Found {
    match window {
        Some(window) if window < time => {
            let mut found = found
                .saving(Nanos::ZERO, Nanos::ZERO, window)
                .within(window);
            found.more.push_str(&text::faster(window));
            found
        }
        Some(window) => found
            .saving(Nanos(time.0 / SURE_PART), time, time)
            .within(window),
        None => found.saving(Nanos(time.0 / SURE_PART), time, time),
    }
}

/// From the first initcall or probe to the last one, up to first light.
fn calling(view: &View<'_>) -> Option<Nanos> {
    let end = view.phases.end();
    let is_call = |s: &&Span| matches!(s.kind, SpanKind::Initcall | SpanKind::Probe);
    let calls = || view.record.spans().iter().filter(is_call);
    let from = calls().filter_map(|s| s.start).min()?;
    let to = calls().filter_map(|s| s.end).filter(|t| *t <= end).max()?;
    Some((to - from).max(Nanos::ZERO))
}
