//! The `--json` output. Its shapes are promises: `schemas/` holds a JSON Schema
//! for each, and tests hold the output against them. Times are integer
//! nanoseconds on the record's clock, in keys that end in `_ns`.

mod advise;
mod bisect;
mod blame;
mod boots;
mod capture;
mod classics;
mod cold;
mod console;
mod deferrals;
mod diff;
mod doctor;
mod document;
mod done;
pub mod flash;
mod formats;
mod functions;
mod gaps;
mod history;
pub mod image;
mod install_agent;
mod io;
mod lab;
mod lab_board;
mod lab_jobs;
mod lab_plan;
mod path;
mod place;
mod prefetch;
mod redact;
mod schema;
mod show;
mod subsystems;
mod treat;
mod tune;
pub(crate) mod values;

pub use self::treat::{
    TreatApply, TreatChange, TreatEntry, TreatKind, TreatList, TreatPlan, TreatUndo,
};
pub use advise::{Advise, AdviseEvidence, AdviseFinding, AdviseJoint, AdviseSilent, advise};
pub use bisect::{
    Bisect, BisectChange, BisectCulprit, BisectPlan, BisectSample, bisect, bisect_plan,
};
pub use blame::{Blame, BlameRow, blame};
pub use boots::{
    Boots, BootsDistribution, BootsRow, BootsRowChange, Gate, GateBudget, boots, gate,
};
pub use capture::{Capture, CaptureBoard, CaptureMark, CaptureSerial, CaptureSsh};
pub use classics::{
    Classics, ClassicsResult, ClassicsResults, ClassicsRow, ClassicsValue, Published, classics,
    classics_result,
};
pub use cold::{
    Cold, ColdBounds, ColdCase, ColdFile, ColdFilesystem, ColdMoved, ColdReads, ColdSkipped,
};
pub use console::{ShowConsole, ShowDelay, ShowFlush, ShowLateLine, ShowRate, ShowWritten};
pub use deferrals::{Deferrals, DeferredDevice, deferrals};
pub use diff::{Diff, DiffFirstLight, DiffItem, DiffPhase, DiffUsual, diff};
pub use doctor::{Doctor, DoctorCheck, doctor};
pub use document::{Document, text};
pub use done::{Export, Report, Rows, RowsTables, Serve};
pub use formats::{Format, Formats, formats};
pub use functions::{CallRow, Calls, FunctionRow, Functions, calls, functions};
pub use gaps::{Gap, Gaps, gaps};
pub use history::{
    History, HistoryAdd, HistoryAnnotate, HistoryChange, HistoryDrift, HistoryGroups, HistoryItem,
    HistoryResolution, HistorySeries, HistoryShow, history, history_show,
};
pub use install_agent::InstallAgent;
pub use io::{
    Io, IoDepth, IoDevice, IoEvents, IoFile, IoLatency, IoOperation, IoProcess, IoSequence,
    IoStretch, io,
};
pub use lab::{Lab, LabComparison, LabFailure, LabRecording, LabTrial, LabVariant, lab};
pub use lab_board::{
    BoardComparisonRow, BoardDriftRow, BoardLights, BoardNeeded, BoardProofRow, BoardScatterRow,
    BoardSpan, BoardStateRow, BoardTrialRow, BoardValue, BoardVariantRow, LabBoard, LabRestore,
    board_values, lab_board,
};
pub use lab_jobs::{BootedPlan, Jobs, lab_jobs, lab_trial};
pub use lab_plan::{Plan, PlanBoot, PlanVariant, lab_plan};
pub use path::{
    NewFirstLight, NewItem, Path, PathChange, PathItem, as_it_was as path_as_it_was, path,
};
pub use place::Place;
pub use prefetch::{
    PrefetchAround, PrefetchCase, PrefetchFile, PrefetchImport, PrefetchInfill, PrefetchInstall,
    PrefetchMerge, PrefetchMetadata, PrefetchPlan, PrefetchProfile, PrefetchRange, PrefetchRecord,
    PrefetchReplay, PrefetchSimulation,
};
pub use redact::{Redact, RedactKind, redact};
pub use schema::{SchemaFile, schema_file};
pub use show::{
    Show, ShowEvidence, ShowFact, ShowFinding, ShowFirstLight, ShowKind, ShowMilestone, ShowNote,
    ShowPhase, ShowReadings, ShowSaving, ShowSource, ShowStage, ShowSummary, ShowUnknown, show,
};
pub use subsystems::{SubsystemRow, Subsystems, subsystems};
pub use tune::{Tune, TuneDropped, TuneHealth, TuneKept, TuneLimit, TunePlan, tune, tune_plan};
