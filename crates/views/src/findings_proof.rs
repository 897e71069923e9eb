//! Expected against proven savings, for a terminal and as Markdown.

use crate::json::Document;
use crate::terminal::layout::{BAD, PLAIN, Screen, WARN};
use crate::terminal::style::Style;
use crate::terminal::table::{Column, Table, cell};
use crate::words::counted;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// Expected savings of findings, compared with the savings that their treatments achieved.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct FindingsProof {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Number of systems booted.
    pub systems: usize,
    /// Number of systems without a planted cause.
    pub clean: usize,
    /// Number of different findings proven.
    pub kinds: usize,
    /// Median error of the expected savings, in percent; null if no finding was proven.
    pub median_error_percent: Option<f64>,
    /// Number of findings whose treatment did not make the boot shorter.
    pub wrong_sign: usize,
    /// Proven findings.
    pub findings: Vec<ProvenFinding>,
    /// Savings expected on systems without a planted cause.
    pub false_findings: Vec<ExpectedSaving>,
    /// Boots and findings that failed.
    pub failures: Vec<UnprovenCause>,
}

impl Document for FindingsProof {
    const SCHEMA: &'static str = "firstlight.lab.findings/1";
    const TITLE: &'static str = "Output of `firstlight lab findings --json`";
}

/// A finding, and the saving of its treatment.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ProvenFinding {
    /// Name of the experiment.
    #[schemars(length(min = 1))]
    pub experiment: String,
    /// Identifier of the finding.
    #[schemars(length(min = 1))]
    pub finding: String,
    /// Rank among the boot's findings, counted from 1.
    #[schemars(range(min = 1))]
    pub rank: usize,
    /// Treatment, or a description of the manual change.
    #[schemars(length(min = 1))]
    pub treatment: String,
    /// Whether the change was made by hand because the lab has no treatment for it.
    pub by_hand: bool,
    /// Measured time without the treatment.
    pub boot_ns: i64,
    /// Expected saving.
    pub expected_ns: i64,
    /// Least and greatest expected saving.
    pub range_ns: [i64; 2],
    /// Achieved saving.
    pub proven_ns: i64,
    /// How much the expected saving exceeds the achieved one, in percent; null if nothing was
    /// saved.
    pub error_percent: Option<f64>,
}

/// A saving that a finding expects where there is no planted cause.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ExpectedSaving {
    /// Name of the experiment.
    #[schemars(length(min = 1))]
    pub experiment: String,
    /// Identifier of the finding.
    #[schemars(length(min = 1))]
    pub finding: String,
    /// Title of the finding.
    #[schemars(length(min = 1))]
    pub title: String,
    /// Expected saving.
    pub expected_ns: i64,
    /// Duration of the boot.
    pub boot_ns: i64,
}

/// A boot or a finding that failed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct UnprovenCause {
    /// Name of the experiment.
    #[schemars(length(min = 1))]
    pub experiment: String,
    /// Reason, in one sentence.
    #[schemars(length(min = 1))]
    pub why: String,
}

fn ms(ns: i64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| format!("{v:+.1} %"))
}

impl FindingsProof {
    fn summary(&self) -> String {
        let error = self.median_error_percent;
        let error = error.map_or_else(|| "none".to_owned(), |e| format!("{e:.1} %"));
        format!(
            "{} of {} on {}; median error {error}; {} with the wrong sign; {} on {}",
            counted(self.findings.len(), "finding"),
            counted(self.kinds, "kind"),
            counted(self.systems - self.clean, "system"),
            self.wrong_sign,
            counted(self.false_findings.len(), "false finding"),
            counted(self.clean, "clean system")
        )
    }

    /// As Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "{}.\n\n| experiment | finding | rank | treatment | boot, ms | expected, ms | from | to \
             | proven, ms | error |\n|---|---|---:|---|---:|---:|---:|---:|---:|---:|\n",
            self.summary()
        );
        for f in &self.findings {
            let treatment = match f.by_hand {
                true => format!("by hand: {}", f.treatment.replace('|', "\\|")),
                false => format!("`{}`", f.treatment.replace('|', "\\|")),
            };
            let [low, high] = f.range_ns;
            // Writing into a string does not fail.
            let _ = writeln!(
                text,
                "| {} | {} | {} | {treatment} | {} | {} | {} | {} | {} | {} |",
                f.experiment,
                f.finding,
                f.rank,
                ms(f.boot_ns),
                ms(f.expected_ns),
                ms(low),
                ms(high),
                ms(f.proven_ns),
                percent(f.error_percent)
            );
        }
        for f in &self.false_findings {
            let _ = writeln!(
                text,
                "\nFalse finding: `{}` on the clean system {}: \"{}\" expects {} ms of {} ms.",
                f.finding,
                f.experiment,
                f.title,
                ms(f.expected_ns),
                ms(f.boot_ns)
            );
        }
        for f in &self.failures {
            let _ = writeln!(text, "\nFailed: {}: {}.", f.experiment, f.why);
        }
        text
    }

    /// For a terminal.
    #[must_use]
    pub fn terminal(&self, style: &Style) -> String {
        let mut screen = Screen::new(style);
        screen.heading("Expected and proven savings", &self.summary());
        let mut table = Table::new([
            Column::name("finding"),
            Column::name("experiment"),
            Column::number("rank"),
            Column::number("expected, ms"),
            Column::number("proven, ms"),
            Column::number("error"),
        ]);
        for f in &self.findings {
            let ansi = match f.error_percent {
                Some(e) if e.abs() <= 25.0 => PLAIN,
                Some(_) => WARN,
                None => BAD,
            };
            table.row([
                cell(&f.finding).bold(),
                cell(&f.experiment),
                cell(f.rank),
                cell(ms(f.expected_ns)),
                cell(ms(f.proven_ns)),
                cell(percent(f.error_percent)).ansi(ansi),
            ]);
        }
        table.print(&mut screen);
        for f in &self.false_findings {
            let text = format!(
                "{}: `{}` expects to save {} ms of {} ms",
                f.experiment,
                f.finding,
                ms(f.expected_ns),
                ms(f.boot_ns)
            );
            screen.wrapped("  false   ", 10, BAD, &text);
        }
        for f in &self.failures {
            screen.wrapped(
                "  failed  ",
                10,
                BAD,
                &format!("{}: {}", f.experiment, f.why),
            );
        }
        screen.finish()
    }
}
