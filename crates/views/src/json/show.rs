//! `firstlight.show/1`.

use super::console::ShowConsole;
use super::document::Document;
use super::place::Place;
use super::values::{CLOCKS, ITEMS, PHASES, UNITS};
use analysis::Boot;
use schemars::JsonSchema;
use serde::Serialize;

/// One boot, explained. Times are nanoseconds after the zero mark.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Show {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Name of the mark at time zero.
    #[schemars(length(min = 1))]
    pub zero: String,
    /// Kind of clock; null if no event has a time.
    #[schemars(extend("enum" = CLOCKS))]
    pub clock: Option<&'static str>,
    /// Kernel version; null if unknown.
    pub kernel: Option<String>,
    /// Machine; null if unknown.
    pub machine: Option<String>,
    /// Kernel command line; null if unknown.
    pub cmdline: Option<String>,
    /// Stretches above one percent of the boot of which nothing is known, the longest first.
    pub unknown: Vec<ShowUnknown>,
    /// Phases of the boot, in order.
    pub phases: Vec<ShowPhase>,
    /// End of the boot; null if unknown.
    pub first_light: Option<ShowFirstLight>,
    /// Time of the last event.
    pub last_ns: i64,
    /// All marks, by time.
    pub milestones: Vec<ShowMilestone>,
    /// Counts and sums.
    pub summary: ShowSummary,
    /// Cost of the console; null if the input shows no console.
    pub console: Option<ShowConsole>,
    /// Periodic readings.
    pub readings: Vec<ShowReadings>,
    /// Facts about the whole boot.
    pub facts: Vec<ShowFact>,
    /// Findings, the largest saving first.
    pub findings: Vec<ShowFinding>,
    /// Clocks of the inputs, the boot's own clock first.
    pub clocks: Vec<ShowClock>,
    /// Time before the kernel clock, by a hardware counter that runs from reset; null if no
    /// input tells it.
    pub kernel_clock: Option<ShowKernelClock>,
    /// Accounting of every input.
    pub sources: Vec<ShowSource>,
    /// Data quality: what was lost, is uncertain or was ignored. Data loss comes first.
    pub notes: Vec<ShowNote>,
}

impl Document for Show {
    const SCHEMA: &'static str = "firstlight.show/1";
    const TITLE: &'static str = "Output of `firstlight show --json`";
}

/// A stretch of which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowUnknown {
    /// Start time.
    pub start_ns: i64,
    /// End time.
    pub end_ns: i64,
    /// Phase that the stretch begins in.
    #[schemars(extend("enum" = PHASES))]
    pub phase: &'static str,
    /// Line, mark or item that precedes the stretch.
    pub before: String,
    /// Line, mark or item that follows the stretch.
    pub after: String,
    /// Initcalls that lie in it by the order that all kernels have, such as
    /// `device initcalls from mm/ to crypto/`; null if unknown.
    pub within: Option<String>,
    /// What to switch on to know more.
    #[schemars(length(min = 1))]
    pub ask: &'static str,
}

impl From<&analysis::Unknown> for ShowUnknown {
    fn from(u: &analysis::Unknown) -> Self {
        Self {
            start_ns: u.start.get(),
            end_ns: u.end.get(),
            phase: u.phase.as_str(),
            before: u.before.clone(),
            after: u.after.clone(),
            within: u.within.clone(),
            ask: u.ask,
        }
    }
}

/// A phase of the boot.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowPhase {
    /// Name of the phase.
    #[schemars(extend("enum" = PHASES))]
    pub name: &'static str,
    /// Start time.
    pub start_ns: i64,
    /// End time.
    pub end_ns: i64,
    /// Mark that starts the phase.
    #[schemars(length(min = 1))]
    pub start_mark: String,
    /// Mark that ends the phase, or `last-event`.
    #[schemars(length(min = 1))]
    pub end_mark: String,
    /// Stages of the phase.
    pub stages: Vec<ShowStage>,
}

