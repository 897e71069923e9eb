//! The times of one boot that can be compared with those of another.

use super::kind::TimeKind;
use super::work::work;
use crate::compare::{Key as ItemKey, durations, free_place};
use crate::facts::facts;
use crate::phases::{Options, Phases, STARTUP_USERSPACE, phases_with};
use record::{ClockKind, Nanos, Phase, Record};
use std::collections::BTreeMap;

/// The fact that holds what systemd says of the whole start, in nanoseconds.
const STARTUP_TOTAL: &str = "systemd.startup_total_ns";

/// systemd cuts each part of a boot to a whole millisecond: so far the sum of five may be
/// from its total.
const ROUNDING: Nanos = Nanos(5_000_000);

/// What is the same thing in two boots: its kind, a name that does not change from
/// boot to boot, and which of those of that name.
pub(super) type Key = (TimeKind, String, usize);

/// The times of one boot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BootTimes {
    /// What its clock counts; `None` if nothing says so.
    pub(super) clock: Option<ClockKind>,
    /// The mark at its time zero; `None` of a row of a table.
    pub(super) zero: Option<String>,
    /// Whether it is a row of a table.
    pub(super) is_row: bool,
    /// What it ran on: fields and their values.
    pub(super) environment: Vec<(&'static str, String)>,
    /// Each with its name in this boot.
    pub(super) times: BTreeMap<Key, (String, Nanos)>,
}

impl BootTimes {
    /// Of a record.
    #[must_use]
    pub fn of(record: &Record, options: &Options) -> Self {
        let phases = phases_with(record, options);
        let mut boot = Self {
            clock: phases.clock,
            zero: phases.clock.map(|_| phases.zero.clone()),
            ..Self::default()
        };
        if let Some(f) = &phases.first_light {
            boot.add(TimeKind::FirstLight, &f.mark, f.at);
        }
        let facts = facts(record);
        for (field, key) in [("kernel", "kernel.version"), ("machine", "machine")] {
            let fact = facts.iter().find(|f| f.key == key);
            let value = fact.map(|f| (field, f.value.clone()));
            boot.environment.extend(value);
        }
        let printed = |key: &str| {
            let fact = facts.iter().find(|f| f.key == key)?;
            fact.value.parse().ok().map(Nanos)
        };
        if let Some(total) = printed(STARTUP_TOTAL) {
            boot.add(TimeKind::Total, "systemd's total", total);
        }
        let userspace = printed(STARTUP_USERSPACE);
        for p in &phases.phases {
            let took = p.end - p.start;
            let printed =
                userspace.filter(|t| p.name == Phase::Userspace && (*t - took).abs() <= ROUNDING);
            let took = printed.unwrap_or(took);
            boot.add(TimeKind::Phase(p.name), p.name.as_str(), took);
        }
        boot.add_milestones(&phases);
        let mut places: BTreeMap<ItemKey, ()> = BTreeMap::new();
        for (key, time) in durations(record) {
            let place = free_place(&places, &key);
            let name = match place.2 {
                1 => key.1,
                nth => format!("{} #{nth}", key.1),
            };
            let stable = (TimeKind::Item(place.0), place.1.clone(), place.2);
            boot.times.insert(stable, (name, time));
            places.insert(place, ());
        }
        let first_light = phases.first_light.as_ref().map(|f| f.at);
        for (kind, name, time) in work(record, first_light) {
            boot.add(kind, &name, time);
        }
        boot
    }

    /// What its clock counts; `None` if nothing says so.
    #[must_use]
    pub const fn clock(&self) -> Option<ClockKind> {
        self.clock
    }

    /// The mark at its time zero; `None` of a row of a table.
    #[must_use]
    pub fn zero(&self) -> Option<&str> {
        self.zero.as_deref()
    }

    /// What it ran on, where the evidence says so: `kernel` and `machine`.
    #[must_use]
    pub fn environment(&self) -> &[(&'static str, String)] {
        &self.environment
    }

    /// Its times, each under a name that does not change from boot to boot; the second
    /// of a name and those after it carry their number.
    pub fn times(&self) -> impl Iterator<Item = (TimeKind, String, Nanos)> {
        self.times.iter().map(|((kind, stable, nth), (_, time))| {
            let name = match nth {
                1 => stable.clone(),
                nth => format!("{stable} #{nth}"),
            };
            (*kind, name, *time)
        })
    }

    /// Of a row of a table: its columns and what they hold, in order.
    pub fn of_columns<'a>(columns: impl IntoIterator<Item = (&'a str, Option<Nanos>)>) -> Self {
        let mut boot = Self {
            is_row: true,
            ..Self::default()
        };
        for (place, (name, time)) in columns.into_iter().enumerate() {
            if let Some(time) = time {
                boot.add(TimeKind::Column(place), name, time);
            }
        }
        boot
    }

    fn add(&mut self, kind: TimeKind, name: &str, time: Nanos) {
        let name = name.to_owned();
        self.times.insert((kind, name.clone(), 1), (name, time));
    }

    /// What begins or ends a phase is told by the phases.
    fn add_milestones(&mut self, phases: &Phases) {
        for m in &phases.milestones {
            let within = |p: &&crate::PhaseRow| p.start < m.at && m.at <= p.end;
            let Some(phase) = phases.phases.iter().find(within) else {
                continue;
            };
            if !m.begins && m.name != phase.end_mark {
                self.add(TimeKind::Milestone, &m.name, m.at - phase.start);
            }
        }
    }
}
