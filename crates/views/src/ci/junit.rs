//! JUnit XML, as GitLab and Jenkins read it (the schema of Jenkins' xUnit plugin,
//! `junit-10.xsd`): suites, cases, and a failure or an error of a case.

use super::report::{Outcome, Report};
use super::xml;
use record::Nanos;
use std::fmt::Write;

/// Seconds with three digits: `5.116`.
fn seconds(time: Option<Nanos>) -> String {
    format!("{:.3}", time.unwrap_or_default().get().max(0) as f64 / 1e9)
}

/// A case for each check. What cannot be told is an error.
#[must_use]
pub fn junit(r: &Report) -> String {
    let count = |wanted: Outcome| r.checks.iter().filter(|c| c.outcome == wanted).count();
    let (tests, failures, errors) = (
        r.checks.len(),
        count(Outcome::Failed),
        count(Outcome::CannotTell),
    );
    let name = xml(r.program);
    // Writing into a string does not fail.
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuites name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" \
         errors=\"{errors}\">"
    );
    let _ = writeln!(
        text,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" \
         errors=\"{errors}\" skipped=\"0\">"
    );
    for c in &r.checks {
        let (class, time) = (name.replace(' ', "."), seconds(c.time));
        let id = xml(&c.id);
        let _ = writeln!(
            text,
            "    <testcase classname=\"{class}\" name=\"{id}\" time=\"{time}\">"
        );
        let tag = match c.outcome {
            Outcome::Passed => None,
            Outcome::Failed => Some("failure"),
            Outcome::CannotTell => Some("error"),
        };
        let details = xml(&c.details.join("\n"));
        let summary = xml(&c.summary);
        let _ = match tag {
            Some(tag) => writeln!(
                text,
                "      <{tag} message=\"{summary}\" type=\"{}\">{details}</{tag}>",
                c.outcome.as_str()
            ),
            None => writeln!(text, "      <system-out>{summary}\n{details}</system-out>"),
        };
        text.push_str("    </testcase>\n");
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}