/// A stage of a phase.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowStage {
    /// Mark that starts the stage.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Start time.
    pub start_ns: i64,
    /// End time.
    pub end_ns: i64,
}

/// End of the boot.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowFirstLight {
    /// Name of the mark, or the text that ends the boot.
    #[schemars(length(min = 1))]
    pub mark: String,
    /// Time.
    pub at_ns: i64,
    /// How much later it may have been, if the line that ends the boot has no timestamp.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0))]
    pub uncertain_ns: i64,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(ns: &i64) -> bool {
    *ns == 0
}

impl From<&analysis::FirstLight> for ShowFirstLight {
    fn from(f: &analysis::FirstLight) -> Self {
        Self {
            mark: f.mark.clone(),
            at_ns: f.at.get(),
            uncertain_ns: f.uncertain.get(),
        }
    }
}

/// A named instant.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowMilestone {
    /// Name of the mark.
    pub name: String,
    /// Time.
    pub at_ns: i64,
    /// Evidence.
    pub origin: Place,
}

/// Counts and sums.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowSummary {
    /// Totals for each kind of item that occurs.
    pub kinds: Vec<ShowKind>,
    /// Number of deferred probes.
    pub deferrals: usize,
    /// Number of devices with deferred probes.
    pub deferred_devices: usize,
    /// Total time of the deferred probes.
    #[schemars(range(min = 0))]
    pub deferral_ns: i64,
}

/// Totals of one kind of item.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowKind {
    /// Kind of item.
    #[schemars(extend("enum" = ITEMS))]
    pub kind: &'static str,
    /// Number of items.
    pub count: usize,
    /// Sum of their durations.
    pub sum_ns: i64,
    /// Time in which at least one of them ran.
    #[schemars(range(min = 0))]
    pub busy_ns: i64,
}

/// A series of periodic readings.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowReadings {
    /// Quantity: `cpu.user`.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Which CPU, disk or process it is of; null for the whole machine.
    pub of: Option<String>,
    /// Unit of the values.
    #[schemars(extend("enum" = UNITS))]
    pub unit: &'static str,
    /// Number of readings.
    #[schemars(range(min = 1))]
    pub samples: usize,
    /// Time of the first reading.
    pub first_ns: i64,
    /// Time of the last reading.
    pub last_ns: i64,
    /// Minimum.
    pub min: i64,
    /// Maximum.
    pub max: i64,
    /// Mean over time.
    pub mean: i64,
    /// Evidence.
    pub origin: Place,
}

/// A fact about the whole boot.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowFact {
    /// Name of the fact.
    #[schemars(length(min = 1))]
    pub key: String,
    /// Value.
    pub value: String,
    /// Evidence.
    pub origin: Place,
}

/// A piece of advice.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowFinding {
    /// Identifier of the finding.
    #[schemars(length(min = 1))]
    pub id: &'static str,
    /// What is slow, in a few words.
    #[schemars(length(min = 1))]
    pub title: String,
    /// Why it takes time.
    #[schemars(length(min = 1))]
    pub why: String,
    /// Lines of the input that show it.
    pub evidence: Vec<ShowEvidence>,
    /// Possible saving; null if the input does not show how much.
    pub saving: Option<ShowSaving>,
    /// Cost of the change: what you lose or risk.
    #[schemars(length(min = 1))]
    pub cost: String,
    /// Treatment that makes the change; null if the change cannot be automated.
    pub treatment: Option<String>,
}

/// A line of the input that supports a finding.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowEvidence {
    /// Text of the line.
    #[schemars(length(min = 1))]
    pub text: String,
    /// Name of the input.
    #[schemars(length(min = 1))]
    pub source: String,
    /// Byte offset in the input's file.
    pub offset: u64,
}

/// Range of a possible saving.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowSaving {
    /// Least saving.
    #[schemars(range(min = 0))]
    pub low_ns: i64,
    /// Greatest saving.
    #[schemars(range(min = 0))]
    pub high_ns: i64,
}

