//! What units compute, by the processor time of their control groups.

use super::contention::ran_between;
use super::view::{SPEED, View, transfer};
use super::watched::Watched;
use crate::phases::Phases;
use crate::system::SystemFacts;
use record::{Nanos, Record, SourceId, SpanKind, mark};
use std::collections::BTreeMap;

/// The control group of the first process.
const MANAGER: &str = "init.scope";

/// Its log, to which each unit writes that it starts and has started.
const LOG: &str = "systemd-journald.service";

/// When it has loaded its units, and starts them.
const LOADED: &str = "units-load-finish";

/// The processor time that these units and the manager's work for them take from first light
/// where there is one processor; `None` if there are more, or if a control group was not
/// asked.
pub(super) fn computed(view: &View<'_>, units: &[String]) -> Option<Nanos> {
    let is_one = view.model().load().processors == Some(1);
    is_one.then(|| on_one(view, units)).flatten()
}

/// The same of a boot with one processor that no rule looks into.
pub(crate) fn computed_on_one(record: &Record, phases: &Phases, units: &[String]) -> Option<Nanos> {
    let watched = Watched::of(SPEED.into_iter().chain([MOVED]));
    let system = SystemFacts::default();
    on_one(&View::new(record, phases, &system, &watched), units)
}

fn on_one(view: &View<'_>, units: &[String]) -> Option<Nanos> {
    let each = share(view).unwrap_or_default();
    let mut times = units
        .iter()
        .map(|unit| Some(view.processor_time(unit)? + for_unit(view, unit)));
    times.try_fold(Nanos::ZERO, |sum, time| Some(sum + time? + each))
}

/// Units that only ask a daemon of another unit to work, and the daemon's name as the kernel
/// has it: `journalctl --flush` has systemd-journald move its files.
const ASKED: [(&str, &str); 1] = [("systemd-journal-flush.service", "systemd-journal")];

/// What another unit's daemon computes while this unit asks it to: by who had the processor, else
/// by what systemd-journald says of it, or by what it has to move.
fn for_unit(view: &View<'_>, unit: &str) -> Nanos {
    let Some((_, daemon)) = ASKED.iter().find(|(asks, _)| *asks == unit) else {
        return Nanos::ZERO;
    };
    let spans = view.record.spans().iter();
    let mut own = spans.filter(|s| s.kind == SpanKind::Unit && view.record.name(s.name) == unit);
    let Some((from, to)) = own.find_map(|s| s.start.zip(s.end)) else {
        return Nanos::ZERO;
    };
    let all = view.record.processes().iter();
    let daemons = all.filter(|p| view.record.name(p.name) == *daemon);
    let pids: Vec<u32> = daemons.map(|p| p.pid).collect();
    let ran = ran_between(view, |pid| pids.contains(&pid), from, to);
    // Others run meanwhile, and so its own time may be longer than its work.
    let told = || view.said(MOVED).find_map(|line| moved(line.text));
    let ran = ran.or_else(told).unwrap_or_else(|| {
        let work = entries(view, from).saturating_mul(MOVED_ENTRY);
        transfer(work, view.speed().rate)
    });
    ran.min(to - from)
}

/// What systemd-journald says when it has moved its files, before the folder, the time and the
/// number of entries: `... to /var/log/journal/1f is 27.341ms for 495 entries.`
pub(super) const MOVED: &str = "Time spent on flushing to ";

/// How long it says that it took.
fn moved(text: &str) -> Option<Nanos> {
    let (_, time) = text.split_once(MOVED)?.1.split_once(" is ")?;
    let (time, _) = time.split_once(" for ")?;
    let parts = time.split(' ').map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = part.split_at_checked(end)?;
        let ns = match unit {
            "min" => 60e9,
            "s" => 1e9,
            "ms" => 1e6,
            "us" | "μs" => 1e3,
            _ => return None,
        };
        Some(number.parse::<f64>().ok()? * ns)
    });
    let ns = parts.sum::<Option<f64>>()?;
    #[expect(clippy::cast_possible_truncation, reason = "below 10^18")]
    (ns < 1e18).then_some(Nanos(ns as i64))
}

/// What systemd-journald computes to move an entry, in instructions: 27.5 ms for some 495 entries
/// at 1 GIPS, by its control group in 16 boots with the flush and 16 without
/// (`experiments/findings/units.toml`). Logs that others published have 4 to 37 us an entry.
const MOVED_ENTRY: u64 = 55_000;

/// How many entries the journal had by then: what the log with the most lines had said. The lines
/// of `initcall_debug`, two for each call, are calls of the record and no messages.
fn entries(view: &View<'_>, at: Nanos) -> u64 {
    let mut counts: BTreeMap<SourceId, u64> = BTreeMap::new();
    let messages = view.record.messages().iter().map(|m| (m.at, m.origin));
    let calls = view.record.spans().iter();
    let calls = calls.filter(|s| s.kind == SpanKind::Initcall);
    let calls = calls.flat_map(|s| [(s.start, s.origin), (s.end, s.origin)]);
    for (time, origin) in messages.chain(calls) {
        if time.is_some_and(|t| t <= at) {
            *counts.entry(origin.source).or_default() += 1;
        }
    }
    counts.into_values().max().unwrap_or_default()
}

/// What the manager and the log compute for one unit: the manager forks, makes a control group and
/// reads the list of mounts. Its time before the units were loaded does not count. On a PC at
/// 1 GIPS four units that were masked took 9 to 13 ms of the manager and 1 to 3 of the log each
/// (`experiments/findings/units.toml`).
fn share(view: &View<'_>) -> Option<Nanos> {
    let record = view.record;
    let started = record.mark(mark::SYSTEMD_STARTED);
    let started = started.or(record.mark(mark::USERSPACE_START))?.at;
    let loading = record.mark(LOADED)?.at - started;
    let rest = (view.processor_time(MANAGER)? - loading).max(Nanos::ZERO);
    let log = view.processor_time(LOG).unwrap_or_default();
    let is_started = |name: &str| name.ends_with(".service") || name.ends_with(".mount");
    let spans = record.spans().iter();
    let units = spans.filter(|s| {
        let has_run = s.processor.is_some_and(|t| t > Nanos::ZERO);
        s.kind == SpanKind::Unit && has_run && is_started(record.name(s.name))
    });
    let count = i64::try_from(units.count()).ok()?;
    (rest + log).0.checked_div(count).map(Nanos)
}
