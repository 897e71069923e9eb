//! The critical path: what first light waited for, from power-on to the end.
//!
//! Until the kernel starts the first program a boot is one thing after another.
//! After that, units wait for those that they are ordered after, or processes
//! for each other, for the processor and for storage. All are activities of one
//! graph; the path is the way back from first light, at each step to the one
//! that was waited for last.

mod calls;
mod gate;
mod graph;
mod kernel;
mod processes;
mod replay;
mod schedule;
mod units;

use crate::LAST_EVENT;
use crate::phases::Phases;
use crate::place::Place;
use crate::summary::is_deferral;
use graph::{Change, Graph, NodeId};
use record::{NameId, Nanos, Phase, Record, Span, SpanKind};
use replay::{Less, Replay};
use std::collections::{BTreeMap, HashSet};

/// How many items, the longest, are taken away in a boot that is played again.
const MOST_REPLAYS: usize = 48;

/// How many programs, those with most to take away, are.
const MOST_PROGRAMS: usize = 24;

/// What kind of thing an item of the path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathKind {
    /// A part of the boot of which no more is known.
    Phase,
    /// An initcall of the kernel's own sequence.
    Initcall,
    /// A driver that took a device.
    Probe,
    /// A driver that tried a device in vain, because what it needs was not there yet.
    Deferral,
    /// What the kernel did between two calls, or before or after all of them.
    Kernel,
    /// A systemd unit.
    Unit,
    /// A process that ran.
    Process,
    /// A process that waited for storage.
    Io,
    /// Time that nobody is known to have used: a queue, a device, a timer.
    Wait,
}

impl PathKind {
    /// What a call of a module or a driver is on the path; `None` for other spans.
    fn of_call(span: &Span) -> Option<Self> {
        match span.kind {
            SpanKind::Initcall => Some(Self::Initcall),
            SpanKind::Probe if is_deferral(span) => Some(Self::Deferral),
            SpanKind::Probe => Some(Self::Probe),
            _ => None,
        }
    }

    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Phase => "phase",
            Self::Initcall => "initcall",
            Self::Probe => "probe",
            Self::Deferral => "deferral",
            Self::Kernel => "kernel",
            Self::Unit => "unit",
            Self::Process => "process",
            Self::Io => "io",
            Self::Wait => "wait",
        }
    }
}

/// Something that first light waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathItem {
    /// What kind of thing.
    pub kind: PathKind,
    /// Which one.
    pub name: String,
    /// When it began.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// How much longer it could take without delaying first light: zero on the
    /// path, but for what the stamps cannot tell.
    pub slack: Nanos,
    /// How much earlier first light would come if it took half its time, all
    /// else being equal: less than half its time where another way is nearly
    /// as long.
    pub saving_if_halved: Nanos,
    /// The evidence, if it has a place of its own.
    pub origin: Option<Place>,
    /// The initcall that it is a piece of, or that did the probe; `None` for what no
    /// initcall is known to have done.
    pub call: Option<String>,
}

/// A program, and what it would bring to have it take half its time. It is more
/// than its items on the path say where it takes the processor from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathProgram {
    /// Its name.
    pub name: String,
    /// How many processes of that name there were.
    pub processes: usize,
    /// What they worked, and waited for nobody who is known, such as a timer.
    pub time: Nanos,
    /// How much earlier first light would come if that were half.
    pub saving_if_halved: Nanos,
}

/// What first light waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriticalPath {
    /// The name of the mark at time zero.
    pub zero: String,
    /// What ended the boot.
    pub mark: String,
    /// When that was.
    pub end: Nanos,
    /// The items in order. Each begins where the one before it ended.
    pub items: Vec<PathItem>,
    /// What it would bring to have programs take half their time, on the path or
    /// beside it: the most first. Empty where the boot cannot be played again.
    pub programs: Vec<PathProgram>,
    /// Whether units and their order are known: without them the userspace is
    /// one item.
    pub knows_units: bool,
    /// Whether the userspace is told process by process.
    pub knows_processes: bool,
}

/// Activities, and what they are called.
struct Activities<'r> {
    record: &'r Record,
    graph: Graph,
    about: Vec<About>,
}

struct About {
    kind: PathKind,
    name: String,
    start: Nanos,
    end: Nanos,
    origin: Option<Place>,
    /// The initcall that did it.
    call: Option<NameId>,
    by: Doer,
}

/// Who does an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Doer {
    /// Nobody who is known.
    Nobody,
    /// The processes of a unit.
    Unit(NameId),
    /// A task.
    Task(u32),
}

