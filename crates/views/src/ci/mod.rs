//! A gate's answer in the formats of the programs that show results.
//!
//! Each format is a function of one [`Report`]: what was checked, how it came out, and the
//! figures. They lay out and escape; they judge nothing.

mod badge;
mod github;
mod junit;
mod kcidb;
mod markdown;
mod matrix;
mod metrics;
mod report;
mod sarif;
mod tap;

pub use badge::badge;
pub use github::{annotations, summary};
pub use junit::junit;
pub use kcidb::kcidb;
pub use markdown::markdown;
pub use matrix::{MOST_JOBS, github_matrix, gitlab_jobs};
pub use metrics::{bencher, benchmark, prometheus};
pub use report::{Check, Figure, Mover, Outcome, Report, of_gate, of_history};
pub use sarif::sarif;
pub use tap::tap;

/// Text in XML, in an element or an attribute. Characters that XML 1.0 does not know are
/// replaced.
fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' => escaped.push(c),
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push('\u{fffd}');
            }
            c => escaped.push(c),
        }
    }
    escaped
}
