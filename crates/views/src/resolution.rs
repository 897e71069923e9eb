//! What an experiment whose variants are alike can tell apart.

use crate::terminal::Style;
use crate::terminal::layout::{DIM, Screen, clean, delta, left, right, time};
use record::Nanos;
use serde::Serialize;
use std::fmt::Write as _;

/// The resolution of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resolution {
    /// `firstlight.lab.resolution/1`.
    pub schema: &'static str,
    /// The run's folder.
    pub run: String,
    /// How many boots are alike.
    pub boots: usize,
    /// Of how many variants.
    pub variants: usize,
    /// The earliest first light of these boots.
    pub min_ns: i64,
    /// The median.
    pub median_ns: i64,
    /// The latest.
    pub max_ns: i64,
    /// How many pairs of ensembles were drawn for each size.
    pub draws: u32,
    /// For each size of an ensemble.
    pub ensembles: Vec<ResolutionEnsemble>,
    /// How many pairs of variants that are alike have at least two boots a side.
    pub pairs: usize,
    /// How many of these pairs are told apart.
    pub told_apart: usize,
    /// The variants that change something, against the baseline.
    pub changed: Vec<ResolutionChange>,
}

/// What ensembles of one size tell apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResolutionEnsemble {
    /// How many boots an ensemble has.
    pub boots: usize,
    /// How many spreads two of them have to be apart.
    pub margin: f64,
    /// The percentage of pairs that are told apart though they are alike.
    pub false_alarms_percent: f64,
    /// For each delay.
    pub found: Vec<ResolutionFound>,
}

/// How often a delay is found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResolutionFound {
    /// The delay, in percent of the median.
    pub delay_percent: f64,
    /// The percentage of pairs in which it is found.
    pub found_percent: f64,
}

/// A variant that changes something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResolutionChange {
    /// Its name.
    pub variant: String,
    /// The difference of the medians.
    pub delta_ns: i64,
    /// The spread of the two.
    pub spread_ns: i64,
    /// The least difference that counts.
    pub least_ns: i64,
    /// `faster`, `slower` or `no_difference`.
    pub verdict: &'static str,
    /// It or the baseline was booted once, so the verdict is the bare sign.
    pub unperturbed: bool,
}

impl ResolutionChange {
    /// The verdict for a reader; the sign of one boot is none.
    fn said(&self) -> String {
        match self.unperturbed {
            true => "one boot".to_owned(),
            false => self.verdict.replace('_', " "),
        }
    }

    /// A span that one boot does not tell.
    fn known(&self, ns: i64) -> Option<Nanos> {
        (!self.unperturbed).then_some(Nanos(ns))
    }
}

impl Resolution {
    /// What was drawn from, in a sentence.
    fn drawn(&self) -> String {
        let of = |ns| Nanos(ns).to_string();
        format!(
            "{} boots of {} variants that are alike, first light from {} to {}, median {}; {} pairs \
             drawn for each size",
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
                "As booted: {} of {} pairs of variants that are alike are told apart",
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
            "{}.\n\n| boots a side | spreads apart | told apart though alike |",
            self.drawn()
        );
        for delay in &delays {
            let _ = write!(text, " {delay} found |");
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
            text += "\n| variant | change | spread | least that counts | verdict |\n|---|---:|---:|---:|---|\n";
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
        screen.heading("What can be told apart", &clean(&self.run));
        screen.wrapped("", 2, DIM, &format!("{}.", self.drawn()));
        screen.blank();
        let mut head = format!(
            "  {}  {}  {}",
            right("boots", 5),
            right("spreads", 7),
            right("false", 7)
        );
        for delay in self.delays() {
            let _ = write!(head, "  {}", right(&delay, 7));
        }
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
            "Boots: of each of two ensembles. Spreads: how many spreads apart they have to be. False: \
             the part of pairs that are told apart though they are alike. Then: how often one of the \
             two is found to be slower if it is moved by so much of the median.",
        );
        if let Some(said) = self.as_booted() {
            screen.wrapped("", 2, DIM, &format!("{said}."));
        }
        for c in &self.changed {
            screen.line(&format!(
                "  {}  {}  {}  {}",
                left(&clean(&c.variant), 24),
                delta(Nanos(c.delta_ns)),
                time(c.known(c.least_ns)),
                c.said()
            ));
        }
        screen.finish()
    }
}
