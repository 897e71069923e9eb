//! The boot with some of its activities shorter, or gone.
//!
//! Three courses are computed. The *expected* one takes the graph as it is, and units that
//! are known to wait for what goes ([`waiters`]) as half as long. The *least* saving has no
//! such unit shorter, and where the order of units is not known whole, something else that
//! the input does not show ends first. The *most* has the waiters as short as they may
//! become, and nothing else in the way.

use super::activity::Doer;
use super::device;
use super::graph::{Course, Graph, NodeId, Times};
use super::model::Model;
use super::replay::Less;
use super::report::{PathKind, UnitOrder};
use super::units::AT_ONCE;
use super::waiters;
use crate::load::Load;
use crate::place::Place;
use record::{NameId, Nanos};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use storage::Storage;

/// What a saving may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// At the least.
    pub least: Nanos,
    /// What is expected.
    pub expected: Nanos,
    /// At the most.
    pub most: Nanos,
}

impl Estimate {
    /// Of these three, none below zero or above `limit`, each at least the one before.
    pub(crate) fn within(least: Nanos, expected: Nanos, most: Nanos, limit: Nanos) -> Self {
        let limit = limit.max(Nanos::ZERO);
        let expected = expected.max(Nanos::ZERO).min(limit);
        Self {
            least: least.max(Nanos::ZERO).min(expected),
            expected,
            most: most.max(expected).min(limit),
        }
    }
}

/// An item of the path as it would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewItem {
    /// What kind of thing.
    pub kind: PathKind,
    /// Which one.
    pub name: String,
    /// When it would begin.
    pub start: Nanos,
    /// When it would end.
    pub end: Nanos,
    /// The evidence, if it has a place of its own.
    pub origin: Option<Place>,
}

/// How long activities would take, and waits before them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shorter {
    durations: BTreeMap<NodeId, Nanos>,
    lags: BTreeMap<NodeId, Nanos>,
    /// Those that are not there at all.
    gone: BTreeSet<NodeId>,
}

/// Activities of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Matched {
    nodes: Vec<NodeId>,
    /// A wait before this one.
    lags: Vec<NodeId>,
    /// Their names, each once.
    pub names: BTreeSet<String>,
}

impl Matched {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.lags.is_empty()
    }
}

/// A unit that waits takes this part of its time, in hundredths, if what it waits for is
/// gone: as expected, and at the least. A service that sets the network up took 40 when the
/// units went that configure it (a published ladder of a board, two images).
const WAITS_STILL: (i64, i64) = (50, 30);

/// At least this part of a saving stays, in hundredths, where the order of units is known
/// from a chain alone: when the end of a chain of 2.7 s went, the next one was 84 as much
/// earlier.
const OF_CHAIN: i64 = 65;

/// The same where the order is guessed.
const OF_GUESS: i64 = 35;

/// The same where the order is known, and there may be one processor, which others keep
/// busy, or there are several.
const OF_KNOWN: (i64, i64) = (50, 90);

/// A boot that is played again is off by so much, in hundredths: 14 of 18 planted delays
/// were within 10.
const OF_REPLAY: i64 = 15;

fn part(of: Nanos, hundredths: i64) -> Nanos {
    let part = i128::from(of.get()) * i128::from(hundredths) / 100;
    Nanos(i64::try_from(part).unwrap_or(i64::MAX))
}

/// Which of the three.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scenario {
    Least,
    Expected,
    Most,
}

/// `fuse_init` of `fuse_init+0x0/0x1b0 [fuse]`.
fn function(name: &str) -> &str {
    let end = name.find(['+', ' ']).unwrap_or(name.len());
    name.get(..end).unwrap_or(name)
}

/// The driver that an initcall is of: its module, or what is left of its name.
fn driver(call: &str) -> &str {
    let module = call
        .rsplit_once(" [")
        .and_then(|(_, m)| m.strip_suffix(']'));
    module.unwrap_or_else(|| {
        let stem = function(call);
        let ends = ["_driver_init", "_module_init", "_mod_init", "_init"];
        let stem = ends.iter().find_map(|e| stem.strip_suffix(e));
        stem.unwrap_or_else(|| function(call))
    })
}

