//! The table of what took longest.

use super::Style;
use super::bar::share;
use super::layout::{BOLD, DIM, Screen, TIME, WARN, fit, left, right, time};
use crate::words::{plural, thousands};
use analysis::{Blame, BlameKind, BlameRow};
use record::Nanos;
use std::collections::BTreeSet;

const KIND: usize = 8;

const PID: usize = 7;

/// What took longest.
#[must_use]
pub fn blame(blame: &Blame, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let total = blame.total_rows as u64;
    if blame.rows.is_empty() {
        screen.line("Nothing that took time is in these sources.");
        screen.line(
            "For initcalls and probes, boot with `initcall_debug ignore_loglevel log_buf_len=4M`.",
        );
        return screen.finish();
    }
    let shown = blame.rows.len() as u64;
    let about = if shown < total {
        format!("{} of {} rows", thousands(shown), thousands(total))
    } else {
        format!("{} {}", thousands(total), plural(blame.rows.len(), "row"))
    };
    screen.heading("What took longest", &about);
    rows(&mut screen, &blame.rows);
    legend(&mut screen, blame.rows.iter());
    screen.finish()
}

/// Rows as columns: time, bar, start, the source's own number, kind, name.
pub(super) fn rows(screen: &mut Screen, rows: &[BlameRow]) {
    let most = rows.iter().filter_map(BlameRow::duration).max();
    let most = most.unwrap_or(Nanos::ZERO);
    let kinds: BTreeSet<_> = rows.iter().map(|r| r.kind).collect();
    if kinds.iter().eq([&BlameKind::Process]) {
        processes(screen, rows);
        return;
    }
    let show_kind = kinds.len() > 1;
    let show_reported = (screen.is_roomy() || !show_kind)
        && rows
            .iter()
            .any(|r| r.wall.is_some() && r.reported.is_some());
    let bar = screen.bar_width();
    let mut head = format!(
        "  {}  {}  {}",
        right("time", TIME),
        left("", bar),
        right("start", TIME)
    );
    if show_reported {
        head += &format!("  {}", right("reported", TIME));
    }
    if show_kind {
        head += &format!("  {}", left("kind", KIND));
    }
    head += "  name";
    screen.columns(&head);
    for row in rows {
        let duration = row.duration();
        let mut line = format!(
            "  {}  {}  {}",
            screen.paint(BOLD, &time(duration)),
            screen.paint(DIM, &share(duration.unwrap_or_default(), most, bar)),
            time(row.start)
        );
        let mut used = 2 + TIME + 2 + bar + 2 + TIME;
        if show_reported {
            line += &format!("  {}", screen.paint(DIM, &time(row.reported)));
            used += 2 + TIME;
        }
        if show_kind {
            line += &format!("  {}", left(row.kind.as_str(), KIND));
            used += 2 + KIND;
        }
        let doubt = row
            .doubt
            .map_or_else(String::new, |d| format!(" ({})", d.as_str()));
        let room = screen
            .width()
            .saturating_sub(used + 2 + doubt.chars().count());
        let name = fit(&row.name, room.max(16));
        line += &format!("  {name}{}", screen.paint(WARN, &doubt));
        screen.line(&line);
    }
}

/// Processes as columns: processor time, bar, start, how long it lived, name.
fn processes(screen: &mut Screen, rows: &[BlameRow]) {
    let most = rows.iter().filter_map(|r| r.cpu).max().unwrap_or_default();
    let bar = screen.bar_width();
    let head = format!(
        "  {}  {}  {}  {}  {}  name",
        right("processor", TIME),
        left("", bar),
        right("start", TIME),
        right("lived", TIME),
        right("pid", PID),
    );
    screen.columns(&head);
    for row in rows {
        let line = format!(
            "  {}  {}  {}  {}  {}  ",
            screen.paint(BOLD, &time(row.cpu)),
            screen.paint(DIM, &share(row.cpu.unwrap_or_default(), most, bar)),
            time(row.start),
            time(row.wall),
            right(&row.pid.map_or_else(String::new, |p| p.to_string()), PID),
        );
        let used = 2 + TIME + 2 + bar + 2 + TIME + 2 + TIME + 2 + PID + 2;
        let failed = match row.outcome {
            Some(exit) if exit < 0 => format!(" (killed by signal {})", exit.unsigned_abs()),
            Some(exit) if exit > 0 => format!(" (exit {exit})"),
            _ => String::new(),
        };
        let room = screen.width().saturating_sub(used + failed.chars().count());
        let name = fit(&row.name, room.max(16));
        let line = line + &name + &screen.paint(WARN, &failed);
        screen.line(&line);
    }
}

/// What the doubts in some rows mean.
pub(super) fn legend<'a>(screen: &mut Screen, rows: impl Iterator<Item = &'a BlameRow>) {
    let doubts: BTreeSet<_> = rows.filter_map(|r| r.doubt).collect();
    for doubt in doubts {
        let text = format!("{}: {}", doubt.as_str(), doubt.explain());
        screen.wrapped("", 2, DIM, &text);
    }
}