impl Activities<'_> {
    /// Forgets all that was added.
    fn clear(&mut self) {
        self.graph = Graph::default();
        self.about.clear();
    }

    fn add(&mut self, about: About, after: &[NodeId]) -> NodeId {
        let id = self.graph.add(about.start, about.end, after);
        self.about.push(about);
        id
    }

    /// Adds one that something else kept from beginning, too.
    fn add_guarded(&mut self, about: About, after: &[NodeId], guard: Option<NodeId>) -> NodeId {
        let (start, end) = (about.start, about.end);
        let id = self.graph.add_guarded(start, end, after, guard);
        self.about.push(about);
        id
    }

    /// Adds what fills the time up to `until`, if there is any.
    fn fill(
        &mut self,
        last: Option<NodeId>,
        until: Nanos,
        kind: PathKind,
        name: &str,
    ) -> Option<NodeId> {
        let start = last.map_or(Nanos::ZERO, |l| self.graph.end(l));
        if start >= until {
            return last;
        }
        let about = About {
            kind,
            name: name.to_owned(),
            start,
            end: until,
            origin: None,
            call: None,
            by: Doer::Nobody,
        };
        let after: Vec<NodeId> = last.into_iter().collect();
        Some(self.add(about, &after))
    }
}

/// What first light waited for. Empty without any phase. The userspace is told
/// unit by unit, or process by process where no units with their order are
/// known and the tasks were traced.
#[must_use]
pub fn critical_path(record: &Record, phases: &Phases) -> CriticalPath {
    through(record, phases, Through::Units)
}

/// The same, process by process wherever the tasks were traced.
#[must_use]
pub fn critical_path_of_processes(record: &Record, phases: &Phases) -> CriticalPath {
    through(record, phases, Through::Processes)
}

/// What the userspace is told by, if both are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Through {
    Units,
    Processes,
}

fn through(record: &Record, phases: &Phases, through: Through) -> CriticalPath {
    let mut all = Activities {
        record,
        graph: Graph::default(),
        about: Vec::new(),
    };
    let end = phases.end();
    let (mut last, mut knows_units, mut knows_processes) = (None, false, false);
    let mut programs_from = Nanos::ZERO;
    if through == Through::Units {
        let before = kernel::until(&mut all, phases, &[Phase::Userspace, Phase::App]);
        last = units::until(&mut all, phases, before, end);
        programs_from = before.map_or(Nanos::ZERO, |b| all.graph.end(b));
        knows_units = last.is_some();
    }
    if last.is_none() {
        all.clear();
        let programs = [Phase::Initrd, Phase::Userspace, Phase::App];
        let before = kernel::until(&mut all, phases, &programs);
        last = processes::until(&mut all, before, end);
        programs_from = before.map_or(Nanos::ZERO, |b| all.graph.end(b));
        knows_processes = last.is_some();
    }
    let last = match last {
        Some(last) => all.fill(Some(last), end, PathKind::Wait, "until first light"),
        None if through == Through::Processes => return critical_path(record, phases),
        None => {
            all.clear();
            let before = kernel::until(&mut all, phases, &[Phase::Userspace, Phase::App]);
            kernel::rest(&mut all, phases, before, end)
        }
    };
    let replay = (knows_units || knows_processes)
        .then(|| replay::of(record, programs_from, end))
        .flatten();
    let first_light = phases.first_light.as_ref();
    CriticalPath {
        zero: phases.zero.clone(),
        mark: first_light.map_or_else(
            || {
                let last = phases.phases.last();
                last.map_or(LAST_EVENT, |p| &p.end_mark).to_owned()
            },
            |f| f.mark.clone(),
        ),
        end,
        items: last.map_or_else(Vec::new, |last| items(&all, last, replay.as_ref())),
        programs: replay.map_or_else(Vec::new, |replay| programs(record, &replay, end)),
        knows_units,
        knows_processes,
    }
}

/// The way back from `last`. What items save is read from `replay` where it is
/// there.
fn items(all: &Activities<'_>, last: NodeId, replay: Option<&Replay>) -> Vec<PathItem> {
    let end = all.graph.end(last);
    let slacks = all.graph.slacks(last);
    let on_every_way = all.graph.on_every_way(last, &slacks);
    let mut items = Vec::new();
    let mut doers: Vec<Doer> = Vec::new();
    let mut at = Some(last);
    while let Some(id) = at {
        at = all.graph.waited_for(id);
        let Some(about) = all.about.get(Graph::place(id)) else {
            continue;
        };
        let half = |t: Nanos| Nanos(t.get() / 2);
        // There may be very many: no way is followed where none leads past it.
        let always = on_every_way.get(Graph::place(id)) == Some(&true);
        let saving = |less, change| match always {
            true => less,
            false => end - all.graph.end_if(last, change),
        };
        let slack = slacks.get(Graph::place(id)).copied().flatten();
        if about.end > about.start {
            doers.push(about.by);
            items.push(PathItem {
                kind: about.kind,
                name: about.name.clone(),
                start: about.start,
                end: about.end,
                slack: slack.unwrap_or_default(),
                saving_if_halved: {
                    let whole = all.graph.duration(id);
                    saving(whole - half(whole), Change::Duration(id, half(whole)))
                },
                origin: about.origin.clone(),
                call: about.call.map(|c| all.record.name(c).to_owned()),
            });
        }
        // Time between the two that neither used.
        let ready = at.map_or(Nanos::ZERO, |a| all.graph.end(a));
        if ready < about.start {
            let wait = about.start - ready;
            let saving_if_halved = match all.graph.guard(id) {
                Some(g) => {
                    let shorter = all.graph.duration(g) - half(wait);
                    end - all.graph.end_if(last, Change::Duration(g, shorter))
                }
                None => saving(wait - half(wait), Change::Lag(id, half(wait))),
            };
            doers.push(Doer::Task(1));
            items.push(PathItem {
                kind: PathKind::Wait,
                name: format!("before {}", about.name),
                start: ready,
                end: about.start,
                slack: slack.unwrap_or_default(),
                saving_if_halved,
                origin: None,
                call: None,
            });
        }
    }
    if let Some(replay) = replay {
        play_again(&mut items, &doers, replay);
    }
    items.reverse();
    items
}

