//! The table of functions, and the tree of calls.

use super::layout::{DIM, PLAIN, Screen, WARN};
use super::style::Style;
use super::table::{Cell, Column, Table, cell};
use crate::words::{counted, thousands};
use analysis::{CallRow, Calls, Functions};

/// From this width on, there is room for the function that took most of another.
const WITH_SUB: usize = 96;

/// The deepest indentation of a call, in columns: deep stacks keep their end in sight.
const DEEPEST: usize = 40;

fn nothing(screen: &mut Screen) {
    screen.line("No function trace was found in the input.");
    screen.wrapped(
        "",
        0,
        PLAIN,
        "Supply a trace of the function_graph tracer (trace.dat, or the text of `trace`), a KFT \
         log, or the table of `kd`.",
    );
}

fn about(shown: usize, total: usize, what: &str) -> String {
    match shown < total {
        true => format!("{} of {}", thousands(shown as u64), counted(total, what)),
        false => counted(total, what),
    }
}

/// The table of functions: the columns of `kd`.
#[must_use]
pub fn functions(functions: &Functions, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if functions.rows.is_empty() {
        nothing(&mut screen);
        return screen.finish();
    }
    let head = about(functions.rows.len(), functions.total_rows, "function");
    screen.heading("Functions", &head);
    let mut table = Table::new([
        Column::name("function"),
        Column::number("count").at_least(9),
        Column::time("time"),
        Column::time("average"),
        Column::time("local"),
        Column::name("max-sub").from_width(WITH_SUB),
        Column::number("ms count").from_width(WITH_SUB),
    ]);
    for row in &functions.rows {
        // Calls without an end have no time, so the count says how many there are.
        let returned = row.count.saturating_sub(row.open);
        let count = match row.open {
            0 => thousands(row.count),
            open => format!("{}+{open}", thousands(returned)),
        };
        let [sub, sub_count] = match &row.max_sub {
            Some(sub) => [cell(sub), cell(row.max_sub_count)],
            None => [Cell::default(), Cell::default()],
        };
        table.row([
            cell(&row.name).bold(),
            cell(count),
            cell(row.time),
            cell(row.average),
            cell(row.local),
            sub,
            sub_count,
        ]);
    }
    table.print(&mut screen);
    if functions.rows.iter().any(|r| r.open > 0) {
        screen.wrapped(
            "",
            2,
            DIM,
            "+N: calls without a return in the trace. They are counted, but their time is unknown.",
        );
    }
    screen.finish()
}

/// The tree of calls: each row below the one that called it.
#[must_use]
pub fn calls(calls: &Calls, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if calls.rows.is_empty() {
        nothing(&mut screen);
        return screen.finish();
    }
    let head = about(calls.rows.len(), calls.total_rows, "row");
    screen.heading("Calls", &head);
    let mut table = Table::new([
        Column::time("time"),
        Column::time("local"),
        Column::number("count").at_least(9),
        Column::name("function"),
    ]);
    for row in &calls.rows {
        table.row(call(row));
    }
    table.print(&mut screen);
    screen.finish()
}

fn call(row: &CallRow) -> [Cell; 4] {
    let indent = (2 * row.depth.saturating_sub(1)).min(DEEPEST);
    let open = match row.open {
        0 => String::new(),
        open => format!(" ({open} without a return)"),
    };
    let name = cell(format!("{}{}", " ".repeat(indent), row.name)).remark(&open, WARN);
    let (local, count, name) = match row.depth {
        0 => (Cell::default(), Cell::default(), name.dim()),
        _ => (cell(row.local), cell(row.count), name),
    };
    [cell(row.time).bold(), local, count, name]
}
