//! A gate's answer in files for other programs.

use crate::args::Outputs;
use crate::beside;
use crate::out::Out;
use anyhow::{Context, Result};
use std::fs::OpenOptions;
use std::io::Write;
use views::ci::{self, Report};

/// What a report becomes in one format.
type Text = fn(&Report) -> String;

/// Writes all that was asked for. Annotations go to standard output, before the report.
pub fn write(outputs: &Outputs, report: &Report, out: &mut Out) -> Result<()> {
    let files: [(_, Text); 9] = [
        (&outputs.markdown, ci::markdown),
        (&outputs.junit, ci::junit),
        (&outputs.sarif, ci::sarif),
        (&outputs.tap, ci::tap),
        (&outputs.prometheus, ci::prometheus),
        (&outputs.kcidb, ci::kcidb),
        (&outputs.bencher, ci::bencher),
        (&outputs.benchmark, ci::benchmark),
        (&outputs.badge, ci::badge),
    ];
    for (path, text) in files {
        if let Some(path) = path {
            beside::write(path, |file| Ok(file.write_all(text(report).as_bytes())?))?;
        }
    }
    if !outputs.github {
        return Ok(());
    }
    if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") {
        let cannot = || format!("{}: cannot be written", path.display());
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let written = file.and_then(|mut f| f.write_all(ci::summary(report).as_bytes()));
        written.with_context(cannot)?;
    }
    // JSON stays alone on standard output.
    let annotations = ci::annotations(report);
    match out.json {
        true => std::io::stderr().write_all(annotations.as_bytes())?,
        false => out.text(&annotations)?,
    }
    Ok(())
}
