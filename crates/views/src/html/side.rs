//! What a page shows, as its callers give it.

use crate::calibration::ForecastTruth;
use analysis::{BoardReport, Comparison, Experiment, Picture, Place};

/// A line of a source, as the source has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it begins.
    pub place: Place,
    /// What it says, without its end.
    pub text: String,
}

/// A boot on the page.
#[derive(Debug)]
pub struct Side<'r> {
    /// What the reader calls it: `baseline`, a variant, a file.
    pub title: String,
    /// The boot, explained.
    pub picture: Picture<'r>,
    /// The evidence of what took longest, in the words of the sources.
    pub lines: Vec<Line>,
}

/// What a page shows.
#[derive(Debug)]
pub struct Page<'r> {
    /// What it is about.
    pub title: String,
    /// The boot.
    pub baseline: Side<'r>,
    /// A second boot beside it, such as the best variant.
    pub best: Option<Side<'r>>,
    /// The two, item by item.
    pub comparison: Option<Comparison>,
    /// The experiment that both belong to.
    pub experiment: Option<Experiment>,
    /// The run on a board that both belong to.
    pub board: Option<BoardReport>,
    /// What the lab forecast of that run's variants.
    pub truth: Option<ForecastTruth>,
}