/// Whether a name is meant: in full, without its ending, as a driver or a program, or by a
/// pattern with `*`.
fn is_meant(kind: PathKind, name: &str, wanted: &str) -> bool {
    let like = |name: &str| waiters::is_like(name, wanted);
    if like(name) {
        return true;
    }
    match kind {
        PathKind::Unit => name.rsplit_once('.').is_some_and(|(stem, kind)| {
            matches!(kind, "service" | "target" | "mount" | "socket" | "device") && stem == wanted
        }),
        PathKind::Initcall => {
            let same = |a: &str, b: &str| a.replace('-', "_") == b.replace('-', "_");
            like(function(name)) || same(driver(name), wanted)
        }
        PathKind::Process | PathKind::Io => {
            let program = name.split_once(" (").map_or(name, |(program, _)| program);
            like(program)
        }
        _ => false,
    }
}

impl Model<'_> {
    /// The activities that a name means; `None` if the boot has none of that name.
    pub(crate) fn matching(&self, wanted: &str) -> Option<Matched> {
        let mut found = Matched::default();
        let graph = &self.all.graph;
        let guards: BTreeSet<NodeId> = graph.ids().filter_map(|id| graph.guard(id)).collect();
        for id in graph.ids().filter(|id| !guards.contains(id)) {
            let Some(about) = self.all.about(id) else {
                continue;
            };
            let call = about.call.map(|c| self.all.record.name(c));
            let of_call = call.filter(|c| is_meant(PathKind::Initcall, c, wanted));
            if let Some(call) = of_call {
                found.nodes.push(id);
                found.names.insert(call.to_owned());
            } else if is_meant(about.kind, &about.name, wanted) {
                found.nodes.push(id);
                found.names.insert(about.name.clone());
            } else if let Some(name) = wanted.strip_prefix("before ")
                && name == about.name
            {
                found.lags.push(id);
                found.names.insert(wanted.to_owned());
            }
        }
        if !found.is_empty() {
            return Some(found);
        }
        // What is beside the way to first light, or after it.
        let record = self.all.record;
        let spans = record.spans().iter().map(|s| s.name);
        let processes = record.processes().iter().map(|p| p.name);
        let is = |name: NameId| {
            let name = record.name(name);
            let kinds = [PathKind::Unit, PathKind::Initcall, PathKind::Process];
            kinds.iter().any(|k| is_meant(*k, name, wanted))
        };
        spans.chain(processes).any(is).then_some(found)
    }

    /// How long activities take together, and the waits before them.
    pub(crate) fn time(&self, of: &Matched) -> Nanos {
        let durations = of.nodes.iter().map(|n| self.all.graph.duration(*n));
        let lags = of.lags.iter().map(|n| self.wait_before(*n));
        durations.chain(lags).fold(Nanos::ZERO, |sum, t| sum + t)
    }

    /// How long the wait before an activity is.
    fn wait_before(&self, id: NodeId) -> Nanos {
        let guard = self.all.graph.guard(id);
        let guard = guard.map_or(Nanos::ZERO, |g| self.all.graph.duration(g));
        guard + self.all.graph.lag(id)
    }

    /// Leaves `left` of the time of these activities; none: they are gone.
    pub(crate) fn shorten(&self, shorter: &mut Shorter, of: &Matched, left: Nanos) {
        let whole = self.time(of).get().max(1);
        let share = |own: Nanos| {
            let share = i128::from(own.get()) * i128::from(left.get().max(0)) / i128::from(whole);
            Nanos(i64::try_from(share).unwrap_or(i64::MAX)).min(own)
        };
        let graph = &self.all.graph;
        for &id in &of.nodes {
            let new = share(graph.duration(id));
            let kept = shorter.durations.entry(id).or_insert(new);
            *kept = new.min(*kept);
            if left <= Nanos::ZERO {
                shorter.gone.insert(id);
            }
        }
        for &id in &of.lags {
            if let Some(guard) = graph.guard(id) {
                let new = share(graph.duration(guard));
                shorter.durations.insert(guard, new);
            }
            shorter.lags.insert(id, share(graph.lag(id)));
        }
    }

    /// How much earlier first light comes.
    pub(crate) fn saving(&self, shorter: &Shorter, load: Load) -> Estimate {
        self.saving_with(shorter, load, self.played(shorter))
    }

    /// The same of a boot with one processor: what goes takes `work` of it from what is waited
    /// for, too, and `time` by itself.
    pub(crate) fn saving_of_work(&self, shorter: &Shorter, work: Nanos, time: Nanos) -> Estimate {
        let played = self.played(shorter);
        let saving = self.saving_with(shorter, self.load(), played);
        let gain = played.map_or_else(|| self.saving_of_graph(shorter), |(_, expected)| expected);
        let expected = gain.max(work.min(time));
        Estimate {
            least: saving.least.min(expected),
            expected,
            most: saving.most.max(expected).max(time),
        }
    }

    /// `played`: of the boot played again, if it was traced.
    fn saving_with(
        &self,
        shorter: &Shorter,
        load: Load,
        played: Option<(Nanos, Nanos)>,
    ) -> Estimate {
        let Some(last) = self.last else {
            return Estimate::default();
        };
        let waiting = self.waiting(shorter);
        let graph_of = |shorter: &Shorter, scenario| {
            let base = self.end_at(last, &Shorter::default(), &BTreeSet::new(), scenario);
            let new = self.end_at(last, shorter, &waiting, scenario);
            (base - new).max(Nanos::ZERO)
        };
        let graph = |scenario| graph_of(shorter, scenario);
        let graph_on_path = |scenario| {
            let mut on_path = shorter.clone();
            on_path.durations.retain(|id, _| self.on_path.contains(id));
            graph_of(&on_path, scenario)
        };
        let (least, expected) = (graph(Scenario::Least), graph(Scenario::Expected));
        let most = graph(Scenario::Most);
        if let Some((own, played)) = played {
            let low = own.min(played).min(least);
            return Estimate::within(
                low - part(low, OF_REPLAY),
                played,
                played.max(most) + part(played, OF_REPLAY),
                self.end,
            );
        }
        // What is won in the graph is not won again.
        let beside = self.beside(shorter) - (expected - graph_on_path(Scenario::Expected));
        let beside = beside.max(Nanos::ZERO);
        let felt = load.felt();
        let several = load.processors.is_some_and(|n| n > 1);
        let sure = match self.order() {
            _ if self.is_guessed() => OF_GUESS,
            UnitOrder::None | UnitOrder::Guessed => 100,
            UnitOrder::Chain => OF_CHAIN,
            UnitOrder::Known if several => OF_KNOWN.1,
            UnitOrder::Known => OF_KNOWN.0,
        };
        // What is saved before the first program is sure.
        let serial = self.serial(shorter).min(least);
        Estimate::within(
            serial + part(least - serial, sure),
            expected + felt.of_expected(beside),
            most.max(expected) + felt.of_most(beside),
            self.end,
        )
    }

    /// How much earlier first light comes by the graph alone, with units that wait as long
    /// as they did.
    pub(crate) fn saving_of_graph(&self, shorter: &Shorter) -> Nanos {
        let end = |shorter| {
            let last = self.last?;
            Some(self.end_at(last, shorter, &BTreeSet::new(), Scenario::Expected))
        };
        let (base, new) = (end(&Shorter::default()), end(shorter));
        (base.unwrap_or_default() - new.unwrap_or_default()).max(Nanos::ZERO)
    }

    /// How much earlier first light comes if the requests of the boot go to another device;
    /// less than nothing if later. `None` if no requests were traced.
    ///
    /// While the device works, what is on the path waits for it: at the least never, at the
    /// most always, and as expected as long as no processor works.
    pub(crate) fn stored(
        &self,
        shorter: &Shorter,
        figures: &Storage,
        load: Load,
    ) -> Option<Estimate> {
        let last = self.last?;
        let periods = device::busy(self.all.record, self.end, figures);
        if periods.is_empty() {
            return None;
        }
        let nobody = BTreeSet::new();
        let before = self.end_at(last, shorter, &nobody, Scenario::Expected);
        let of = |hundredths: i64| {
            let mut new = shorter.clone();
            for id in self.all.graph.ids() {
                let (Some(about), false) = (self.all.about(id), self.all.placed.contains(&id))
                else {
                    continue;
                };
                let duration = self.all.graph.duration(id);
                let left = new.durations.get(&id).copied().unwrap_or(duration);
                let more = device::longer(&periods, about.start, about.end);
                // A part of an item that goes does so with its requests.
                let share = i128::from(left.get()) * 100 / i128::from(duration.get().max(1));
                let hundredths = match about.kind {
                    PathKind::Io => 100,
                    _ => hundredths,
                };
                let share = i64::try_from(share).unwrap_or_default();
                let more = part(part(more, hundredths), share);
                new.durations.insert(id, (left + more).max(Nanos::ZERO));
            }
            before - self.end_at(last, &new, &nobody, Scenario::Expected)
        };
        let idle = load.busy.map_or(50, |busy| 100 - busy.clamp(0, 1_000) / 10);
        let (never, expected, always) = (of(0), of(idle), of(100));
        Some(Estimate {
            least: never.min(always).min(expected),
            expected,
            most: never.max(always).max(expected),
        })
    }

    /// The path as it is expected to be.
    pub(crate) fn new_path(&self, shorter: &Shorter) -> Vec<NewItem> {
        let waiting = self.waiting(shorter);
        let times = self.times(shorter, &waiting, Scenario::Expected);
        let mut items = Vec::new();
        let mut at = self.last;
        while let Some(id) = at {
            at = self.all.graph.waited_for_at(id, &times);
            let end_of = |id: NodeId| times.get(Graph::place(id)).copied().unwrap_or_default();
            let (start, end) = end_of(id);
            let Some(about) = self.all.about(id) else {
                continue;
            };
            if end > start {
                items.push(NewItem {
                    kind: about.kind,
                    name: about.name.clone(),
                    start,
                    end,
                    origin: about.origin.clone(),
                });
            }
            let ready = at.map_or(Nanos::ZERO, |a| end_of(a).1);
            if ready < start {
                items.push(NewItem {
                    kind: PathKind::Wait,
                    name: format!("before {}", about.name),
                    start: ready,
                    end: start,
                    origin: None,
                });
            }
        }
        items.reverse();
        items
    }

    /// Units that wait less for work of others, which then shares the only processor with what
    /// waited.
    fn shared_waits(&self, shorter: &Shorter) -> BTreeSet<NodeId> {
        let shorter = shorter.durations.keys().copied();
        let leaves = |id: &NodeId| {
            let about = self.all.about(*id);
            about.is_some_and(|a| a.kind == PathKind::Unit && waiters::is_settle(&a.name))
        };
        let units: BTreeSet<NodeId> = shorter.filter(leaves).collect();
        let is_one = !units.is_empty() && self.load().processors == Some(1);
        if is_one { units } else { BTreeSet::new() }
    }

    /// Units that wait for something that goes.
    fn waiting(&self, shorter: &Shorter) -> BTreeSet<NodeId> {
        let name = |id: &NodeId| Some(self.all.about(*id)?.name.as_str());
        let is_unit = |id: &NodeId| {
            self.all
                .about(*id)
                .is_some_and(|a| a.kind == PathKind::Unit)
        };
        let gone = shorter.gone.iter().filter(|n| is_unit(n));
        let gone: Vec<&str> = gone.filter_map(name).collect();
        if gone.is_empty() {
            return BTreeSet::new();
        }
        let others = self.all.graph.ids().filter(is_unit);
        let others = others.filter(|id| !shorter.durations.contains_key(id));
        others
            .filter(|id| name(id).is_some_and(|n| gone.iter().any(|g| waiters::waits_for(n, g))))
            .collect()
    }

    fn times(&self, shorter: &Shorter, waiting: &BTreeSet<NodeId>, scenario: Scenario) -> Times {
        // What comes by itself comes with the first program.
        let serial = self.serial(shorter);
        let shared = self.shared_waits(shorter);
        self.all.graph.times(&|id, course: Course| {
            let mut new = course;
            if let Some(duration) = shorter.durations.get(&id) {
                new.duration = *duration;
                if shared.contains(&id) {
                    let won = match scenario {
                        Scenario::Least => waiters::SETTLE_LEAST,
                        Scenario::Expected => waiters::SETTLE_SHARED,
                        Scenario::Most => 100,
                    };
                    new.duration = course.duration - part(course.duration - *duration, won);
                }
            } else if waiting.contains(&id) {
                let hundredths = match scenario {
                    Scenario::Least => 100,
                    Scenario::Expected => WAITS_STILL.0,
                    Scenario::Most => WAITS_STILL.1,
                };
                new.duration = part(course.duration, hundredths);
            } else if scenario == Scenario::Least && self.ends_by_itself(id) {
                new.ends = Some(self.all.graph.end(id) - serial);
            } else if scenario == Scenario::Most && self.is_aside(id) {
                new.duration = Nanos::ZERO;
            }
            if scenario != Scenario::Least && self.is_loose(id, course.lag) {
                (new.duration, new.lag) = (Nanos::ZERO, Nanos::ZERO);
            }
            if let Some(lag) = shorter.lags.get(&id) {
                new.lag = *lag;
            } else if scenario == Scenario::Least && self.is_held(id, course.lag) {
                new.begins = self.all.about(id).map(|a| a.start - serial);
            }
            new
        })
    }

    fn end_at(
        &self,
        last: NodeId,
        shorter: &Shorter,
        waiting: &BTreeSet<NodeId>,
        scenario: Scenario,
    ) -> Nanos {
        let times = self.times(shorter, waiting, scenario);
        times.get(Graph::place(last)).map_or(self.end, |t| t.1)
    }

    fn ends_by_itself(&self, id: NodeId) -> bool {
        let about = self.all.about(id);
        about.is_some_and(|a| a.kind == PathKind::Unit && waiters::ends_by_itself(&a.name))
    }

    /// Whether a unit began long after all that it is known to wait for: what held it is not
    /// known.
    fn is_held(&self, id: NodeId, lag: Nanos) -> bool {
        let is_unit = self.all.about(id).is_some_and(|a| a.kind == PathKind::Unit);
        is_unit && lag > AT_ONCE && self.order() != UnitOrder::Known
    }

    /// Whether a unit beside a chain began long after all that it is known to wait for. It may
    /// wait for something on the chain.
    fn is_loose(&self, id: NodeId, lag: Nanos) -> bool {
        let is_beside = self.order() == UnitOrder::Chain && !self.on_path.contains(&id);
        is_beside && self.is_held(id, lag)
    }

    /// Whether an activity stands only where it usually would, and not on the path.
    fn is_aside(&self, id: NodeId) -> bool {
        self.all.placed.contains(&id) && !self.on_path.contains(&id)
    }

    /// How much goes of what is beside the path and takes a processor.
    fn beside(&self, shorter: &Shorter) -> Nanos {
        let of = |(id, left): (&NodeId, &Nanos)| {
            let about = self.all.about(*id)?;
            let takes = about.kind == PathKind::Unit && !waiters::is_idle(&about.name);
            let aside = takes && !self.on_path.contains(id);
            aside.then(|| self.all.graph.duration(*id) - *left)
        };
        let gone = shorter.durations.iter().filter_map(of);
        gone.fold(Nanos::ZERO, |sum, t| sum + t)
    }

    /// How much goes of what was before the first program.
    fn serial(&self, shorter: &Shorter) -> Nanos {
        let graph = &self.all.graph;
        let before = shorter.durations.iter();
        let before = before.filter(|(id, _)| graph.end(**id) <= self.from);
        before.fold(Nanos::ZERO, |sum, (id, left)| {
            sum + (graph.duration(*id) - *left)
        })
    }

    /// What a boot saves that is played again; `None` if it was not traced. At the least, and as
    /// expected: what a unit that goes had waited for may be as much in the way without it.
    pub(crate) fn played(&self, shorter: &Shorter) -> Option<(Nanos, Nanos)> {
        let replay = self.replay.as_ref()?;
        let last = self.last?;
        let mut less: Vec<Less> = Vec::new();
        let mut serial = Shorter {
            lags: shorter.lags.clone(),
            ..Shorter::default()
        };
        for (&id, &left) in &shorter.durations {
            let about = self.all.about(id)?;
            let is_gone = shorter.gone.contains(&id);
            let duration = self.all.graph.duration(id);
            let pids = match about.by {
                _ if about.start < self.from => None,
                Doer::Nobody => None,
                Doer::Unit(name) => replay.of_unit(name).cloned(),
                Doer::Task(pid) => Some(HashSet::from([pid])),
            };
            let Some(pids) = pids else {
                serial.durations.insert(id, left);
                continue;
            };
            let whole = is_gone && matches!(about.by, Doer::Unit(_));
            let within = match whole {
                true => vec![(self.from, self.end)],
                false => vec![(about.start, about.end)],
            };
            let gone = (duration - left).get().saturating_mul(1_000) / duration.get().max(1);
            less.push(Less {
                pids,
                within,
                gone: u16::try_from(gone).unwrap_or(1_000).min(1_000),
                absent: whole,
            });
        }
        let of_serial = match serial.durations.is_empty() && serial.lags.is_empty() {
            true => Nanos::ZERO,
            false => {
                let new = self.end_at(last, &serial, &BTreeSet::new(), Scenario::Expected);
                self.all.graph.end(last) - new
            }
        };
        if less.is_empty() {
            return Some((of_serial, of_serial));
        }
        let alone = replay.saving(&less)?.max(Nanos::ZERO);
        for one in &mut less {
            one.absent = false;
        }
        let own = replay.saving(&less)?.max(Nanos::ZERO);
        // What was waited for may have held others up, too: by the kernel, which lets nobody
        // else go on while it loads a module, or in a way that no trace says. So more than its own
        // time is won as far as the order of units has it, too.
        let expected = own.max(alone.min(self.saving_of_graph(shorter)));
        Some((of_serial + own, of_serial + expected))
    }
}
