//! Initcalls and probes over the kernel's time, as one picture: what `bootgraph.pl` of
//! the kernel's sources is for, with calls that overlap side by side.

use super::drawing::{Anchor, Color, Shape, Weight};
use super::sheet::{BAR, CHART, LEFT, ROW, Sheet, Span};
use crate::words::{counted, thousands};
use analysis::{Phases, Slice, TrackGroup, TrackKind, Tracks};
use record::{Nanos, Phase, Record};

/// Initcalls in two tints, so that neighbors differ, and probes.
const INITCALL: [Color; 2] = [[0xe6, 0x9f, 0x00], [0xf3, 0xc4, 0x5c]];
const PROBE: [Color; 2] = [[0x00, 0x72, 0xb2], [0x6c, 0xb2, 0xdd]];
const MARK: Color = [0x00, 0x9e, 0x73];

/// How many lanes of calls at a time are drawn, and how high each is.
const MOST_LANES: usize = 24;
const LANE: u32 = 9;

/// How many calls have a row of their own: the longest.
const MOST_ROWS: usize = 36;

/// The picture; `title` stands on top.
#[must_use]
pub fn bootgraph(record: &Record, tracks: &Tracks<'_>, phases: &Phases, title: &str) -> String {
    let mut sheet = Sheet::new(record, title);
    let of = |kind| tracks.groups.iter().find(move |g| g.kind == kind);
    let (initcalls, probes) = (of(TrackKind::Initcall), of(TrackKind::Probe));
    let calls = || [initcalls, probes].into_iter().flatten();
    let slices = || calls().flat_map(|g| g.tracks.iter().flat_map(|t| &t.slices));
    let (Some(first), Some(last)) = (
        slices().map(|s| s.start).min(),
        slices().map(|s| s.end).max(),
    ) else {
        sheet.remark(
            "No initcalls or probes with times were found in the input. Boot with initcall_debug.",
        );
        return sheet.svg();
    };
    sheet.legend(&[
        (INITCALL[0], "initcall"),
        (PROBE[0], "probe"),
        (MARK, "milestone"),
    ]);
    let kernel = phases.phases.iter().find(|p| p.name == Phase::Kernel);
    let Some(kernel) = kernel else {
        let span = Span {
            from: first,
            to: last,
        };
        panel(&mut sheet, "Calls", phases, [initcalls, probes], span);
        return sheet.svg();
    };
    let before = first.min(kernel.start);
    let span = Span {
        from: before,
        to: kernel.end,
    };
    panel(&mut sheet, "Kernel", phases, [initcalls, probes], span);
    let late = slices().filter(|s| s.start >= kernel.end);
    if let Some(from) = late.map(|s| s.start).min() {
        let span = Span { from, to: last };
        panel(
            &mut sheet,
            "Modules, after the kernel phase",
            phases,
            [initcalls, probes],
            span,
        );
    }
    sheet.svg()
}