/// A clock of an input.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowClock {
    /// Name of the clock.
    pub name: String,
    /// Kind of clock.
    #[schemars(extend("enum" = CLOCKS))]
    pub kind: &'static str,
    /// Resolution of its time stamps; null if unknown.
    pub step_ns: Option<i64>,
    /// Greatest error of its times on the boot's clock; null if the two cannot be aligned.
    pub error_ns: Option<i64>,
    /// Whether this is the boot's own clock.
    pub is_boots: bool,
}

/// When the clock of the kernel log began, on a hardware counter that runs from reset.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowKernelClock {
    /// Time from the zero of the counter to the zero of the kernel log.
    #[schemars(range(min = 0))]
    pub after_ns: i64,
    /// Least value of this time.
    #[schemars(range(min = 0))]
    pub least_ns: i64,
    /// Greatest value of this time.
    #[schemars(range(min = 0))]
    pub most_ns: i64,
    /// Earliest time, after the zero of the counter, at which the kernel was entered.
    #[schemars(range(min = 0))]
    pub entry_least_ns: i64,
    /// Latest time at which the kernel was entered.
    #[schemars(range(min = 0))]
    pub entry_most_ns: i64,
    /// Mark that precedes the entry of the kernel, or is the entry.
    #[schemars(length(min = 1))]
    pub entry_after: String,
    /// Evidence: the reading of both clocks.
    pub origin: Place,
}

/// Accounting of an input: `units` is `events` plus `noted`.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowSource {
    /// Name of the file.
    pub name: String,
    /// Format that the file was read as.
    #[schemars(length(min = 1))]
    pub format: String,
    /// Number of lines or packets read.
    pub units: u64,
    /// Number of them that became events.
    pub events: u64,
    /// Number of them that are counted in notes.
    pub noted: u64,
}

/// A kind of problem, as it occurred in one input.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowNote {
    /// Severity.
    #[schemars(extend("enum" = ["info", "doubt", "data_loss"]))]
    pub severity: &'static str,
    /// Kind of problem.
    #[schemars(regex(pattern = "^[a-z0-9_]+$"))]
    pub kind: String,
    /// Number of occurrences.
    #[schemars(range(min = 1))]
    pub count: u64,
    /// What to do.
    #[schemars(length(min = 1))]
    pub advice: String,
    /// Detail of the first occurrence; may be empty.
    pub detail: String,
    /// Place of the first occurrence; null if it has none.
    pub first: Option<Place>,
}

/// A boot, explained, in the shape of `schemas/show.json`.
#[must_use]
pub fn show(boot: &Boot) -> Show {
    let phases = &boot.phases;
    Show {
        schema: Show::SCHEMA,
        zero: phases.zero.clone(),
        clock: phases.clock.map(record::ClockKind::as_str),
        kernel: boot.kernel.clone(),
        machine: boot.machine.clone(),
        cmdline: boot.cmdline.clone(),
        unknown: boot.unknown.iter().map(ShowUnknown::from).collect(),
        phases: phases.phases.iter().map(phase).collect(),
        first_light: phases.first_light.as_ref().map(ShowFirstLight::from),
        last_ns: phases.last.get(),
        milestones: phases.milestones.iter().map(milestone).collect(),
        summary: summary(&boot.summary),
        console: boot.console.as_ref().map(super::console::console),
        readings: boot.readings.iter().map(readings).collect(),
        facts: boot.facts.iter().map(fact).collect(),
        findings: boot.findings.iter().map(finding).collect(),
        clocks: boot.clocks.iter().map(clock).collect(),
        kernel_clock: boot.kernel_clock.as_ref().map(kernel_clock),
        sources: boot.ledger.sources.iter().map(ShowSource::from).collect(),
        notes: boot.ledger.notes.iter().map(ShowNote::from).collect(),
    }
}

