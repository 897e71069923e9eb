//! A boot as activities that wait for each other.

use super::activity::Activities;
use super::graph::NodeId;
use super::replay::{self, Replay};
use super::report::{CriticalPath, PathKind, UnitOrder};
use super::units::UNTIL_FIRST_LIGHT;
use super::{back, kernel, lives, processes, units};
use crate::LAST_EVENT;
use crate::load::{Load, load};
use crate::phases::Phases;
use record::{Nanos, Phase, Record};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// What the userspace is told by, if both are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    /// Units.
    Units,
    /// Processes.
    Processes,
}

/// A boot as activities that wait for each other, up to first light.
pub(crate) struct Model<'r> {
    pub(super) all: Activities<'r>,
    /// The last of them; `None` if nothing is known.
    pub(super) last: Option<NodeId>,
    /// When it ended.
    pub(super) end: Nanos,
    /// When the first program of the root filesystem began.
    pub(super) from: Nanos,
    /// The traced boot.
    pub(super) replay: Option<Replay>,
    /// The activities that first light waited for.
    pub(super) on_path: BTreeSet<NodeId>,
    order: UnitOrder,
    knows_processes: bool,
    /// Whether the processes are known by their lives alone.
    is_guessed: bool,
    zero: String,
    mark: String,
    load: OnceCell<Load>,
}

impl<'r> Model<'r> {
    /// Of a record: unit by unit, or process by process.
    pub(crate) fn new(record: &'r Record, phases: &Phases, through: Through) -> Self {
        let first_light = phases.first_light.as_ref();
        let mut model = Self {
            all: Activities::new(record),
            last: None,
            end: phases.end(),
            from: Nanos::ZERO,
            replay: None,
            on_path: BTreeSet::new(),
            order: UnitOrder::None,
            knows_processes: false,
            is_guessed: false,
            zero: phases.zero.clone(),
            mark: first_light.map_or_else(
                || {
                    let last = phases.phases.last();
                    last.map_or(LAST_EVENT, |p| &p.end_mark).to_owned()
                },
                |f| f.mark.clone(),
            ),
            load: OnceCell::new(),
        };
        match through {
            Through::Units => {
                let _ = model.by_units(phases, UnitOrder::Chain)
                    || model.by_processes(phases)
                    || model.by_units(phases, UnitOrder::Guessed)
                    || model.by_lives(phases)
                    || model.by_phases(phases);
            }
            Through::Processes => {
                let _ = model.by_processes(phases)
                    || model.by_units(phases, UnitOrder::Guessed)
                    || model.by_lives(phases)
                    || model.by_phases(phases);
            }
        }
        if model.order >= UnitOrder::Chain || model.knows_processes && !model.is_guessed {
            model.replay = replay::of(record, model.from, model.end);
        }
        let mut at = model.last;
        while let Some(id) = at {
            model.on_path.insert(id);
            at = model.all.graph.waited_for(id);
        }
        model
    }

    /// The boot up to the first of these phases.
    fn until(&mut self, phases: &Phases, programs: &[Phase]) -> Option<NodeId> {
        self.all.clear();
        let before = kernel::until(&mut self.all, phases, programs);
        self.from = before.map_or(Nanos::ZERO, |b| self.all.graph.end(b));
        before
    }

    fn by_units(&mut self, phases: &Phases, least: UnitOrder) -> bool {
        let before = self.until(phases, &[Phase::Userspace, Phase::App]);
        let found = units::until(&mut self.all, phases, before, least);
        if let Some((last, order)) = found {
            (self.last, self.order) = (Some(last), order);
        }
        found.is_some()
    }

    fn by_processes(&mut self, phases: &Phases) -> bool {
        let programs = [Phase::Initrd, Phase::Userspace, Phase::App];
        let before = self.until(phases, &programs);
        let Some(last) = processes::until(&mut self.all, before, self.end) else {
            return false;
        };
        let wait = PathKind::Wait;
        self.last = self.all.fill(Some(last), self.end, wait, UNTIL_FIRST_LIGHT);
        self.knows_processes = true;
        true
    }

    fn by_lives(&mut self, phases: &Phases) -> bool {
        let programs = [Phase::Initrd, Phase::Userspace, Phase::App];
        let before = self.until(phases, &programs);
        self.last = lives::until(&mut self.all, before, self.end);
        self.knows_processes = self.last.is_some();
        self.is_guessed = self.knows_processes;
        self.knows_processes
    }

    fn by_phases(&mut self, phases: &Phases) -> bool {
        let before = self.until(phases, &[Phase::Userspace, Phase::App]);
        self.last = kernel::rest(&mut self.all, phases, before, self.end);
        self.last.is_some()
    }

    /// How busy its processors are while programs start.
    pub(crate) fn load(&self) -> Load {
        let load = || load(self.all.record, self.from, self.end);
        *self.load.get_or_init(load)
    }

    /// Whether who waited for whom is a guess.
    pub(crate) fn is_guessed(&self) -> bool {
        self.is_guessed || self.order == UnitOrder::Guessed
    }

    /// How long programs start.
    pub(crate) fn userspace(&self) -> Nanos {
        (self.end - self.from).max(Nanos::ZERO)
    }

    /// How much earlier first light comes on so many processors, if the tasks were traced.
    pub(crate) fn played_on(&self, processors: usize) -> Option<Nanos> {
        self.replay.as_ref()?.saving_on(processors)
    }

    /// How the order of units is known.
    pub(crate) const fn order(&self) -> UnitOrder {
        self.order
    }

    /// What first light waited for.
    pub(crate) fn path(&self) -> CriticalPath {
        let replay = self.replay.as_ref();
        let items = self.last.map(|last| back::items(&self.all, last, replay));
        CriticalPath {
            zero: self.zero.clone(),
            mark: self.mark.clone(),
            end: self.end,
            items: items.unwrap_or_default(),
            programs: replay.map_or_else(Vec::new, |replay| {
                back::programs(self.all.record, replay, self.end)
            }),
            order: self.order,
            knows_units: self.order >= UnitOrder::Chain,
            knows_processes: self.knows_processes,
        }
    }
}
