//! What units compute, by the processor time of their control groups.

use super::contention::ran_between;
use super::view::View;
use record::{Nanos, SpanKind, mark};

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
    if view.model().load().processors != Some(1) {
        return None;
    }
    let each = share(view).unwrap_or_default();
    let mut times = units
        .iter()
        .map(|unit| Some(view.processor_time(unit)? + for_unit(view, unit)));
    times.try_fold(Nanos::ZERO, |sum, time| Some(sum + time? + each))
}

/// Units that only ask a daemon of another unit to work, and the daemon's name as the kernel
/// has it: `journalctl --flush` has systemd-journald move its files.
const ASKED: [(&str, &str); 1] = [("systemd-journal-flush.service", "systemd-journal")];

/// What another unit's daemon computes while this unit asks it to; nothing where nobody
/// recorded who had the processor.
fn for_unit(view: &View<'_>, unit: &str) -> Nanos {
    let daemon = ASKED.iter().find(|(asks, _)| *asks == unit).map(|a| a.1);
    let spans = view.record.spans().iter();
    let mut own = spans.filter(|s| s.kind == SpanKind::Unit && view.record.name(s.name) == unit);
    let times = own.find_map(|s| s.start.zip(s.end));
    let ran = daemon.zip(times).and_then(|(daemon, (from, to))| {
        let all = view.record.processes().iter();
        let daemons = all.filter(|p| view.record.name(p.name) == daemon);
        let pids: Vec<u32> = daemons.map(|p| p.pid).collect();
        ran_between(view, |pid| pids.contains(&pid), from, to)
    });
    ran.unwrap_or_default()
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
