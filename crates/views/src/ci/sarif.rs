//! SARIF 2.1.0 (OASIS, 2020): results that GitHub shows as code scanning alerts.

use super::report::{Check, Outcome, Report};
use serde_json::{Value, json};

/// A result for each check that did not pass.
#[must_use]
pub fn sarif(r: &Report) -> String {
    let failed = |c: &&Check| c.outcome != Outcome::Passed;
    let result = |c: &Check| {
        let details = c.details.join("; ");
        json!({
            "ruleId": c.id,
            "level": match c.outcome {
                Outcome::Failed => "error",
                Outcome::Passed | Outcome::CannotTell => "warning",
            },
            "message": { "text": format!("{}. {details}", c.summary) },
            // GitHub wants a place; a boot time has none in the sources.
            "locations": [{
                "physicalLocation": { "artifactLocation": { "uri": "README.md" } }
            }],
            "partialFingerprints": { "firstlight/v1": c.id },
        })
    };
    let rule = |c: &Check| {
        json!({
            "id": c.id,
            "shortDescription": { "text": format!("Boot time: {}", c.id.replace('_', " ")) },
        })
    };
    let results: Vec<Value> = r.checks.iter().filter(failed).map(result).collect();
    let rules: Vec<Value> = r.checks.iter().map(rule).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Firstlight",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "results": results,
        }],
    });
    crate::json::text(&document)
}
