//! Units that udev comes after, where first light waits for what udev does.

use crate::findings::udev_units::{DAEMON, is_settle};
use crate::findings::view::View;
use crate::path::PathKind;
use crate::spans;
use record::{DependencyKind, Nanos, SpanKind};
use std::collections::BTreeMap;

/// Between the end of a unit and the start of the next one systemd needs no longer: what lies
/// farther apart did not wait for it.
const HANDING_ON: Nanos = Nanos::from_millis(20);

/// No chain is longer.
const LONGEST: usize = 64;

/// How long a unit took, if udev began when it was done, directly or by way of others, and
/// first light waits until udev has handled all devices: no order says that the wait needs
/// udev, only the wait itself does.
pub(in crate::findings) fn before_udev(view: &View<'_>, unit: &str) -> Option<Nanos> {
    let mut items = view.path().items.iter();
    if !items.any(|i| i.kind == PathKind::Unit && is_settle(&i.name)) {
        return None;
    }
    let record = view.record;
    let mut times: BTreeMap<&str, (Nanos, Nanos)> = BTreeMap::new();
    for span in spans::distinct(record).iter() {
        if let (SpanKind::Unit, Some(from), Some(to)) = (span.kind, span.start, span.end) {
            times.entry(record.name(span.name)).or_insert((from, to));
        }
    }
    let mut next = DAEMON;
    for _ in 0..LONGEST {
        let (start, _) = times.get(next)?;
        let orders = record.dependencies().iter();
        let orders =
            orders.filter(|d| d.kind == DependencyKind::After && record.name(d.from) == next);
        let before = orders.filter_map(|d| {
            let name = record.name(d.to);
            let (_, end) = times.get(name).filter(|(_, end)| end <= start)?;
            (*start - *end <= HANDING_ON).then_some((*end, name))
        });
        let (_, last) = before.max()?;
        if last == unit {
            return times.get(last).map(|(from, to)| *to - *from);
        }
        next = last;
    }
    None
}
