//! The Test Anything Protocol, version 13.

use super::report::{Outcome, Report};
use std::fmt::Write;

/// A line for each check; its details are a YAML block.
#[must_use]
pub fn tap(r: &Report) -> String {
    let mut text = format!("TAP version 13\n1..{}\n", r.checks.len());
    for (number, c) in (1..).zip(&r.checks) {
        let ok = match c.outcome {
            Outcome::Passed => "ok",
            Outcome::Failed | Outcome::CannotTell => "not ok",
        };
        // A number sign begins a directive.
        let summary = line(&c.summary).replace('#', "\\#");
        // Writing into a string does not fail.
        let _ = writeln!(text, "{ok} {number} - {summary}\n  ---");
        let _ = writeln!(text, "  outcome: \"{}\"", c.outcome.as_str());
        if let Some(time) = c.time {
            let _ = writeln!(text, "  time_ns: {}", time.get());
        }
        if !c.details.is_empty() {
            text.push_str("  details:\n");
        }
        for detail in &c.details {
            let _ = writeln!(text, "    - {}", serde_json::Value::from(line(detail)));
        }
        text.push_str("  ...\n");
    }
    text
}

fn line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