/// What programs save, from the boot played again without half of what each of them
/// did and waited for by itself.
fn programs(record: &Record, replay: &Replay, end: Nanos) -> Vec<PathProgram> {
    let mut by_name: BTreeMap<&str, HashSet<u32>> = BTreeMap::new();
    for process in record.processes() {
        let begun = process.start.unwrap_or(process.first_seen);
        if !process.kernel_thread && begun < end {
            let name = record.name(process.name);
            by_name.entry(name).or_default().insert(process.pid);
        }
    }
    let with_time = by_name
        .into_iter()
        .map(|(n, p)| (replay.own_time(&p), n, p));
    let mut most: Vec<_> = with_time.collect();
    most.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let mut programs: Vec<PathProgram> = Vec::new();
    for (time, name, pids) in most.into_iter().take(MOST_PROGRAMS) {
        let processes = pids.len();
        let within = vec![(replay.from(), end)];
        let saving = replay.saving(&Less { pids, within });
        programs.extend(saving.map(|saving| PathProgram {
            name: name.to_owned(),
            processes,
            time,
            saving_if_halved: saving.max(Nanos::ZERO),
        }));
    }
    programs.sort_by_key(|p| -p.saving_if_halved.get());
    programs
}

/// What the longest items save, from the boot played again without half of each.
/// What a task did from one sleep to the next is shortened as a whole, however often
/// others had the processor meanwhile: each part of it has its share.
fn play_again(items: &mut [PathItem], doers: &[Doer], replay: &Replay) {
    let mut wholes: BTreeMap<(Doer, Nanos), Vec<&mut PathItem>> = BTreeMap::new();
    for (item, doer) in items.iter_mut().zip(doers) {
        if item.start < replay.from() || *doer == Doer::Nobody {
            continue;
        }
        let burst = match (doer, item.kind) {
            (Doer::Task(pid), PathKind::Process | PathKind::Initcall) => {
                replay.burst_at(*pid, item.start)
            }
            // A probe may sleep, too: what is not the work of one burst is shortened
            // by itself.
            (Doer::Task(pid), PathKind::Probe | PathKind::Deferral) => replay
                .burst_at(*pid, item.start)
                .filter(|b| item.end <= b.1),
            _ => None,
        };
        let key = (*doer, burst.map_or(item.start, |b| b.0));
        // From the last to the first.
        wholes.entry(key).or_default().insert(0, item);
    }
    let length =
        |whole: &[&mut PathItem]| -> i64 { whole.iter().map(|i| (i.end - i.start).get()).sum() };
    let mut longest: Vec<_> = wholes.into_iter().collect();
    longest.sort_by_key(|(_, whole)| -length(whole));
    for ((doer, _), mut whole) in longest.into_iter().take(MOST_REPLAYS) {
        let pids = match doer {
            Doer::Nobody => None,
            Doer::Unit(name) => replay.of_unit(name).cloned(),
            Doer::Task(pid) => Some(HashSet::from([pid])),
        };
        let Some(pids) = pids else { continue };
        let within = whole.iter().map(|i| (i.start, i.end)).collect();
        let Some(saving) = replay.saving(&Less { pids, within }) else {
            continue;
        };
        let length = length(&whole);
        let saving = saving.get().clamp(0, length - length / 2);
        let share = |part: i64| {
            let share = i128::from(saving) * i128::from(part) / i128::from(length.max(1));
            i64::try_from(share).unwrap_or(saving)
        };
        let mut before = 0;
        for item in &mut whole {
            let own = (item.end - item.start).get();
            let saves = share(before + own) - share(before);
            // Rounded, it is no more than half.
            item.saving_if_halved = Nanos(saves.min(own - own / 2));
            before += own;
        }
    }
}