/// The calls that begin in a stretch of time: all of them on as many lanes as ran at a
/// time, and the longest by name.
fn panel(
    sheet: &mut Sheet,
    name: &str,
    phases: &Phases,
    groups: [Option<&TrackGroup<'_>>; 2],
    span: Span,
) {
    let within =
        |s: &&Slice<'_>| s.start >= span.from && s.start < span.to.max(span.from + Nanos(1));
    let mut rows: Vec<(&Slice<'_>, Color)> = Vec::new();
    let mut count = [0_usize; 2];
    for ((group, tint), count) in groups.iter().zip([INITCALL, PROBE]).zip(&mut count) {
        let lanes = group.iter().flat_map(|g| &g.tracks);
        for slice in lanes.flat_map(|t| &t.slices).filter(within) {
            *count += 1;
            rows.push((slice, tint[0]));
        }
    }
    let about = format!(
        "{} to {}: {}, {}",
        span.from,
        span.to,
        counted(count[0], "initcall"),
        counted(count[1], "probe"),
    );
    sheet.heading(name, &about);
    let top = sheet.begin();
    for (group, (tint, name)) in groups
        .iter()
        .zip([(INITCALL, "initcalls"), (PROBE, "probes")])
    {
        lanes(sheet, *group, span, tint, name);
    }
    let all = rows.len();
    rows.sort_by_key(|(s, _)| (std::cmp::Reverse(s.end - s.start), s.start));
    rows.truncate(MOST_ROWS);
    rows.retain(|(s, _)| s.end > s.start);
    let shown = rows.len();
    rows.sort_by_key(|(s, _)| (s.start, std::cmp::Reverse(s.end)));
    sheet.y += 6;
    for (slice, color) in rows {
        row(sheet, slice, span, color);
    }
    marks(sheet, phases, span, top);
    sheet.axis(top, span);
    if all > shown {
        sheet.remark(&format!(
            "By name: the {shown} longest of {}.",
            thousands(all as u64)
        ));
    }
}

/// Every call, on the lane where it ran beside others.
fn lanes(
    sheet: &mut Sheet,
    group: Option<&TrackGroup<'_>>,
    span: Span,
    tint: [Color; 2],
    name: &str,
) {
    let lanes = group.map_or(&[][..], |g| &g.tracks);
    let within = |s: &&Slice<'_>| s.start >= span.from && s.start < span.to;
    // Calls at one instant of a coarse clock would each have a lane.
    let takes_room = |lane: usize, s: &Slice<'_>| lane == 0 || s.end > s.start;
    let used: Vec<_> = lanes
        .iter()
        .enumerate()
        .filter(|(n, t)| t.slices.iter().any(|s| within(&s) && takes_room(*n, s)))
        .collect();
    if used.is_empty() {
        return;
    }
    sheet.name(&match used.len().saturating_sub(MOST_LANES) {
        0 => format!("all {name}"),
        more => format!("all {name} ({more} more lanes)"),
    });
    for (lane, track) in used.into_iter().take(MOST_LANES) {
        let mut free = 0;
        let slices = track.slices.iter().filter(within);
        for (n, slice) in slices.filter(|s| takes_room(lane, s)).enumerate() {
            let (x, width) = span.columns(slice.start, slice.end);
            // A column is drawn once, however many calls are in it.
            if x + width <= free {
                continue;
            }
            let from = x.max(free);
            free = x + width;
            let says = format!(
                "{}: {}, starts at {}",
                slice.name,
                slice.end - slice.start,
                slice.start
            );
            let color = if n % 2 == 0 { tint[0] } else { tint[1] };
            sheet.bar((from, sheet.y), (free - from, LANE), color, says);
        }
        sheet.y += LANE + 1;
    }
    sheet.y += 4;
}

/// One call by name, and how long it took.
fn row(sheet: &mut Sheet, slice: &Slice<'_>, span: Span, color: Color) {
    let (x, width) = span.columns(slice.start, slice.end);
    let took = slice.end - slice.start;
    let says = format!("{}: {took}, starts at {}", slice.name, slice.start);
    sheet.name(&slice.name);
    sheet.bar((x, sheet.y), (width, BAR), color, says);
    let at = (x + width + 5, sheet.y + BAR - 2);
    sheet.text(at, Anchor::Start, Weight::Plain, took.to_string());
    sheet.y += ROW;
}

/// Milestones: a line down, and the name at its foot.
fn marks(sheet: &mut Sheet, phases: &Phases, span: Span, (first, top): (usize, u32)) {
    // Names stand below each other where there is no room beside the one before.
    let mut ends = [0_u32; 6];
    let bottom = sheet.y;
    let mut lowest = 0;
    // Lines stand behind everything.
    let drawn = sheet.shapes.split_off(first);
    let mut names = Vec::new();
    for mark in &phases.milestones {
        if mark.at <= span.from || mark.at > span.to {
            continue;
        }
        let x = span.x(mark.at);
        let text = format!("{} {}", mark.name, mark.at);
        let length = 7 * u32::try_from(text.chars().count()).unwrap_or(0);
        // Near the right edge names stand before their line.
        let before = x + length > LEFT + CHART + 80;
        let from = if before { x.saturating_sub(length) } else { x };
        let Some(line) = ends.iter().position(|end| *end < from) else {
            continue;
        };
        if let Some(end) = ends.get_mut(line) {
            *end = from + length;
        }
        let line = u32::try_from(line).unwrap_or(0);
        lowest = lowest.max(line + 1);
        sheet.shapes.push(Shape::Line {
            from: (x, top),
            to: (x, bottom + line * 13 + 12),
            color: MARK,
        });
        let (at, anchor) = match before {
            true => (x.saturating_sub(4), Anchor::End),
            false => (x + 4, Anchor::Start),
        };
        let at = (at, bottom + line * 13 + 12);
        names.push((at, anchor, text));
    }
    sheet.shapes.extend(drawn);
    for (at, anchor, text) in names {
        sheet.text(at, anchor, Weight::Plain, text);
    }
    sheet.y += lowest * 13 + 4;
}
