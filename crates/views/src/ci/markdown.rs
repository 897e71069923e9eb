//! A comment on a pull request: one table, one picture, folded details.

use super::report::{Mover, Outcome, Report};
use crate::markdown::cell;
use record::Nanos;
use std::fmt::Write;

/// The heights of a picture of characters.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The most characters of it.
const WIDTH: usize = 60;

/// The report in Markdown.
#[must_use]
pub fn markdown(r: &Report) -> String {
    let mark = |outcome: Outcome| match outcome {
        Outcome::Passed => "✅ passed",
        Outcome::Failed => "❌ failed",
        Outcome::CannotTell => "⚠️ cannot tell",
    };
    // Writing into a string does not fail.
    let mut text = format!("### Boot time: {}\n\n", mark(r.outcome));
    text.push_str("| check | result | |\n|---|---|---|\n");
    for c in &r.checks {
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            cell(&c.id.replace('_', " ")),
            mark(c.outcome),
            cell(&c.summary)
        );
    }
    if let Some(picture) = picture(r) {
        let _ = write!(text, "\n```text\n{picture}```\n");
    }
    if !r.movers.is_empty() {
        let _ = write!(
            text,
            "\n<details><summary>Items that changed: {}</summary>\n\n\
             | item | before | after | change |\n|---|---:|---:|---:|\n",
            r.movers.len()
        );
        for m in &r.movers {
            let time = |t: Option<Nanos>| t.map_or_else(String::new, |t| t.to_string());
            let Mover { name, .. } = m;
            let (before, after) = (time(m.before), time(m.after));
            let _ = writeln!(
                text,
                "| {} | {before} | {after} | {} |",
                cell(name),
                m.change()
            );
        }
        text.push_str("\n</details>\n");
    }
    text.push_str("\n<details><summary>How sure</summary>\n\n");
    for c in &r.checks {
        for detail in &c.details {
            let _ = writeln!(
                text,
                "- {}: {}",
                cell(&c.id.replace('_', " ")),
                cell(detail)
            );
        }
    }
    text.push_str("\n</details>\n");
    text
}

/// The newest points as bars, with a mark below each change.
fn picture(r: &Report) -> Option<String> {
    let skipped = r.series.len().saturating_sub(WIDTH);
    let points = r.series.get(skipped..)?;
    let (least, most) = (points.iter().min()?, points.iter().max()?);
    let range = (*most - *least).get().max(1) as f64;
    let bar = |p: &Nanos| {
        let height = (*p - *least).get() as f64 / range * 7.0;
        BARS.get(height.round() as usize).copied().unwrap_or('█')
    };
    let bars: String = points.iter().map(bar).collect();
    let marks: String = (skipped..r.series.len())
        .map(|at| if r.breaks.contains(&at) { '^' } else { ' ' })
        .collect();
    let marks = marks.trim_end();
    Some(format!(
        "{bars}  {least} to {most}\n{marks}{}",
        if marks.is_empty() {
            ""
        } else {
            "  change points\n"
        }
    ))
}
