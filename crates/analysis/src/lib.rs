//! Pure questions on records.
//!
//! Each question is a function from a [`record::Record`] to plain structs: the
//! same record gives the same answer, to the byte. Nothing here reads, prints,
//! or knows how an answer will be shown. Times are on the record's clock, with
//! its zero mark at zero; every number that has evidence names its [`Place`].
//!
//! ```
//! use firstlight_analysis::{BlameKind, blame};
//! use record::{ClockKind, Origin, Phase, Recorder, SpanKind};
//!
//! let mut recorder = Recorder::new();
//! let source = recorder.source("dmesg.txt", "kernel-log");
//! let clock = recorder.clock("printk", ClockKind::Printk, 1_000);
//! let at = |offset| Origin { source, offset };
//! recorder.mark(clock, "kernel-start", 0, Some(Phase::Kernel), at(0));
//! let name = recorder.name("slow_init");
//! let call = recorder.span_of(clock, SpanKind::Initcall, name, at(80));
//! recorder.span(call.start(Some(1_000_000)).end(Some(251_000_000)));
//! let record = recorder.finish();
//!
//! let longest = blame(&record, Some(BlameKind::Initcall), 1);
//! assert_eq!(longest.rows[0].name, "slow_init");
//! assert_eq!(longest.rows[0].duration().unwrap().to_string(), "250.0 ms");
//! ```

mod aside;
mod blame;
mod board;
mod boot;
mod boot_kind;
mod boots;
mod bootstrap;
mod chain;
mod chart;
mod clocks;
mod compare;
mod console;
mod deferrals;
mod drivers;
mod effect;
mod experiment;
mod facts;
mod findings;
mod fleet;
mod forecast;
mod functions;
mod gaps;
mod history;
mod initcall_order;
mod io;
mod kernel_work;
mod ledger;
mod load;
mod parallel;
mod path;
mod phases;
mod picture;
mod place;
mod plan;
mod processes;
mod readings;
mod resolution;
mod row;
mod sequential;
mod spans;
mod stable_name;
mod starts;
mod statistics;
mod subsystems;
mod summary;
mod system;
mod tracks;
mod truth;
mod tune;
mod unknown;
mod unpacking;

pub use blame::{Blame, BlameKind, BlameRow, blame, blame_with};
pub use board::{
    BoardBasis, BoardComparison, BoardFollows, BoardProof, BoardPurpose, BoardQuestion,
    BoardReport, BoardScatter, BoardState, BoardTrial, BoardVariant, Outcome as BoardOutcome,
    board, board_settled,
};
pub use boot::{Boot, boot};
pub use boot_kind::{BootKind, boot_kind};
pub use boots::{
    Allowance, BootTimes, Boots, BootsChange, BootsError, BootsTime, Budget, BudgetVerdict,
    Budgeted, Distribution, Gate, GateCompared, GateError, GateParts, GateQuestion, GateVerdict,
    Judged, Part, TimeKind, WORK_OF_UNITS, WORK_TRACED, boots, gate,
};
pub use bootstrap::{Interval, interval};
pub use chain::{ChainLink, critical_chain};
pub use chart::{Chart, ChartDependency, ChartLimits, ChartMessage, chart};
pub use clocks::{ClockRow, KernelClock, clocks, kernel_clock};
pub use compare::{
    Change, CompareError, Comparison, FirstLightDelta, ItemDelta, PhaseDelta, Presence, Usual,
    compare, compare_with, compare_with_history,
};
pub use console::{Console, Delay, Flush, LateLine, Rate, RateSource, Written, console};
pub use deferrals::{Deferral, deferrals};
pub use drivers::long_initcalls;
pub use effect::{Effect, Verdict, effect, margin, median, range};
pub use experiment::{
    ExactPair, Experiment, ExperimentError, RecordingCost, Sample, Trial, TrialFailure,
    VariantResult, experiment, experiment_with,
};
pub use facts::{FactRow, facts};
pub use findings::{
    Advice, CATALOGUE, Confidence, Evidence, Finding, Group, Joint, Rule, Silent, advice, findings,
    findings_for, rule,
};
pub use fleet::{
    FleetItem, FleetRow, FleetSource, FleetTimes, LONGEST_BOOT, MOST_ITEMS, RowStatus, fleet_row,
};
pub use forecast::{Changed, Changes, Forecast, ForecastError, Lever, LeverStep, WhatIf, what_if};
pub use functions::{CallRow, Calls, FunctionOrder, FunctionRow, Functions, calls, functions};
pub use gaps::{Gap, gaps};
pub use history::{
    Accepted, Differing, Drift, EntryTimes, FEWEST, Groups, History, HistoryChange, HistoryEntry,
    HistoryQuestion, HistoryResolution, HistoryVerdict, Level, RECENT as HISTORY_RECENT, Series,
    history,
};
pub use io::{
    Depth, Io, IoDevice, IoFailure, IoFile, IoOperation, IoProcess, IoRequest, IoStretch, Latency,
    Owner, Owners, OwnersFrom, ProcessOf, Seek, SeekDevice, SeekPoint, Sequence, io, io_requests,
    seek,
};
pub use ledger::{Ledger, LedgerNote, SourceBalance, ledger};
pub use load::{Load, load};
pub use parallel::on_all_processors;
pub use path::{
    CriticalPath, Estimate, NewItem, PathItem, PathKind, PathProgram, UnitOrder, critical_path,
    critical_path_of_processes,
};
pub use phases::{
    FirstLight, LAST_EVENT, Milestone, Options, PhaseRow, Phases, Stage, first_light, phases,
    phases_with,
};
pub use picture::{Picture, picture};
pub use place::Place;
pub use plan::{Step, plan};
pub use readings::{Readings, readings};
pub use resolution::{
    Alike, DRAWS, Found, Resolution, RunBoot, RunChange, RunError, RunResolution, Shares,
    run_resolution,
};
pub use sequential::{Answer, Looks, TimeDrift, drift, scatter};
pub use starts::{Start, StartCase, start_case, start_difference};
pub use statistics::{Chance, Judgement, SampleEffect, outliers, sample_effect};
pub use subsystems::{SubsystemRow, Subsystems, subsystem_of, subsystems};
pub use summary::{KindSummary, Summary, summary};
pub use system::{
    CommandLine, Directory, DriverSource, DriverWait, Dynamic, EnvironmentProposal, Filesystem,
    ImageFact, ImageKind, KernelConfig, Library, RootTree, SystemFacts,
};
pub use tracks::{
    About, Counter, Instant, Slice, Track, TrackGroup, TrackKind, Tracks, tracks, tracks_with,
};
pub use truth::{SideChange, Truth, TruthRow, truth};
pub use tune::{HealthCheck, health};
pub use unknown::{Unknown, unknown};
