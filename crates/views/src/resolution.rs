//! What an experiment with identical variants can detect.

use crate::json::Document;
use crate::json::values::VERDICTS;
use crate::terminal::layout::{DIM, Screen, clean, delta, right};
use crate::terminal::style::Style;
use crate::terminal::table::{Column, Table, cell};
use analysis::{DRAWS, RunResolution, Shares};
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
    /// Smallest change of an item's work or wait that counts.
    #[schemars(range(min = 0))]
    pub counts_ns: i64,
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
        let changed = found.changed.iter().map(|c| ResolutionChange {
            variant: c.variant.clone(),
            delta_ns: c.effect.delta.get(),
            spread_ns: c.effect.spread.get(),
            least_ns: c.effect.least.get(),
            verdict: c.effect.verdict.as_str(),
            unperturbed: c.effect.unperturbed,
            detected: c.found.iter().map(ResolutionShares::of).collect(),
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
            counts_ns: found.counts.get(),
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
            false_alarms_percent: row.false_alarms.time * 100.0,
            false_alarms: ResolutionShares::of(&(row.boots, row.false_alarms)),
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
    /// Percentage of identical pairs that are called different by first light.
    #[schemars(range(min = 0, max = 100))]
    pub false_alarms_percent: f64,
    /// Percentage of identical pairs that are called different, by what is judged.
    pub false_alarms: ResolutionShares,
    /// Results for each delay.
    pub found: Vec<ResolutionFound>,
}

/// The percentage of pairs that are distinguished, by what is judged.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ResolutionShares {
    /// Number of boots on each side.
    #[schemars(range(min = 2))]
    pub boots: usize,
    /// By first light.
    #[schemars(range(min = 0, max = 100))]
    pub time_percent: f64,
    /// By the work of processes or units; null if the captures have none.
    #[schemars(range(min = 0, max = 100))]
    pub work_percent: Option<f64>,
    /// By the waits of processes; null if the captures have none, or the boots are too few.
    #[schemars(range(min = 0, max = 100))]
    pub waits_percent: Option<f64>,
    /// By any of them.
    #[schemars(range(min = 0, max = 100))]
    pub any_percent: f64,
}

impl ResolutionShares {
    fn of((boots, shares): &(usize, Shares)) -> Self {
        Self {
            boots: *boots,
            time_percent: shares.time * 100.0,
            work_percent: shares.work.map(|s| s * 100.0),
            waits_percent: shares.waits.map(|s| s * 100.0),
            any_percent: shares.any * 100.0,
        }
    }

    /// By first light, work, waits and any of them, with so many digits.
    fn cells(&self, digits: usize) -> [String; 4] {
        let known = |share: f64| format!("{share:.digits$} %");
        let of = |share: Option<f64>| share.map_or("not judged".to_owned(), known);
        [
            known(self.time_percent),
            of(self.work_percent),
            of(self.waits_percent),
            known(self.any_percent),
        ]
    }
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
    /// How often so many of its boots are called slower than as many identical ones.
    pub detected: Vec<ResolutionShares>,
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

    /// How often ensembles are called different, if more than first light is judged: boots on each side,
    /// what is compared, and the shares by first light, work, waits and any of them.
    fn by_part(&self) -> Vec<[String; 6]> {
        let has_parts = |s: &ResolutionShares| s.work_percent.or(s.waits_percent).is_some();
        let row = |what: &str, shares: &ResolutionShares, digits: usize| {
            let [time, work, waits, any] = shares.cells(digits);
            [
                shares.boots.to_string(),
                what.to_owned(),
                time,
                work,
                waits,
                any,
            ]
        };
        let alike = self
            .ensembles
            .iter()
            .map(|e| row("identical", &e.false_alarms, 1));
        let changed = self.changed.iter().flat_map(|c| {
            let of = move |shares| row(&c.variant, shares, 0);
            c.detected.iter().map(of)
        });
        match self.ensembles.iter().any(|e| has_parts(&e.false_alarms)) {
            true => alike.chain(changed).collect(),
            false => Vec::new(),
        }
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
        let by_part = self.by_part();
        if !by_part.is_empty() {
            let _ = write!(
                text,
                "\nA change of work or waits counts from {} on.\n\n| boots per side | variant | by first light | by work | by waits | by any |\n|---:|---|---:|---:|---:|---:|\n",
                Nanos(self.counts_ns)
            );
        }
        for row in by_part {
            let _ = writeln!(text, "| {} |", row.join(" | "));
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

    fn parts(&self, screen: &mut Screen) {
        let rows = self.by_part();
        if rows.is_empty() {
            return;
        }
        screen.heading("Distinguished by", "");
        let mut table = Table::new([
            Column::time("boots"),
            Column::name("variant"),
            Column::time("first light"),
            Column::time("work"),
            Column::time("waits"),
            Column::time("any"),
        ]);
        for row in rows {
            table.row(row.map(cell));
        }
        table.print(screen);
        let text = format!(
            "work: processor time of a process or unit. waits: how long a process that ended before \
             first light neither ran nor could have run. Each item is judged by its own spread, and \
             a change counts from {} on. Identical variants are called different, others slower.",
            Nanos(self.counts_ns)
        );
        screen.wrapped("", 2, DIM, &text);
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
        self.parts(&mut screen);
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
