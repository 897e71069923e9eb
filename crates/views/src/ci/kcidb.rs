//! A KCIDB report, version 5.3: a checkout, a build, and a test for each check.
//!
//! KCIDB joins reports by ids, each with the name of its origin before a colon. Whoever
//! submits the report gives it their origin.

use super::report::{Check, Outcome, Report};
use serde_json::{Value, json};

const ORIGIN: &str = "firstlight";

/// The report.
#[must_use]
pub fn kcidb(r: &Report) -> String {
    let build = format!("{ORIGIN}:boot");
    let test = |c: &Check| {
        let mut test = json!({
            "id": format!("{ORIGIN}:{}", c.id),
            "origin": ORIGIN,
            "build_id": build,
            "path": format!("boot_time.{}", c.id),
            "comment": c.summary,
            "status": match c.outcome {
                Outcome::Passed => "PASS",
                Outcome::Failed => "FAIL",
                Outcome::CannotTell => "ERROR",
            },
        });
        if let Some(time) = c.time {
            test["number"] = json!({
                "value": time.get() as f64 / 1e9,
                "unit": "s",
            });
        }
        test
    };
    let tests: Vec<Value> = r.checks.iter().map(test).collect();
    crate::json::text(&json!({
        "version": { "major": 5, "minor": 3 },
        "checkouts": [{ "id": format!("{ORIGIN}:checkout"), "origin": ORIGIN }],
        "builds": [{
            "id": build,
            "origin": ORIGIN,
            "checkout_id": format!("{ORIGIN}:checkout"),
        }],
        "tests": tests,
    }))
}
