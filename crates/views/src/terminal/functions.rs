//! The table of functions, and the tree of calls.

use super::Style;
use super::layout::{BOLD, DIM, PLAIN, Screen, TIME, WARN, fit, left, right, time};
use crate::words::{plural, thousands};
use analysis::{CallRow, Calls, FunctionRow, Functions};

/// How wide a count is.
const COUNT: usize = 9;

/// The least room for a function's name.
const NAME: usize = 16;

fn nothing(screen: &mut Screen) {
    screen.line("No functions are in these sources.");
    screen.wrapped(
        "",
        0,
        PLAIN,
        "Give a trace of the tracer function_graph (trace.dat, or the text of `trace`), a KFT log, \
         or the table of `kd`.",
    );
}

fn about(shown: usize, total: usize, what: &str) -> String {
    let all = plural(total, what);
    match shown < total {
        true => format!(
            "{} of {} {all}",
            thousands(shown as u64),
            thousands(total as u64)
        ),
        false => format!("{} {all}", thousands(total as u64)),
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
    let shown = functions.rows.len();
    let head = about(shown, functions.total_rows, "function");
    screen.heading("Functions", &head);
    let longest = |names: &mut dyn Iterator<Item = &String>| {
        let widths = names.map(|name| name.chars().count());
        widths.max().unwrap_or(0).max(8)
    };
    let subs = || functions.rows.iter().filter_map(|r| r.max_sub.as_ref());
    let (name, sub) = (
        longest(&mut functions.rows.iter().map(|r| &r.name)),
        longest(&mut subs()),
    );
    // Time, average, local, a count or two; names get what is left.
    let numbers = 2 + 2 + COUNT + 3 * (2 + TIME);
    let room = screen.width().saturating_sub(numbers);
    let with_sub = subs().next().is_some() && room > 2 * NAME + COUNT + 4;
    let (name, sub) = match with_sub {
        true => share(name, sub, room - COUNT - 4),
        false => (name.min(room), 0),
    };
    let mut line = format!(
        "  {}  {}  {}  {}  {}",
        left("function", name),
        right("count", COUNT),
        right("time", TIME),
        right("average", TIME),
        right("local", TIME),
    );
    if with_sub {
        line += &format!("  {}  {}", left("max-sub", sub), right("ms count", COUNT));
    }
    screen.columns(&line);
    for row in &functions.rows {
        let line = function_line(&screen, row, name, sub);
        screen.line(&line);
    }
    if functions.rows.iter().any(|r| r.open > 0) {
        screen.wrapped(
            "",
            2,
            DIM,
            "+N: so many calls were not seen to return; they count, but their time is missing",
        );
    }
    screen.finish()
}

/// Two widths that fit into `room`, as much of what is wanted as can be.
fn share(a: usize, b: usize, room: usize) -> (usize, usize) {
    let half = room / 2;
    match (a <= half, b <= half) {
        (true, _) => (a, b.min(room - a)),
        (_, true) => (a.min(room - b), b),
        _ => (half, half),
    }
}

fn function_line(screen: &Screen, row: &FunctionRow, name: usize, sub: usize) -> String {
    // Calls without an end have no time, so the count says how many there are.
    let returned = row.count.saturating_sub(row.open);
    let count = match row.open {
        0 => thousands(row.count),
        open => format!("{}+{open}", thousands(returned)),
    };
    let mut line = format!(
        "  {}  {}  {}  {}  {}",
        screen.paint(BOLD, &left(&row.name, name)),
        right(&count, COUNT),
        time(Some(row.time)),
        time(Some(row.average)),
        time(Some(row.local)),
    );
    if sub > 0
        && let Some(max_sub) = &row.max_sub
    {
        line += &format!(
            "  {}  {}",
            left(max_sub, sub),
            right(&thousands(row.max_sub_count), COUNT)
        );
    }
    line
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
    let line = format!(
        "  {}  {}  {}  function",
        right("time", TIME),
        right("local", TIME),
        right("count", COUNT),
    );
    screen.columns(&line);
    for row in &calls.rows {
        let line = call_line(&screen, row);
        screen.line(&line);
    }
    screen.finish()
}

fn call_line(screen: &Screen, row: &CallRow) -> String {
    let numbers = 2 + TIME + 2 + TIME + 2 + COUNT + 2;
    let room = screen.width().saturating_sub(numbers).max(16);
    // Deep stacks keep their end in sight.
    let indent = (2 * row.depth.saturating_sub(1)).min(room / 2);
    let open = match row.open {
        0 => String::new(),
        open => format!(" ({open} not seen to return)"),
    };
    let name = fit(&row.name, room.saturating_sub(indent + open.len()).max(12));
    let (local, count) = match row.depth {
        0 => (String::new(), String::new()),
        _ => (time(Some(row.local)), thousands(row.count)),
    };
    let name = match row.depth {
        0 => screen.paint(DIM, &name),
        _ => name,
    };
    format!(
        "  {}  {}  {}  {}{name}{}",
        screen.paint(BOLD, &time(Some(row.time))),
        right(&local, TIME),
        right(&count, COUNT),
        " ".repeat(indent),
        screen.paint(WARN, &open),
    )
}
