//! `firstlight.blame.functions/1` and `firstlight.blame.calls/1`.

use serde::Serialize;

/// Functions and their sums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Functions {
    /// `firstlight.blame.functions/1`.
    pub schema: &'static str,
    /// The rows asked for, in the order asked for.
    pub rows: Vec<FunctionRow>,
    /// How many there are in all.
    pub total_rows: usize,
}

/// All calls of one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionRow {
    /// The function.
    pub name: String,
    /// How often it was called.
    pub count: u64,
    /// How long its calls ran, those they called included.
    pub time_ns: i64,
    /// How long one call ran, on average.
    pub average_ns: i64,
    /// How long its calls ran in the function itself.
    pub local_ns: i64,
    /// The function that took longest of those it called; null if it called none.
    pub max_sub: Option<String>,
    /// How often it called that one.
    pub max_sub_count: u64,
    /// How many of its calls were not seen to return: their time is missing.
    pub open: u64,
}

/// Functions in the shape of `schemas/blame.functions.json`.
#[must_use]
pub fn functions(functions: &analysis::Functions) -> Functions {
    let row = |r: &analysis::FunctionRow| FunctionRow {
        name: r.name.clone(),
        count: r.count,
        time_ns: r.time.get(),
        average_ns: r.average.get(),
        local_ns: r.local.get(),
        max_sub: r.max_sub.clone(),
        max_sub_count: r.max_sub_count,
        open: r.open,
    };
    Functions {
        schema: "firstlight.blame.functions/1",
        rows: functions.rows.iter().map(row).collect(),
        total_rows: functions.total_rows,
    }
}

/// The tree of calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// `firstlight.blame.calls/1`.
    pub schema: &'static str,
    /// The rows asked for: each stands below the one that called it.
    pub rows: Vec<CallRow>,
    /// How many there are in all.
    pub total_rows: usize,
}

/// All calls of one function on one stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallRow {
    /// How deep it stands: 0 is a task, 1 a function that nothing called.
    pub depth: usize,
    /// The function; at depth 0 the task.
    pub name: String,
    /// How often it was called on this stack.
    pub count: u64,
    /// How long, those it called included; of a task the sum of its calls.
    pub time_ns: i64,
    /// How long in the function itself.
    pub local_ns: i64,
    /// How many of the calls were not seen to return.
    pub open: u64,
}

/// The tree of calls in the shape of `schemas/blame.calls.json`.
#[must_use]
pub fn calls(calls: &analysis::Calls) -> Calls {
    let row = |r: &analysis::CallRow| CallRow {
        depth: r.depth,
        name: r.name.clone(),
        count: r.count,
        time_ns: r.time.get(),
        local_ns: r.local.get(),
        open: r.open,
    };
    Calls {
        schema: "firstlight.blame.calls/1",
        rows: calls.rows.iter().map(row).collect(),
        total_rows: calls.total_rows,
    }
}
