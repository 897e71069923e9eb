//! Mounts that were measured, beside what the model of their cost says.

use crate::terminal::Style;
use crate::terminal::layout::{BAD, PLAIN, Screen, WARN, clean, left, right};
use serde::Serialize;
use std::fmt::Write as _;

/// The mounts of some experiments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mounts {
    /// `firstlight.lab.mounts/1`.
    pub schema: &'static str,
    /// One for each experiment.
    pub experiments: Vec<MountExperiment>,
    /// For each filesystem.
    pub filesystems: Vec<MountErrors>,
}

/// An experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MountExperiment {
    /// What was measured.
    pub title: String,
    /// What it was run on.
    pub machine: String,
    /// Each mount.
    pub mounts: Vec<Mount>,
    /// Boots that came to no end, and why.
    pub failures: Vec<String>,
}

/// A mount, measured and predicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mount {
    /// The image.
    pub image: String,
    /// The filesystem.
    pub filesystem: String,
    /// `clean` or `replay`.
    pub state: String,
    /// The storage profile, or the chip.
    pub storage: String,
    /// Whether figures of the model were fitted on this image.
    pub fit: bool,
    /// Requests that read; `null`: not counted.
    pub reads: Option<u64>,
    /// As predicted.
    pub predicted_reads: Option<u64>,
    /// Bytes read; `null`: not counted.
    pub read_bytes: Option<u64>,
    /// As predicted.
    pub predicted_read_bytes: Option<u64>,
    /// How long it took, in virtual time.
    pub measured_ns: i64,
    /// As predicted.
    pub predicted_ns: Option<i64>,
    /// By how much that is too long, percent.
    pub error_percent: Option<f64>,
}

/// How far off the model is for a filesystem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MountErrors {
    /// The filesystem.
    pub filesystem: String,
    /// Mounts of images that nothing was fitted on.
    pub checked: usize,
    /// The largest error of these, percent; `null` if there is none.
    pub largest_percent: Option<f64>,
    /// Mounts of images that figures were fitted on.
    pub fitted: usize,
    /// The largest error of these, percent.
    pub largest_fitted_percent: Option<f64>,
    /// What is stated, percent; `null`: nothing.
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
        let mut text = "## How far off, for each filesystem\n\n\
                        | filesystem | checked | largest error | fitted | largest error | stated |\n\
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
                "\n## {}\n\n| image | | on | reads | bytes | measured, ms | predicted, ms | error |\n\
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
            let head = format!(
                "  {}  {}  {}  {}  {}  {}",
                left("image", 18),
                left("on", 12),
                right("reads", 9),
                right("measured", 10),
                right("predicted", 10),
                right("error", 8)
            );
            screen.columns(&head);
            for m in &e.mounts {
                let error = right(&percent(m.error_percent), 8);
                let ansi = match m.error_percent {
                    Some(p) if p.abs() > 15.0 => WARN,
                    _ => PLAIN,
                };
                let error = screen.paint(ansi, &error);
                let fit = if m.fit { "  fitted" } else { "" };
                screen.line(&format!(
                    "  {}  {}  {}  {}  {}  {error}{fit}",
                    left(&clean(&m.image), 18),
                    left(&clean(&m.storage), 12),
                    right(&both(m.reads, m.predicted_reads), 9),
                    right(&ms(m.measured_ns), 10),
                    right(&m.predicted_ns.map_or(String::new(), ms), 10),
                ));
            }
            for failure in &e.failures {
                screen.wrapped("  failed  ", 10, BAD, failure);
            }
        }
        screen.heading("How far off", "images that nothing was fitted on");
        for f in &self.filesystems {
            let stated = f.stated_percent.map(|p| format!(", stated {p} %"));
            screen.line(&format!(
                "  {}  {} of {} {}{}",
                left(&clean(&f.filesystem), 18),
                right(&size(f.largest_percent), 8),
                f.checked,
                crate::plural(f.checked, "mount"),
                stated.unwrap_or_default()
            ));
        }
        screen.finish()
    }
}