fn phase(p: &analysis::PhaseRow) -> ShowPhase {
    let stage = |s: &analysis::Stage| ShowStage {
        name: s.name.clone(),
        start_ns: s.start.get(),
        end_ns: s.end.get(),
    };
    ShowPhase {
        name: p.name.as_str(),
        start_ns: p.start.get(),
        end_ns: p.end.get(),
        start_mark: p.start_mark.clone(),
        end_mark: p.end_mark.clone(),
        stages: p.stages.iter().map(stage).collect(),
    }
}

fn milestone(m: &analysis::Milestone) -> ShowMilestone {
    ShowMilestone {
        name: m.name.clone(),
        at_ns: m.at.get(),
        origin: Place::from(&m.origin),
    }
}

fn summary(s: &analysis::Summary) -> ShowSummary {
    let kind = |k: &analysis::KindSummary| ShowKind {
        kind: k.kind.as_str(),
        count: k.count,
        sum_ns: k.sum.get(),
        busy_ns: k.busy.get(),
    };
    ShowSummary {
        kinds: s.kinds.iter().map(kind).collect(),
        deferrals: s.deferrals,
        deferred_devices: s.deferred_devices,
        deferral_ns: s.deferral_time.get(),
    }
}

fn readings(r: &analysis::Readings) -> ShowReadings {
    ShowReadings {
        name: r.name.clone(),
        of: r.of.clone(),
        unit: r.unit.as_str(),
        samples: r.samples,
        first_ns: r.first.get(),
        last_ns: r.last.get(),
        min: r.min,
        max: r.max,
        mean: r.mean,
        origin: Place::from(&r.origin),
    }
}

fn clock(c: &analysis::ClockRow) -> ShowClock {
    ShowClock {
        name: c.name.clone(),
        kind: c.kind.as_str(),
        step_ns: c.step.map(record::Nanos::get),
        error_ns: c.error.map(record::Nanos::get),
        is_boots: c.is_boots,
    }
}

fn kernel_clock(k: &analysis::KernelClock) -> ShowKernelClock {
    ShowKernelClock {
        after_ns: k.after.get(),
        least_ns: k.least.get(),
        most_ns: k.most.get(),
        entry_least_ns: k.entry_least.get(),
        entry_most_ns: k.entry_most.get(),
        entry_after: k.entry_after.clone(),
        origin: Place::from(&k.origin),
    }
}

fn fact(f: &analysis::FactRow) -> ShowFact {
    ShowFact {
        key: f.key.clone(),
        value: f.value.clone(),
        origin: Place::from(&f.origin),
    }
}

fn finding(f: &analysis::Finding) -> ShowFinding {
    let evidence = |e: &analysis::Evidence| ShowEvidence {
        text: e.text.clone(),
        source: e.place.source.clone(),
        offset: e.place.offset,
    };
    ShowFinding {
        id: f.id,
        title: f.title.clone(),
        why: f.why.clone(),
        evidence: f.evidence.iter().map(evidence).collect(),
        saving: f.saving.map(|(low, high)| ShowSaving {
            low_ns: low.get(),
            high_ns: high.get(),
        }),
        cost: f.cost.clone(),
        treatment: f.treatment.clone(),
    }
}

impl From<&analysis::SourceBalance> for ShowSource {
    fn from(s: &analysis::SourceBalance) -> Self {
        Self {
            name: s.name.clone(),
            format: s.format.clone(),
            units: s.units,
            events: s.events,
            noted: s.noted,
        }
    }
}

impl From<&analysis::LedgerNote> for ShowNote {
    fn from(n: &analysis::LedgerNote) -> Self {
        Self {
            severity: n.severity.as_str(),
            kind: n.kind.clone(),
            count: n.count,
            advice: n.advice.clone(),
            detail: n.detail.clone(),
            first: n.first.as_ref().map(Place::from),
        }
    }
}
