//! The `--json` output. Its shapes are promises: `schemas/` holds a JSON Schema
//! for each, and tests hold the output against them. Times are integer
//! nanoseconds on the record's clock, in keys that end in `_ns`.

mod advise;
mod blame;
mod boots;
mod classics;
mod console;
mod deferrals;
mod diff;
mod doctor;
mod functions;
mod gaps;
mod io;
mod lab;
mod lab_plan;
mod path;
mod show;
mod subsystems;

pub use advise::{Advise, AdviseEvidence, AdviseFinding, AdviseSilent, advise};
pub use blame::{Blame, BlameRow, blame};
pub use boots::{Boots, BootsDistribution, BootsRow, BootsRowChange, Gate, boots, gate};
pub use classics::{
    Classics, ClassicsResult, ClassicsRow, ClassicsValue, Published, classics, classics_result,
};
pub use console::{ShowConsole, ShowDelay, ShowFlush, ShowLateLine, ShowRate, ShowWritten};
pub use deferrals::{Deferrals, DeferredDevice, deferrals};
pub use diff::{Diff, DiffFirstLight, DiffItem, DiffPhase, DiffUsual, diff};
pub use doctor::{Doctor, DoctorCheck, doctor};
pub use functions::{CallRow, Calls, FunctionRow, Functions, calls, functions};
pub use gaps::{Gap, Gaps, gaps};
pub use io::{
    Io, IoDepth, IoDevice, IoEvents, IoFile, IoLatency, IoOperation, IoProcess, IoSequence,
    IoStretch, io,
};
pub use lab::{Lab, LabComparison, LabFailure, LabRecording, LabTrial, LabVariant, lab};
pub use lab_plan::{Plan, PlanBoot, PlanVariant, lab_plan};
pub use path::{Path, PathItem, path};
pub use show::{
    Show, ShowEvidence, ShowFact, ShowFinding, ShowFirstLight, ShowKind, ShowMilestone, ShowNote,
    ShowPhase, ShowReadings, ShowSaving, ShowSource, ShowStage, ShowSummary, show,
};
pub use subsystems::{SubsystemRow, Subsystems, subsystems};

use serde::Serialize;

/// A byte in a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The source's name.
    pub source: String,
    /// The byte in the source's file.
    pub offset: u64,
}

impl From<&analysis::Place> for Place {
    fn from(p: &analysis::Place) -> Self {
        Self {
            source: p.source.clone(),
            offset: p.offset,
        }
    }
}

/// One of this module's structs as text, indented, with a line feed at the end.
#[must_use]
pub fn text<T: Serialize>(value: &T) -> String {
    // Structs of strings and numbers cannot fail to become JSON.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
