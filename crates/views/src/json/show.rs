//! `firstlight.show/1`.

use super::Place;
use super::console::ShowConsole;
use analysis::Boot;
use serde::Serialize;

/// A boot, explained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Show {
    /// `firstlight.show/1`.
    pub schema: &'static str,
    /// The name of the mark at time zero.
    pub zero: String,
    /// What the clock counts; null if nothing carries a time.
    pub clock: Option<&'static str>,
    /// The kernel's version, if a source holds it.
    pub kernel: Option<String>,
    /// The machine, if a source holds it.
    pub machine: Option<String>,
    /// The kernel command line, if a source holds it.
    pub cmdline: Option<String>,
    /// The parts of the boot, in order.
    pub phases: Vec<ShowPhase>,
    /// The end of the boot; null if nothing ends it.
    pub first_light: Option<ShowFirstLight>,
    /// The time of the last event.
    pub last_ns: i64,
    /// Every mark, by time.
    pub milestones: Vec<ShowMilestone>,
    /// Counts and sums.
    pub summary: ShowSummary,
    /// What the console cost; null if there was none, as far as is known.
    pub console: Option<ShowConsole>,
    /// Periodic readings.
    pub readings: Vec<ShowReadings>,
    /// What holds for the whole boot.
    pub facts: Vec<ShowFact>,
    /// What could be better, the largest saving first.
    pub findings: Vec<ShowFinding>,
    /// The clocks that the sources read, the boot's own first.
    pub clocks: Vec<ShowClock>,
    /// The balance of every source.
    pub sources: Vec<ShowSource>,
    /// The ledger, data loss first.
    pub notes: Vec<ShowNote>,
}

/// A part of the boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowPhase {
    /// `firmware`, `loader`, `decompression`, `kernel`, `initrd`, `userspace` or `app`.
    pub name: &'static str,
    /// When it began.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// The mark that begins it.
    pub start_mark: String,
    /// The mark that ends it, or `last-event`.
    pub end_mark: String,
    /// Its parts, if it has any.
    pub stages: Vec<ShowStage>,
}

/// A part of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowStage {
    /// The mark that begins it.
    pub name: String,
    /// When it began.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: i64,
}

/// The end of the boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowFirstLight {
    /// The mark, or the text that was looked for.
    pub mark: String,
    /// When.
    pub at_ns: i64,
}

impl From<&analysis::FirstLight> for ShowFirstLight {
    fn from(f: &analysis::FirstLight) -> Self {
        Self {
            mark: f.mark.clone(),
            at_ns: f.at.get(),
        }
    }
}

/// A named instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowMilestone {
    /// The mark.
    pub name: String,
    /// When.
    pub at_ns: i64,
    /// The evidence.
    pub origin: Place,
}

/// Counts and sums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowSummary {
    /// One for each kind that occurs.
    pub kinds: Vec<ShowKind>,
    /// Probes that were put off.
    pub deferrals: usize,
    /// On how many devices.
    pub deferred_devices: usize,
    /// How long those attempts took together.
    pub deferral_ns: i64,
}

/// Counts and sums of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowKind {
    /// `initcall`, `probe`, `unit`, `process` or `file`.
    pub kind: &'static str,
    /// How many.
    pub count: usize,
    /// The sum of their durations.
    pub sum_ns: i64,
    /// How long at least one of them ran.
    pub busy_ns: i64,
}

/// A series of readings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowReadings {
    /// What was read: `cpu.user`.
    pub name: String,
    /// Of which one; null for the whole machine.
    pub of: Option<String>,
    /// `permille`, `bytes`, `bytes_per_second` or `count`.
    pub unit: &'static str,
    /// How many readings there are.
    pub samples: usize,
    /// When the first one was taken.
    pub first_ns: i64,
    /// When the last one was taken.
    pub last_ns: i64,
    /// The least value.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
    /// The mean over the time.
    pub mean: i64,
    /// The evidence.
    pub origin: Place,
}

/// Something that holds for the whole boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowFact {
    /// What.
    pub key: String,
    /// Its value.
    pub value: String,
    /// The evidence.
    pub origin: Place,
}

/// A piece of advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowFinding {
    /// Which advice.
    pub id: &'static str,
    /// What it is.
    pub title: String,
    /// Why it takes time.
    pub why: String,
    /// What says so.
    pub evidence: Vec<ShowEvidence>,
    /// What it may save; null if nothing says how much.
    pub saving: Option<ShowSaving>,
    /// What following it costs.
    pub cost: String,
    /// The treatment that does it, if the lab has one.
    pub treatment: Option<String>,
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowEvidence {
    /// What it says.
    pub text: String,
    /// The source.
    pub source: String,
    /// The byte in the source.
    pub offset: u64,
}

/// What a finding may save.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowSaving {
    /// At least.
    pub low_ns: i64,
    /// At most.
    pub high_ns: i64,
}

/// A clock that a source read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowClock {
    /// Its name.
    pub name: String,
    /// What it counts.
    pub kind: &'static str,
    /// The smallest step of its stamps; null if unknown.
    pub step_ns: Option<i64>,
    /// By how much its times may be off on the boot's clock; null if nothing
    /// relates the two.
    pub error_ns: Option<i64>,
    /// Whether it is the boot's own.
    pub is_boots: bool,
}

/// The balance of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowSource {
    /// The file's name.
    pub name: String,
    /// The format that read it.
    pub format: String,
    /// Lines or packets read: `events` plus `noted`.
    pub units: u64,
    /// Those that became events.
    pub events: u64,
    /// Those that are counted in notes.
    pub noted: u64,
}

/// A kind of note as it occurred in one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowNote {
    /// `info`, `doubt` or `data_loss`.
    pub severity: &'static str,
    /// The kind's name.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// What to do.
    pub advice: String,
    /// What is particular to the first one; may be empty.
    pub detail: String,
    /// The first place; null if there is none.
    pub first: Option<Place>,
}

/// A boot, explained, in the shape of `schemas/show.json`.
#[must_use]
pub fn show(boot: &Boot) -> Show {
    let phases = &boot.phases;
    Show {
        schema: "firstlight.show/1",
        zero: phases.zero.clone(),
        clock: phases.clock.map(record::ClockKind::as_str),
        kernel: boot.kernel.clone(),
        machine: boot.machine.clone(),
        cmdline: boot.cmdline.clone(),
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
