//! Measured mounts beside the predictions of the cost model.

use crate::json::Document;
use crate::terminal::layout::{BAD, PLAIN, Screen, WARN, clean};
use crate::terminal::style::Style;
use crate::terminal::table::{Column, Table, cell};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// Mount times measured in exact time, compared with the model of their cost.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Mounts {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Experiments.
    #[schemars(length(min = 1))]
    pub experiments: Vec<MountExperiment>,
    /// Errors of the model by file system.
    pub filesystems: Vec<MountErrors>,
}

impl Document for Mounts {
    const SCHEMA: &'static str = "firstlight.lab.mounts/1";
    const TITLE: &'static str = "Output of `firstlight lab mounts --json`";
}

/// An experiment.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct MountExperiment {
    /// What was measured.
    #[schemars(length(min = 1))]
    pub title: String,
    /// Machine of the experiment.
    pub machine: String,
    /// Mounts.
    pub mounts: Vec<Mount>,
    /// Boots that failed, and the reasons.
    pub failures: Vec<String>,
}

/// A mount, measured and predicted.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Mount {
    /// Name of the image.
    #[schemars(length(min = 1))]
    pub image: String,
    /// File system.
    pub filesystem: String,
    /// State of the image: `clean`, `replay` (its log is replayed), or empty.
    #[schemars(extend("enum" = ["clean", "replay", ""]))]
    pub state: String,
    /// Storage profile, or the flash chip.
    pub storage: String,
    /// Whether the model was fitted on this image.
    pub fit: bool,
    /// Number of read requests; null if they were not counted.
    pub reads: Option<u64>,
    /// Predicted number of read requests.
    pub predicted_reads: Option<u64>,
    /// Bytes read; null if they were not counted.
    pub read_bytes: Option<u64>,
    /// Predicted bytes read.
    pub predicted_read_bytes: Option<u64>,
    /// Measured duration, in virtual time.
    pub measured_ns: i64,
    /// Predicted duration.
    #[schemars(range(min = 0))]
    pub predicted_ns: Option<i64>,
    /// How much the predicted duration exceeds the measured one, in percent.
    pub error_percent: Option<f64>,
}

/// Errors of the model for a file system.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct MountErrors {
    /// File system.
    #[schemars(length(min = 1))]
    pub filesystem: String,
    /// Number of mounts of images that the model was not fitted on.
    pub checked: usize,
    /// Largest error of these mounts, in percent; null if there is none.
    #[schemars(range(min = 0))]
    pub largest_percent: Option<f64>,
    /// Number of mounts of images that the model was fitted on.
    pub fitted: usize,
    /// Largest error of these mounts, in percent; null if there is none.
    #[schemars(range(min = 0))]
    pub largest_fitted_percent: Option<f64>,
    /// Error that the model states, in percent; null if it states none.
    pub stated_percent: Option<u32>,
}

fn ms(ns: i64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

fn percent(value: Option<f64>) -> String {
    value.map_or(String::new(), |v| format!("{v:+.1} %"))
}

fn size(value: Option<f64>) -> String {
    value.map_or(String::new(), |v| format!("{v:.1} %"))
}

/// Measured and predicted, where they differ; one number where not.
fn both(measured: Option<u64>, predicted: Option<u64>) -> String {
    match (measured, predicted) {
        (Some(m), Some(p)) if m != p => format!("{m} ({p})"),
        (Some(n), _) | (None, Some(n)) => n.to_string(),
        (None, None) => String::new(),
    }
}

impl Mounts {
    /// As Markdown: a table for the filesystems, and one for each experiment.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = "## Prediction errors by filesystem\n\n\
                        | filesystem | mounts checked | largest error | mounts fitted | largest error | stated bound |\n\
                        |---|---:|---:|---:|---:|---:|\n"
            .to_owned();
        for f in &self.filesystems {
            // Writing into a string does not fail.
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} |",
                f.filesystem,
                f.checked,
                size(f.largest_percent),
                f.fitted,
                size(f.largest_fitted_percent),
                f.stated_percent.map_or(String::new(), |p| format!("{p} %"))
            );
        }
        for e in &self.experiments {
            let _ = write!(
                text,
                "\n## {}\n\n| image | | storage | reads | bytes | measured, ms | predicted, ms | error |\n\
                 |---|---|---|---:|---:|---:|---:|---:|\n",
                e.title
            );
            for m in &e.mounts {
                let fit = if m.fit { ", fitted" } else { "" };
                let _ = writeln!(
                    text,
                    "| {} | {}, {}{fit} | {} | {} | {} | {} | {} | {} |",
                    m.image,
                    m.filesystem,
                    m.state,
                    m.storage,
                    both(m.reads, m.predicted_reads),
                    both(m.read_bytes, m.predicted_read_bytes),
                    ms(m.measured_ns),
                    m.predicted_ns.map_or(String::new(), ms),
                    percent(m.error_percent)
                );
            }
            let _ = writeln!(text, "\nMachine: {}.", e.machine);
            for failure in &e.failures {
                let _ = writeln!(text, "\nFailed: {failure}.");
            }
        }
        text
    }

    /// For a terminal.
    #[must_use]
    pub fn terminal(&self, style: &Style) -> String {
        let mut screen = Screen::new(style);
        for e in &self.experiments {
            screen.heading(&clean(&e.title), &e.machine);
            let mut table = Table::new([
                Column::name("image"),
                Column::text("storage"),
                Column::number("reads"),
                Column::number("measured, ms"),
                Column::number("predicted, ms"),
                Column::number("error"),
                Column::text(""),
            ]);
            for m in &e.mounts {
                let ansi = match m.error_percent {
                    Some(p) if p.abs() > 15.0 => WARN,
                    _ => PLAIN,
                };
                table.row([
                    cell(&m.image),
                    cell(&m.storage),
                    cell(both(m.reads, m.predicted_reads)),
                    cell(ms(m.measured_ns)),
                    cell(m.predicted_ns.map_or(String::new(), ms)),
                    cell(percent(m.error_percent)).ansi(ansi),
                    cell(if m.fit { "fitted" } else { "" }),
                ]);
            }
            table.print(&mut screen);
            for failure in &e.failures {
                screen.wrapped("  failed  ", 10, BAD, failure);
            }
        }
        screen.heading(
            "Largest errors",
            "mounts of images that no figure of the model was fitted on",
        );
        let mut table = Table::new([
            Column::name("filesystem"),
            Column::number("error"),
            Column::number("mounts"),
            Column::number("stated bound"),
        ]);
        for f in &self.filesystems {
            table.row([
                cell(&f.filesystem),
                cell(size(f.largest_percent)),
                cell(f.checked),
                cell(f.stated_percent.map_or(String::new(), |p| format!("{p} %"))),
            ]);
        }
        table.print(&mut screen);
        screen.finish()
    }
}
