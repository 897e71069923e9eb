//! What an experiment with identical variants can detect.

use crate::json::Document;
use crate::json::values::VERDICTS;
use crate::terminal::layout::{DIM, Screen, clean, delta, right};
use crate::terminal::style::Style;
use crate::terminal::table::{Column, Table, cell};
use analysis::{DRAWS, RunResolution};
use record::Nanos;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// How often identical variants are called different, and how often delays are detected.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Resolution {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Folder of the run.
    pub run: String,
    /// Number of boots of identical variants.
    #[schemars(range(min = 4))]
    pub boots: usize,
    /// Number of identical variants.
    pub variants: usize,
    /// Earliest first light of these boots.
    pub min_ns: i64,
    /// Median of first light.
    pub median_ns: i64,
    /// Latest first light.
    pub max_ns: i64,
    /// Number of pairs of ensembles drawn for each size.
    #[schemars(range(min = 1))]
    pub draws: u32,
    /// Results for each size of an ensemble.
    pub ensembles: Vec<ResolutionEnsemble>,
    /// Number of pairs of identical variants with at least two boots each.
    pub pairs: usize,
    /// Number of these pairs that are called different.
    pub told_apart: usize,
    /// Variants that change something, compared with the baseline.
    pub changed: Vec<ResolutionChange>,
}

impl Document for Resolution {
    const SCHEMA: &'static str = "firstlight.lab.resolution/1";
    const TITLE: &'static str = "Output of `firstlight lab resolution --json`";
}

impl Resolution {
    /// The document of what the run in the folder `run` says.
    #[must_use]
    pub fn of(run: &str, found: &RunResolution) -> Self {
        let changed = found
            .changed
            .iter()
            .map(|(variant, effect)| ResolutionChange {
                variant: variant.clone(),
                delta_ns: effect.delta.get(),
                spread_ns: effect.spread.get(),
                least_ns: effect.least.get(),
                verdict: effect.verdict.as_str(),
                unperturbed: effect.unperturbed,
            });
        Self {
            schema: Self::SCHEMA,
            run: run.to_owned(),
            boots: found.boots,
            variants: found.variants,
            min_ns: found.range.0.get(),
            median_ns: found.median.get(),
            max_ns: found.range.1.get(),
            draws: DRAWS,
            ensembles: found.ensembles.iter().map(ResolutionEnsemble::of).collect(),
            pairs: found.alike.pairs,
            told_apart: found.alike.told_apart,
            changed: changed.collect(),
        }
    }
}

impl ResolutionEnsemble {
    fn of(row: &analysis::Resolution) -> Self {
        let found = row.found.iter().map(|f| ResolutionFound {
            delay_percent: f.percent,
            found_percent: f.part * 100.0,
        });
        Self {
            boots: row.boots,
            margin: row.margin,
            false_alarms_percent: row.false_alarms * 100.0,
            found: found.collect(),
        }
    }
}

/// Results for ensembles of one size.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ResolutionEnsemble {
    /// Number of boots in an ensemble.
    #[schemars(range(min = 2))]
    pub boots: usize,
    /// Required difference, in spreads.
    #[schemars(range(min = 1))]
    pub margin: f64,
    /// Percentage of identical pairs that are called different.
    #[schemars(range(min = 0, max = 100))]
    pub false_alarms_percent: f64,
    /// Results for each delay.
    pub found: Vec<ResolutionFound>,
}

/// How often a delay is detected.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ResolutionFound {
    /// Delay, in percent of the median.
    #[schemars(range(min = 0))]
    pub delay_percent: f64,
    /// Percentage of pairs in which the delay is detected.
    #[schemars(range(min = 0, max = 100))]
    pub found_percent: f64,
}

/// A variant that changes something.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ResolutionChange {
    /// Name of the variant.
    #[schemars(length(min = 1))]
    pub variant: String,
    /// Difference of the medians.
    pub delta_ns: i64,
    /// Spread: how much first light moves under neutral perturbations.
    #[schemars(range(min = 0))]
    pub spread_ns: i64,
    /// Smallest difference that counts.
    #[schemars(range(min = 0))]
    pub least_ns: i64,
    /// Verdict of the comparison.
    #[schemars(extend("enum" = VERDICTS))]
    pub verdict: &'static str,
    /// Whether it or the baseline was booted once. The verdict is then the sign of the
    /// difference.
    pub unperturbed: bool,
}

