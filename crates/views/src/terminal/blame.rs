//! The table of what took longest.

use super::bar::share;
use super::layout::{DIM, PLAIN, Screen, WARN};
use super::style::Style;
use super::table::{Column, Table, cell};
use crate::words::{counted, thousands};
use analysis::{Blame, BlameKind, BlameRow};
use record::Nanos;
use std::collections::BTreeSet;

/// From this width on, a table of several kinds has room for the input's own figure.
const ROOMY: usize = 100;

/// What took longest.
#[must_use]
pub fn blame(blame: &Blame, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if blame.rows.is_empty() {
        screen.wrapped(
            "",
            0,
            PLAIN,
            "No initcalls, probes, units or processes with a duration were found in the input.",
        );
        screen.line(
            "To log initcalls and probes, boot with `initcall_debug ignore_loglevel log_buf_len=4M`.",
        );
        return screen.finish();
    }
    let total = counted(blame.total_rows, "item");
    let about = match blame.rows.len() < blame.total_rows {
        true => format!("{} of {total}", thousands(blame.rows.len() as u64)),
        false => total,
    };
    screen.heading("What took longest", &about);
    rows(&mut screen, &blame.rows);
    legend(&mut screen, blame.rows.iter());
    screen.finish()
}

/// Items as columns: time, bar, start, the input's own figure, kind, name.
pub(super) fn rows(screen: &mut Screen, rows: &[BlameRow]) {
    let most = rows.iter().filter_map(BlameRow::duration).max();
    let most = most.unwrap_or(Nanos::ZERO);
    let kinds: BTreeSet<_> = rows.iter().map(|r| r.kind).collect();
    if kinds.iter().eq([&BlameKind::Process]) {
        processes(screen, rows);
        return;
    }
    let show_kind = kinds.len() > 1;
    let bar = screen.bar_width();
    let mut table = Table::new([
        Column::time("time"),
        Column::text(""),
        Column::time("start"),
        Column::time("reported").from_width(if show_kind { ROOMY } else { 0 }),
        Column::text("kind"),
        Column::name("name"),
    ]);
    // A figure of the input stands beside one that was measured.
    let reported = rows
        .iter()
        .any(|r| r.wall.is_some() && r.reported.is_some());
    for row in rows {
        let doubt = row
            .doubt
            .map_or_else(String::new, |d| format!(" ({})", d.as_str()));
        table.row([
            cell(row.duration()).bold(),
            cell(share(row.duration().unwrap_or_default(), most, bar)).dim(),
            cell(row.start),
            cell(row.reported.filter(|_| reported)).dim(),
            cell(if show_kind { row.kind.as_str() } else { "" }),
            cell(&row.name).remark(&doubt, WARN),
        ]);
    }
    table.print(screen);
}

/// Processes as columns: CPU time, bar, start, how long it lived, name.
fn processes(screen: &mut Screen, rows: &[BlameRow]) {
    let most = rows.iter().filter_map(|r| r.cpu).max().unwrap_or_default();
    let bar = screen.bar_width();
    let mut table = Table::new([
        Column::time("CPU time"),
        Column::text(""),
        Column::time("start"),
        Column::time("lifetime"),
        Column::number("PID").at_least(7),
        Column::name("name"),
    ]);
    for row in rows {
        let failed = match row.outcome {
            Some(exit) if exit < 0 => format!(" (killed by signal {})", exit.unsigned_abs()),
            Some(exit) if exit > 0 => format!(" (exit code {exit})"),
            _ => String::new(),
        };
        // Of a `sleep` it is worth knowing whose.
        let name = match &row.parent {
            Some(parent) if *parent != row.name => format!("{} (from {parent})", row.name),
            _ => row.name.clone(),
        };
        table.row([
            cell(row.cpu).bold(),
            cell(share(row.cpu.unwrap_or_default(), most, bar)).dim(),
            cell(row.start),
            cell(row.wall),
            cell(row.pid.map_or_else(String::new, |p| p.to_string())),
            cell(&name).remark(&failed, WARN),
        ]);
    }
    table.print(screen);
}

/// What the doubts in some rows mean.
pub(super) fn legend<'a>(screen: &mut Screen, rows: impl Iterator<Item = &'a BlameRow>) {
    let doubts: BTreeSet<_> = rows.filter_map(|r| r.doubt).collect();
    for doubt in doubts {
        let text = format!("{}: {}", doubt.as_str(), doubt.explain());
        screen.wrapped("", 2, DIM, &text);
    }
}
