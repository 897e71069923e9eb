//! What a board was calibrated to, and forecasts held against it.

use crate::json::Document;
use crate::json::values::VERDICTS;
use crate::terminal::layout::{DIM, PLAIN, Screen, clean};
use crate::terminal::style::Style;
use crate::terminal::table::{Column, Table, cell};
use crate::words::nanos;
use analysis::{SideChange, Truth, Verdict};
use record::Nanos;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// Figures of a board that the lab can use.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Calibrated {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Name of the board.
    #[schemars(length(min = 1))]
    pub board: String,
    /// Architecture of its processor.
    pub arch: String,
    /// Clock rate of its processor, in MHz; null if not measured.
    pub processor_mhz: Option<f64>,
    /// Nearest `cpu_shift` of the lab at one instruction per cycle; null if not measured.
    pub cpu_shift: Option<u8>,
    /// Figures of its storage; null if not measured.
    pub storage: Option<CalibratedStorage>,
    /// Rate of its console; null if no capture was given or none tells it.
    pub console: Option<CalibratedConsole>,
    /// Files that were written.
    pub files: Vec<String>,
}

impl Document for Calibrated {
    const SCHEMA: &'static str = "firstlight.calibrate/1";
    const TITLE: &'static str = "Output of `firstlight calibrate board --json`";
}

/// Figures of storage.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CalibratedStorage {
    /// Time of a read of 4 KiB: 5th percentile, median, 95th percentile.
    pub small_read_ns: [u64; 3],
    /// Fixed cost of a read.
    pub command_ns: u64,
    /// Bandwidth of reads, in bytes per second.
    pub read_bytes_per_s: u64,
    /// Shortest time between two commands; 0 if commands do not overlap.
    pub command_interval_ns: u64,
    /// Number of reads that the device works on at a time.
    #[schemars(range(min = 1))]
    pub queue_depth: u32,
    /// Modeled time of the median small read minus its measured time, in percent.
    pub small_error_percent: f64,
    /// The same for the median large read.
    pub large_error_percent: f64,
}

/// Rate of a serial console.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CalibratedConsole {
    /// Bits per second.
    #[schemars(range(min = 1))]
    pub baud: i64,
    /// Source of the rate.
    #[schemars(extend("enum" = ["capture", "command_line", "arrivals"]))]
    pub from: &'static str,
    /// Whether bytes arrived no faster than this rate allows.
    pub kept: bool,
}

impl Calibrated {
    /// For the terminal.
    #[must_use]
    pub fn terminal(&self, style: &Style) -> String {
        let mut screen = Screen::new(style);
        screen.heading(
            &format!("Calibration of {}", clean(&self.board)),
            &self.arch,
        );
        let mut line = |text: String| screen.wrapped("  ", 4, PLAIN, &text);
        match (self.processor_mhz, self.cpu_shift) {
            (Some(mhz), Some(shift)) => line(format!(
                "Processor: {mhz:.0} MHz. The nearest speed of the lab is cpu_shift = {shift} ({} ns \
                 per instruction).",
                1_u32 << shift
            )),
            _ => line("Processor: not measured.".to_owned()),
        }
        match &self.storage {
            Some(s) => {
                line(format!(
                    "Storage: a read of 4 KiB takes {} (5th to 95th percentile {} to {}), of which \
                     the command takes {}.",
                    nanos(s.small_read_ns[1]),
                    nanos(s.small_read_ns[0]),
                    nanos(s.small_read_ns[2]),
                    nanos(s.command_ns)
                ));
                line(format!(
                    "Storage: {:.1} MB/s in sequence, {} reads at a time.",
                    s.read_bytes_per_s as f64 / 1e6,
                    s.queue_depth
                ));
                line(format!(
                    "The model differs by {:+.1} % from the median small read and by {:+.1} % from \
                     the median large read.",
                    s.small_error_percent, s.large_error_percent
                ));
            }
            None => line("Storage: not measured.".to_owned()),
        }
        match &self.console {
            Some(c) if c.kept => line(format!("Console: {} baud ({}).", c.baud, said(c.from))),
            Some(c) => line(format!(
                "Console: {} baud ({}), but bytes arrived faster, so this is an emulated UART or \
                 the rate is another.",
                c.baud,
                said(c.from)
            )),
            None => line("Console: not measured; name a capture with --console.".to_owned()),
        }
        screen.blank();
        let files = format!("Written: {}", self.files.join(", "));
        screen.wrapped("", 2, DIM, &files);
        screen.finish()
    }
}

fn said(from: &str) -> &'static str {
    match from {
        "capture" => "as the host set its port",
        "command_line" => "as the kernel command line says",
        _ => "as bytes arrived",
    }
}

/// Forecasts of the lab beside the results of a board. Virtual and wall time are not compared:
/// changes are percentages of the baseline on the same clock.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ForecastTruth {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Name of the board.
    pub board: String,
    /// Variants that both sides booted.
    pub variants: Vec<ForecastTruthRow>,
    /// Variants that only one side booted.
    pub only_one: Vec<String>,
    /// Rank correlation of the changes (Spearman); null with fewer than 3 variants.
    #[schemars(range(min = -1, max = 1))]
    pub rank_correlation: Option<f64>,
    /// Variants with a proven change on the board that the lab moves in the same direction.
    pub same_sign: usize,
    /// Variants with a proven change on the board.
    pub proven: usize,
    /// Change on the board divided by the forecast: median of the proven variants; null without
    /// one.
    pub ratio: Option<f64>,
    /// Largest distance of a forecast from the board, in percentage points of the baseline;
    /// null without variants.
    pub farthest_percent: Option<f64>,
}

