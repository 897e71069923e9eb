//! Figures for programs that keep them.

use super::report::{Outcome, Report};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Prometheus text exposition format 0.0.4, for the textfile collector or a push gateway.
#[must_use]
pub fn prometheus(r: &Report) -> String {
    let mut text = String::from(
        "# HELP firstlight_boot_time_seconds Median boot time.\n\
         # TYPE firstlight_boot_time_seconds gauge\n",
    );
    for f in &r.figures {
        // Writing into a string does not fail.
        let _ = writeln!(
            text,
            "firstlight_boot_time_seconds{{name=\"{}\",kind=\"{}\"}} {}",
            f.name,
            f.kind,
            f.value.get() as f64 / 1e9
        );
    }
    text.push_str(
        "# HELP firstlight_check_outcome 0 passed, 1 failed, 2 cannot tell.\n\
         # TYPE firstlight_check_outcome gauge\n",
    );
    for c in &r.checks {
        let code = match c.outcome {
            Outcome::Passed => 0,
            Outcome::Failed => 1,
            Outcome::CannotTell => 2,
        };
        let _ = writeln!(
            text,
            "firstlight_check_outcome{{check=\"{}\"}} {code}",
            c.id
        );
    }
    text
}

/// Bencher Metric Format: benchmark, measure, value in nanoseconds.
#[must_use]
pub fn bencher(r: &Report) -> String {
    let all = r.figures.iter().map(|f| {
        let mut latency = Map::new();
        latency.insert("value".to_owned(), f.value.get().into());
        if let Some((low, high)) = f.range {
            latency.insert("lower_value".to_owned(), low.get().into());
            latency.insert("upper_value".to_owned(), high.get().into());
        }
        (f.name.clone(), json!({ "latency": latency }))
    });
    crate::json::text(&all.collect::<Map<String, Value>>())
}

/// What github-action-benchmark reads as `customSmallerIsBetter`.
#[must_use]
pub fn benchmark(r: &Report) -> String {
    let all = r.figures.iter().map(|f| {
        let mut entry = json!({
            "name": f.name,
            "unit": "ms",
            "value": f.value.get() as f64 / 1e6,
        });
        if let Some((low, high)) = f.range {
            let half = (high - low).get() as f64 / 2e6;
            entry["range"] = format!("\u{b1} {half:.3}").into();
        }
        entry
    });
    crate::json::text(&all.collect::<Vec<Value>>())
}
