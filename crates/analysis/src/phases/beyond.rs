//! Logs that hold nothing of a boot: the ring buffer of a kernel that has run for long.

use super::end::{Options, first_light};
use record::{Mark, Message, Nanos, Phase, Record, mark};

/// No kernel takes so long before it writes a line: what begins this late is behind the boot
/// if no line says otherwise.
const LATE: Nanos = Nanos(300_000_000_000);

/// Marks that may be of any time after the boot: a mount, a line of a program, another clock.
const ANY_TIME: [&str; 4] = [
    mark::ROOT_MOUNTED,
    mark::FIRST_USERSPACE_LINE,
    mark::CLOCKSOURCE_SWITCH,
    mark::CONSOLE_ENABLED,
];

/// The first line of a record that has nothing of a boot, and how long the kernel had run by
/// then; `None` if something is of the boot. It has the kernel's clock, and neither a line
/// within its first minutes nor a mark that only a boot has, nor an end of one.
pub(crate) fn begins_late(record: &Record) -> Option<(&Message, Nanos)> {
    let name = |m: &Mark| record.name(m.name);
    let start = record.mark(mark::KERNEL_CLOCK_START)?.at;
    let is_log = record.spans().is_empty() && record.processes().is_empty();
    let mut marks = record.marks().iter();
    let is_only_late = marks.all(|m| {
        name(m) == mark::KERNEL_CLOCK_START
            || ANY_TIME.contains(&name(m)) && m.begins.is_none_or(|p| p == Phase::Userspace)
    });
    if !is_log || !is_only_late {
        return None;
    }
    let timed = record.messages().iter().filter_map(|m| Some((m, m.at?)));
    let (first, at) = timed.min_by_key(|(_, at)| *at)?;
    let after = at - start;
    let is_over = || first_light(record, &Options::default()).is_none();
    (after >= LATE && is_over()).then_some((first, after))
}
