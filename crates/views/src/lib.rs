//! Boot-time reports as terminal text, an HTML page, JSON, CSV and pictures.
//!
//! Views lay out and format; they compute nothing. Each function takes reports
//! of [`analysis`] and gives the text or the bytes. Nothing here prints or opens
//! a file.
//!
//! ```
//! # use {analysis as firstlight_analysis, record as firstlight_record};
//! use firstlight_record::{ClockKind, Origin, Phase, Recorder};
//! use firstlight_views::terminal::{self, Style};
//!
//! let mut recorder = Recorder::new();
//! let source = recorder.source("boot.log", "kernel-log");
//! let clock = recorder.clock("printk", ClockKind::Printk, 1_000);
//! let at = |offset| Origin { source, offset };
//! recorder.mark(clock, "kernel-start", 0, Some(Phase::Kernel), at(0));
//! recorder.mark(clock, "init-started", 1_500_000_000, Some(Phase::Userspace), at(40));
//! let record = recorder.finish();
//!
//! let boot = firstlight_analysis::boot(&record, &Default::default(), 5);
//! let screen = terminal::show(&boot, &Style::default());
//! assert!(screen.contains("kernel"));
//! ```

mod bisected;
mod calibration;
pub mod ci;
mod classic;
pub mod csv;
pub mod export;
mod findings_proof;
pub mod html;
mod jobs;
pub mod json;
pub mod markdown;
mod mounts;
mod plan;
mod redaction;
mod resolution;
mod schemas;
pub mod terminal;
pub mod trend;
mod tuned;

mod words;

pub use bisected::{BisectPlan, Bisected};
pub use calibration::{
    Calibrated, CalibratedConsole, CalibratedStorage, ForecastTruth, ForecastTruthRow,
};
pub use classic::{Classic, ClassicCount, ClassicResult, ClassicValue};
pub use findings_proof::{ExpectedSaving, FindingsProof, ProvenFinding, UnprovenCause};
pub use jobs::{BootedTrial, LabJobs};
pub use mounts::{Mount, MountErrors, MountExperiment, Mounts};
pub use plan::{Check, LabPlan, LabPlanBoot, LabPlanVariant};
pub use redaction::{Redaction, RedactionKind};
pub use resolution::{Resolution, ResolutionChange, ResolutionEnsemble, ResolutionFound};
pub use schemas::schema_files;
pub use tuned::{TunePlan, Tuned, TunedDropped, TunedKept};
pub use words::{counted, plural, size, thousands};
