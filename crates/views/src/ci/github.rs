//! GitHub Actions: commands in the log that become annotations, and the job summary.

use super::markdown::markdown;
use super::report::{Outcome, Report};
use std::fmt::Write;

/// A workflow command for each check: an error, a warning, or a notice.
#[must_use]
pub fn annotations(r: &Report) -> String {
    let mut text = String::new();
    for c in &r.checks {
        let command = match c.outcome {
            Outcome::Passed => "notice",
            Outcome::Failed => "error",
            Outcome::CannotTell => "warning",
        };
        let message = std::iter::once(&c.summary).chain(&c.details);
        let message: Vec<&str> = message.map(String::as_str).collect();
        let title = data(&format!("Boot time: {}", c.id.replace('_', " ")));
        let title = title.replace(':', "%3A").replace(',', "%2C");
        // Writing into a string does not fail.
        let _ = writeln!(
            text,
            "::{command} title={title}::{}",
            data(&message.join("\n"))
        );
    }
    text
}

/// The data of a workflow command: one line, with escapes.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// What is appended to the file of the job summary.
#[must_use]
pub fn summary(r: &Report) -> String {
    markdown(r)
}
