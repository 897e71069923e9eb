//! Expected against proven savings, for a terminal and as Markdown.

use crate::terminal::Style;
use crate::terminal::layout::{BAD, BOLD, PLAIN, Screen, WARN, clean, left, right};
use serde::Serialize;
use std::fmt::Write as _;

/// What findings expected of planted causes, and what their treatments brought.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FindingsProof {
    /// `firstlight.lab.findings/1`.
    pub schema: &'static str,
    /// How many systems were booted.
    pub systems: usize,
    /// How many of them have no planted cause.
    pub clean: usize,
    /// How many different findings were proven.
    pub kinds: usize,
    /// The middle of the errors, percent; `null` if nothing was proven.
    pub median_error_percent: Option<f64>,
    /// In how many the treatment made the boot no shorter.
    pub wrong_sign: usize,
    /// Each finding.
    pub findings: Vec<ProvenFinding>,
    /// What was promised on systems without a cause.
    pub false_findings: Vec<ExpectedSaving>,
    /// What did not come.
    pub failures: Vec<UnprovenCause>,
}

/// A finding, and what came of following it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProvenFinding {
    /// The experiment.
    pub experiment: String,
    /// The finding.
    pub finding: String,
    /// Which of the boot's findings it is, the first being 1.
    pub rank: usize,
    /// The treatment, or what was done by hand.
    pub treatment: String,
    /// Whether it was done by hand: no treatment of the lab does it.
    pub by_hand: bool,
    /// What was timed, without the treatment.
    pub boot_ns: i64,
    /// The saving that is expected.
    pub expected_ns: i64,
    /// From the least to the most.
    pub range_ns: [i64; 2],
    /// The saving that came.
    pub proven_ns: i64,
    /// By how much the expected one is too large, percent of the one that came;
    /// `null`: none came.
    pub error_percent: Option<f64>,
}

/// A saving that is promised where there is nothing to save.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectedSaving {
    /// The experiment.
    pub experiment: String,
    /// The finding.
    pub finding: String,
    /// What it says.
    pub title: String,
    /// What it promises.
    pub expected_ns: i64,
    /// How long the boot takes.
    pub boot_ns: i64,
}

/// A boot or a finding that did not come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnprovenCause {
    /// The experiment.
    pub experiment: String,
    /// Why, in a sentence.
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
            "{} findings of {} kinds on {} systems; the middle of the errors is {error}; {} with the \
             wrong sign; {} false on {} clean systems",
            self.findings.len(),
            self.kinds,
            self.systems - self.clean,
            self.wrong_sign,
            self.false_findings.len(),
            self.clean
        )
    }

    /// As Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "{}.\n\n| experiment | finding | rank | treatment | timed, ms | expected, ms | from | to \
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
                "\nFalse: `{}` on the clean system {}: \"{}\" promises {} ms of {} ms.",
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
        screen.heading("Expected and proven", &self.summary());
        let head = format!(
            "  {}  {}  {}  {}  {}  {}",
            left("finding", 24),
            left("of", 16),
            right("rank", 4),
            right("expected", 10),
            right("proven", 10),
            right("error", 9)
        );
        screen.columns(&head);
        for f in &self.findings {
            let ansi = match f.error_percent {
                Some(e) if e.abs() <= 25.0 => PLAIN,
                Some(_) => WARN,
                None => BAD,
            };
            let error = screen.paint(ansi, &right(&percent(f.error_percent), 9));
            let name = screen.paint(BOLD, &left(&clean(&f.finding), 24));
            screen.line(&format!(
                "  {name}  {}  {}  {}  {}  {error}",
                left(&clean(&f.experiment), 16),
                right(&f.rank.to_string(), 4),
                right(&ms(f.expected_ns), 10),
                right(&ms(f.proven_ns), 10),
            ));
        }
        for f in &self.false_findings {
            let text = format!(
                "{}: `{}` promises {} ms of {} ms",
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
