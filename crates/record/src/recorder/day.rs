//! The target's own time of day, beside clocks that count from the boot.

use super::Recorder;
use crate::clock::{ClockId, Mapping};
use crate::mark::{KERNEL_CLOCK_START, KERNEL_START, STARTUP_FINISHED, USERSPACE_START};
use crate::note::{NoteKind, Severity};

/// The clock of logs whose lines have the time of day, as the target saw it.
const TIME_OF_DAY: &str = "realtime";

const TIMES_UNKNOWN: NoteKind = NoteKind {
    name: "time_of_day_unrelated",
    severity: Severity::Doubt,
    advice: "nothing says when in the boot these times of day were, so the lines were read without \
     them; take the log with `journalctl -o short-monotonic`, or `dmesg` without -T",
};

/// Instants by which the time of day is known on another clock: the mark on it, and the mark on
/// the other. systemd's last word comes first: a journal stamps the kernel's first lines when it
/// reads them, which may be as late as userspace.
const INSTANTS: [(&str, &str); 3] = [
    (STARTUP_FINISHED, STARTUP_FINISHED),
    (USERSPACE_START, USERSPACE_START),
    (KERNEL_START, KERNEL_CLOCK_START),
];

impl Recorder {
    /// Relates the time of day to a clock that counts from the boot by an instant that both
    /// have. If there is none, the times of day are forgotten: the years between the zeros of
    /// both clocks would be a part of the boot. Whether they were.
    pub(crate) fn place_time_of_day(&mut self, used: &[ClockId]) -> bool {
        let Some(day) = self.used_clock(used, TIME_OF_DAY) else {
            return false;
        };
        let related = Mapping::new(day, self.clocks.len(), &self.sync);
        let is_other = |clock: ClockId| clock != day && related.error_ns(clock).is_none();
        if !self.marks.iter().any(|(clock, _)| is_other(*clock)) {
            return false;
        }
        let is_day = |clock: ClockId| clock == day;
        let both = INSTANTS.iter().find_map(|(own, other)| {
            let own = self.first_mark(own, is_day)?;
            Some((own, self.first_mark(other, is_other)?, *other))
        });
        if let Some((own, other, name)) = both {
            let step = |c: ClockId| {
                let clock = self.clocks.get(usize::from(c.0));
                clock.map_or(0, |c| c.resolution_ns)
            };
            let late = match name {
                KERNEL_CLOCK_START => self.first_mark(USERSPACE_START, is_other),
                _ => None,
            };
            let late = late.map_or(0, |(_, at)| at.saturating_sub(other.1).unsigned_abs());
            let error = step(day).saturating_add(step(other.0)).saturating_add(late);
            self.relate(own, other, error, None);
            return false;
        }
        self.forget(day);
        self.note_whole(&TIMES_UNKNOWN, String::new());
        true
    }

    /// The first mark of this name on such a clock: the clock, and when.
    fn first_mark(&self, name: &str, is: impl Fn(ClockId) -> bool) -> Option<(ClockId, i64)> {
        let mut marks = self.marks.iter();
        let (clock, mark) = marks.find(|(c, m)| is(*c) && self.names.get(m.name) == name)?;
        Some((*clock, mark.at.0))
    }

    /// Takes what happened on a clock as of unknown time. Lengths stay.
    fn forget(&mut self, clock: ClockId) {
        self.marks.retain(|(c, _)| *c != clock);
        for span in self.spans.iter_mut().filter(|s| s.clock == clock) {
            span.reported = span.reported.or(span.duration());
            (span.start, span.end) = (None, None);
        }
        for message in self.messages.iter_mut().filter(|m| m.clock == clock) {
            message.at = None;
        }
        if let Some(used) = self.used.get_mut(usize::from(clock.0)) {
            *used = false;
        }
    }
}