impl Document for ForecastTruth {
    const SCHEMA: &'static str = "firstlight.calibrate.compare/1";
    const TITLE: &'static str = "Output of `firstlight calibrate compare --json`";
}

/// A variant, forecast and booted.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ForecastTruthRow {
    /// Name of the variant.
    #[schemars(length(min = 1))]
    pub variant: String,
    /// Change in the lab, in virtual time.
    pub forecast_virtual_ns: i64,
    /// The same in percent of the lab's baseline.
    pub forecast_percent: f64,
    /// Change on the board, in wall time.
    pub board_wall_ns: i64,
    /// The same in percent of the board's baseline.
    pub board_percent: f64,
    /// 95 % confidence interval of that percentage; null if unknown.
    pub board_interval_percent: Option<[f64; 2]>,
    /// Verdict of the board; null if undecided.
    #[schemars(extend("enum" = [VERDICTS[0], VERDICTS[1], VERDICTS[2], null]))]
    pub verdict: Option<&'static str>,
}

impl ForecastTruthRow {
    fn of(row: &analysis::TruthRow) -> Self {
        let percent = |side: &SideChange, ns: Nanos| {
            ns.get() as f64 / side.baseline.get().max(1) as f64 * 100.0
        };
        let truth = &row.truth;
        Self {
            variant: row.variant.clone(),
            forecast_virtual_ns: row.forecast.delta.get(),
            forecast_percent: row.forecast.part() * 100.0,
            board_wall_ns: truth.delta.get(),
            board_percent: truth.part() * 100.0,
            board_interval_percent: truth
                .interval
                .map(|(low, high)| [percent(truth, low), percent(truth, high)]),
            verdict: truth.verdict.map(Verdict::as_str),
        }
    }

    fn interval(&self) -> String {
        self.board_interval_percent
            .map_or_else(String::new, |[low, high]| {
                format!("{low:+.2} to {high:+.2} %")
            })
    }
}

impl ForecastTruth {
    /// The document of what was found on `board`.
    #[must_use]
    pub fn of(board: &str, truth: &Truth) -> Self {
        Self {
            schema: Self::SCHEMA,
            board: board.to_owned(),
            variants: truth.rows.iter().map(ForecastTruthRow::of).collect(),
            only_one: truth.only_one.clone(),
            rank_correlation: truth.rank_correlation,
            same_sign: truth.same_sign.0,
            proven: truth.same_sign.1,
            ratio: truth.ratio,
            farthest_percent: truth.farthest.map(|f| f * 100.0),
        }
    }

    /// What the table means, a sentence each.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut said = vec![match self.proven {
            0 => "The board has proven no change, so no forecast can be judged.".to_owned(),
            n => format!(
                "The board has proven {n} changes; the lab forecasts the direction of {} of them.",
                self.same_sign
            ),
        }];
        if let Some(ratio) = self.ratio {
            said.push(format!(
                "A proven change on the board is {ratio:.2} times its forecast (median, both in \
                 percent of their baselines)."
            ));
        }
        said.extend(self.farthest_percent.map(|farthest| {
            format!(
                "The worst forecast misses the board by {farthest:.2} percentage points of the \
                 baseline."
            )
        }));
        said.push(match self.rank_correlation {
            Some(rank) => format!("The rank correlation of both sides is {rank:.2} (Spearman)."),
            None => "Fewer than three variants have no rank correlation.".to_owned(),
        });
        if !self.only_one.is_empty() {
            said.push(format!(
                "Only one side booted: {}.",
                self.only_one.join(", ")
            ));
        }
        said
    }

    /// For the terminal.
    #[must_use]
    pub fn terminal(&self, style: &Style) -> String {
        let mut screen = Screen::new(style);
        screen.heading(
            &format!("Forecast of the lab and truth of {}", clean(&self.board)),
            "",
        );
        let mut table = Table::new([
            Column::name("variant").at_least(8),
            Column::number("lab, virtual"),
            Column::number("lab, %"),
            Column::number("board, wall"),
            Column::number("board, %"),
            Column::number("95 % interval"),
            Column::text("verdict of the board"),
        ]);
        for v in &self.variants {
            table.row([
                cell(&v.variant),
                cell(signed(v.forecast_virtual_ns)),
                cell(format!("{:+.2}", v.forecast_percent)),
                cell(signed(v.board_wall_ns)),
                cell(format!("{:+.2}", v.board_percent)),
                cell(v.interval()),
                cell(
                    v.verdict
                        .map_or_else(|| "undecided".to_owned(), |w| w.replace('_', " ")),
                ),
            ]);
        }
        table.print(&mut screen);
        screen.blank();
        for text in self.sentences() {
            screen.wrapped("", 2, PLAIN, &text);
        }
        screen.finish()
    }

    /// As a table of Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# Forecast of the lab and truth of {}\n\n| variant | lab, virtual time | lab, % | \
             board, wall time | board, % | 95 % interval | verdict of the board |\n\
             |---|---:|---:|---:|---:|---:|---|\n",
            self.board
        );
        for v in &self.variants {
            let _ = writeln!(
                text,
                "| {} | {} | {:+.2} | {} | {:+.2} | {} | {} |",
                v.variant.replace('|', "/"),
                signed(v.forecast_virtual_ns),
                v.forecast_percent,
                signed(v.board_wall_ns),
                v.board_percent,
                v.interval(),
                v.verdict
                    .map_or_else(|| "undecided".to_owned(), |w| w.replace('_', " "))
            );
        }
        text.push('\n');
        for sentence in self.sentences() {
            let _ = writeln!(text, "- {sentence}");
        }
        text
    }
}

fn signed(ns: i64) -> String {
    match ns {
        0.. => format!("+{}", Nanos(ns)),
        _ => Nanos(ns).to_string(),
    }
}
