//! Folded stacks: one stack a line, its weight behind it. Flame graph tools
//! read them.

use record::{CallId, CallTree, Record};
use std::collections::HashMap;
use std::io::{self, Write};

/// The stacks of a function trace, weighted by the time that each function
/// spent itself, in microseconds; else those that a profiler saw, weighted by
/// how often; else what took time in the boot, by kind, in microseconds.
///
/// # Errors
///
/// Whatever writing to `out` fails with.
pub fn folded(record: &Record, mut out: impl Write) -> io::Result<()> {
    if !record.functions().is_empty() {
        return tree(record, record.functions(), true, out);
    }
    if !record.stacks().is_empty() {
        return tree(record, record.stacks(), false, out);
    }
    for span in record.spans() {
        let micros = span.duration().map_or(0, |d| d.get() / 1_000);
        if micros > 0 {
            let name = frame(record.name(span.name));
            writeln!(out, "boot;{};{name} {micros}", span.kind.as_str())?;
        }
    }
    Ok(())
}

fn tree(record: &Record, calls: &CallTree, by_time: bool, mut out: impl Write) -> io::Result<()> {
    // Each node's own time is what its callees left of it.
    let mut own: HashMap<CallId, i64> = HashMap::new();
    let mut stacks: HashMap<CallId, String> = HashMap::new();
    for (id, call) in calls.iter() {
        *own.entry(id).or_default() += call.time.get();
        if let Some(parent) = call.parent {
            *own.entry(parent).or_default() -= call.time.get();
        }
    }
    for (id, call) in calls.iter() {
        let function = frame(record.name(call.function));
        let stack = match call.parent.and_then(|p| stacks.get(&p)) {
            Some(below) => format!("{below};{function}"),
            None => function,
        };
        let weight = match by_time {
            true => own.get(&id).map_or(0, |t| t / 1_000),
            false => i64::try_from(call.count).unwrap_or(i64::MAX),
        };
        if weight > 0 {
            writeln!(out, "{stack} {weight}")?;
        }
        stacks.insert(id, stack);
    }
    Ok(())
}

/// A name without what separates frames and ends lines.
fn frame(name: &str) -> String {
    name.replace([';', '\n', '\r'], "_")
}