impl ResolutionChange {
    /// The verdict for a reader; one boot gives none.
    fn said(&self) -> String {
        match self.unperturbed {
            true => "one boot".to_owned(),
            false if self.verdict == "no_difference" => "not significant".to_owned(),
            false => self.verdict.to_owned(),
        }
    }

    /// A duration that one boot cannot give.
    fn known(&self, ns: i64) -> Option<Nanos> {
        (!self.unperturbed).then_some(Nanos(ns))
    }
}

impl Resolution {
    /// The sample, in a sentence.
    fn drawn(&self) -> String {
        let of = |ns| Nanos(ns).to_string();
        format!(
            "{} boots of {} identical variants: first light {} to {}, median {}. {} pairs drawn for \
             each size",
            self.boots,
            self.variants,
            of(self.min_ns),
            of(self.max_ns),
            of(self.median_ns),
            self.draws
        )
    }

    fn as_booted(&self) -> Option<String> {
        (self.pairs > 0).then(|| {
            format!(
                "As booted, {} of {} pairs of identical variants are called different",
                self.told_apart, self.pairs
            )
        })
    }

    fn delays(&self) -> Vec<String> {
        let first = self.ensembles.first();
        let found = first.map_or(&[][..], |e| &e.found);
        found
            .iter()
            .map(|f| format!("{} %", f.delay_percent))
            .collect()
    }

    /// As Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let delays = self.delays();
        let mut text = format!(
            "{}.\n\n| boots per side | margin, spreads | false alarms |",
            self.drawn()
        );
        for delay in &delays {
            let _ = write!(text, " {delay} detected |");
        }
        text += "\n|---:|---:|---:|";
        text += &"---:|".repeat(delays.len());
        text.push('\n');
        for e in &self.ensembles {
            let _ = write!(
                text,
                "| {} | {} | {:.1} % |",
                e.boots, e.margin, e.false_alarms_percent
            );
            for f in &e.found {
                let _ = write!(text, " {:.0} % |", f.found_percent);
            }
            text.push('\n');
        }
        if let Some(said) = self.as_booted() {
            let _ = write!(text, "\n{said}.\n");
        }
        if !self.changed.is_empty() {
            text += "\n| variant | change | spread | smallest significant | verdict |\n|---|---:|---:|---:|---|\n";
        }
        for c in &self.changed {
            let known = |ns| c.known(ns).map_or("unknown".to_owned(), |n| n.to_string());
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} |",
                c.variant,
                delta(Nanos(c.delta_ns)).trim(),
                known(c.spread_ns),
                known(c.least_ns),
                c.said()
            );
        }
        text
    }

    /// For a terminal.
    #[must_use]
    pub fn terminal(&self, style: &Style) -> String {
        let mut screen = Screen::new(style);
        screen.heading("Smallest detectable change", &clean(&self.run));
        screen.wrapped("", 2, DIM, &format!("{}.", self.drawn()));
        screen.blank();
        let mut head = format!(
            "  {}  {}  {}",
            right("boots", 5),
            right("margin", 7),
            right("false", 7)
        );
        for delay in self.delays() {
            let _ = write!(head, "  {}", right(&delay, 7));
        }
        // As many columns as delays were tried.
        screen.columns(&head);
        for e in &self.ensembles {
            let mut line = format!(
                "  {}  {}  {}",
                right(&e.boots.to_string(), 5),
                right(&e.margin.to_string(), 7),
                right(&format!("{:.1} %", e.false_alarms_percent), 7)
            );
            for f in &e.found {
                let _ = write!(line, "  {}", right(&format!("{:.0} %", f.found_percent), 7));
            }
            screen.line(&line);
        }
        screen.blank();
        screen.wrapped(
            "",
            2,
            DIM,
            "boots: on each side. margin: how many spreads two medians must differ by. false: the \
             share of identical pairs that are called different. The other columns: how often a \
             slowdown by this share of the median is detected.",
        );
        if let Some(said) = self.as_booted() {
            screen.wrapped("", 2, DIM, &format!("{said}."));
        }
        if !self.changed.is_empty() {
            screen.blank();
        }
        let mut table = Table::new([
            Column::name("variant"),
            Column::time("change"),
            Column::time("needed"),
            Column::text("verdict"),
        ]);
        for c in &self.changed {
            table.row([
                cell(&c.variant),
                cell(delta(Nanos(c.delta_ns)).trim()),
                cell(c.known(c.least_ns)),
                cell(c.said()),
            ]);
        }
        table.print(&mut screen);
        screen.finish()
    }
}
