//! `firstlight.blame.functions/1` and `firstlight.blame.calls/1`.

use super::document::Document;
use schemars::JsonSchema;
use serde::Serialize;

/// Functions of a kernel function trace.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Functions {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Functions, in the requested order.
    pub rows: Vec<FunctionRow>,
    /// Number of rows without `--top`.
    pub total_rows: usize,
}

impl Document for Functions {
    const SCHEMA: &'static str = "firstlight.blame.functions/1";
    const TITLE: &'static str = "Output of `firstlight blame --functions --json`";
}

/// All calls of one function.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct FunctionRow {
    /// Name of the function.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Number of calls.
    pub count: u64,
    /// Total time of the calls, including the functions that they called.
    pub time_ns: i64,
    /// Average time of a call.
    pub average_ns: i64,
    /// Total time in the function itself.
    pub local_ns: i64,
    /// Called function that took longest; null if it called none.
    pub max_sub: Option<String>,
    /// Number of calls of that function.
    pub max_sub_count: u64,
    /// Number of calls whose return was not traced. Their time is missing.
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
        schema: Functions::SCHEMA,
        rows: functions.rows.iter().map(row).collect(),
        total_rows: functions.total_rows,
    }
}

/// Call tree of a kernel function trace. Each row stands below its caller.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Calls {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Rows of the tree, each below its caller.
    pub rows: Vec<CallRow>,
    /// Number of rows without `--top`.
    pub total_rows: usize,
}

impl Document for Calls {
    const SCHEMA: &'static str = "firstlight.blame.calls/1";
    const TITLE: &'static str = "Output of `firstlight blame --functions --tree --json`";
}

/// All calls of one function on one stack.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CallRow {
    /// Depth in the tree: 0 is a task, 1 a function without a traced caller.
    pub depth: usize,
    /// Name of the function; at depth 0, of the task.
    pub name: String,
    /// Number of calls on this stack.
    pub count: u64,
    /// Total time, including called functions. For a task, the sum of its calls.
    pub time_ns: i64,
    /// Total time in the function itself.
    pub local_ns: i64,
    /// Number of calls whose return was not traced.
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
        schema: Calls::SCHEMA,
        rows: calls.rows.iter().map(row).collect(),
        total_rows: calls.total_rows,
    }
}
