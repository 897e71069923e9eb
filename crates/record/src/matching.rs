//! Clocks that are related by what two sources saw alike, and clocks that are
//! taken as equal where nothing says more.

use crate::clock::{ClockId, Mapping};
use crate::event::SpanKind;
use crate::name::NameId;
use crate::note::{NoteKind, Severity};
use crate::recorder::Recorder;
use hashbrown::HashMap;

/// The clock that stamps the kernel's messages.
pub(crate) const PRINTK: &str = "printk";

/// Fewer pairs of lines or of initcalls relate no clocks.
const FEWEST_PAIRS: usize = 3;

/// The bound for clocks of one kernel that count from nearly the same instant: see
/// [`TAKEN_AS_EQUAL`].
pub(crate) const NEARLY_EQUAL_NS: u64 = 110_000_000;

/// So many pairs make a point at which both clocks are known.
const PAIRS_A_POINT: usize = 16;

/// There are no more points than this.
const MOST_POINTS: usize = 64;

/// Clocks of one kernel that count from nearly, not exactly, the same instant,
/// and run together. Without a reading of both they are taken as equal, within
/// a bound; the largest gap that was measured was 105 ms.
///
/// The scheduler's clock and the one of messages are the same but on x86, where
/// the one of messages is steered until the kernel marks it stable.
/// `CLOCK_BOOTTIME` is `CLOCK_MONOTONIC` and the time asleep: no boot sleeps.
const TAKEN_AS_EQUAL: [(&str, &str, u64); 7] = [
    (PRINTK, "monotonic", NEARLY_EQUAL_NS),
    ("sched-clock", PRINTK, NEARLY_EQUAL_NS),
    ("sched-clock", "monotonic", NEARLY_EQUAL_NS),
    ("boottime", "monotonic", 1_000),
    ("boottime", PRINTK, NEARLY_EQUAL_NS),
    ("monotonic-raw", "monotonic", NEARLY_EQUAL_NS),
    ("uptime", "monotonic", NEARLY_EQUAL_NS),
];

const CLOCKS_TAKEN_AS_EQUAL: NoteKind = NoteKind {
    name: "clocks_taken_as_equal",
    severity: Severity::Info,
    advice: "kernel clocks that were never read together are assumed to be equal within the stated \
     bound; a capture by the agent reads them together",
};

const CLOCKS_MATCHED: NoteKind = NoteKind {
    name: "clocks_matched",
    severity: Severity::Info,
    advice: "the trace clock was aligned with the kernel log by console lines or initcall starts that \
     both contain",
};

impl Recorder {
    /// Relates clocks that are used, and that nothing relates, to the clock of
    /// the kernel's messages: by console lines that are in the kernel log and in
    /// a trace, or else by initcalls that are in both.
    ///
    /// A trace sees a line right after it is stamped. It sees an initcall begin
    /// right before the line of it, or right behind, when the console has the
    /// line out. So the pair with the least difference is nearest to the truth,
    /// and what half of the pairs differ beyond it bounds the error.
    pub(crate) fn relate_by_matches(&mut self, used: &[ClockId]) {
        let Some(kernel) = self.used_clock(used, PRINTK) else {
            return;
        };
        for &clock in used {
            let related = Mapping::new(kernel, self.clocks.len(), &self.sync);
            if clock == kernel || related.error_ns(clock).is_some() {
                continue;
            }
            let lines = self.lines_on_both(clock, kernel);
            let (mut pairs, what) = match lines.len() {
                FEWEST_PAIRS.. => (lines, "console lines"),
                _ => (self.initcalls_on_both(clock, kernel), "initcalls"),
            };
            if pairs.len() < FEWEST_PAIRS {
                continue;
            }
            let count = pairs.len();
            pairs.sort_unstable();
            let points = (count / PAIRS_A_POINT).clamp(1, MOST_POINTS);
            for part in pairs.chunks_mut(count.div_ceil(points)) {
                self.relate_closest(clock, kernel, part);
            }
            let name = self
                .clocks
                .get(usize::from(clock.0))
                .map(|c| c.name.clone());
            let name = name.unwrap_or_default();
            self.note_whole(&CLOCKS_MATCHED, format!("{name}: {count} {what}"));
        }
    }

    /// Relates two clocks by the pair of least difference.
    fn relate_closest(&mut self, clock: ClockId, kernel: ClockId, pairs: &mut [(i64, i64)]) {
        let difference = |p: &(i64, i64)| p.0.saturating_sub(p.1);
        pairs.sort_unstable_by_key(difference);
        let (Some(closest), Some(median)) = (pairs.first(), pairs.get(pairs.len() / 2)) else {
            return;
        };
        let error = difference(median).abs_diff(difference(closest)).max(1_000);
        let (at, stamp) = *closest;
        self.relate((clock, at), (kernel, stamp), error, None);
    }

    /// The times of lines that occur once on each clock.
    fn lines_on_both(&self, clock: ClockId, kernel: ClockId) -> Vec<(i64, i64)> {
        let on_clock = self.once(|m| m.clock == clock);
        if on_clock.is_empty() {
            return Vec::new();
        }
        let in_log = self.once(|m| m.clock == kernel);
        let both = in_log.into_iter().filter_map(|(text, stamp)| {
            let at = on_clock.get(text).copied().flatten()?;
            Some((at, stamp?))
        });
        both.collect()
    }

    /// The beginnings of initcalls that occur once on each clock.
    fn initcalls_on_both(&self, clock: ClockId, kernel: ClockId) -> Vec<(i64, i64)> {
        let starts = |wanted: ClockId| {
            let mut starts: HashMap<NameId, Option<i64>> = HashMap::new();
            for span in self.spans_on(wanted) {
                if span.kind == SpanKind::Initcall {
                    let start = span.start.map(|s| s.0);
                    let known = starts.entry(span.name);
                    known.and_modify(|s| *s = None).or_insert(start);
                }
            }
            starts
        };
        let on_clock = starts(clock);
        if on_clock.is_empty() {
            return Vec::new();
        }
        let both = starts(kernel).into_iter().filter_map(|(name, stamp)| {
            let at = on_clock.get(&name).copied().flatten()?;
            Some((at, stamp?))
        });
        both.collect()
    }

    /// Takes clocks that are used, and that nothing relates, as equal where
    /// they nearly are.
    pub(crate) fn assume_equal_clocks(&mut self, used: &[ClockId]) {
        let mut taken = Vec::new();
        for (a, b, error_ns) in TAKEN_AS_EQUAL {
            let (Some(one), Some(other)) = (self.used_clock(used, a), self.used_clock(used, b))
            else {
                continue;
            };
            let related = Mapping::new(one, self.clocks.len(), &self.sync);
            if related.error_ns(other).is_none() {
                self.relate((one, 0), (other, 0), error_ns, None);
                taken.push(format!("{a} and {b}"));
            }
        }
        if !taken.is_empty() {
            self.note_whole(&CLOCKS_TAKEN_AS_EQUAL, taken.join(", "));
        }
    }

    /// The clock of this name, if an event is on it. By name: another clock of
    /// its kind may have a zero of its own, such as the start of userspace.
    pub(crate) fn used_clock(&self, used: &[ClockId], name: &str) -> Option<ClockId> {
        let is = |c: &&ClockId| {
            let clock = self.clocks.get(usize::from(c.0));
            clock.is_some_and(|k| k.name == name)
        };
        used.iter().find(is).copied()
    }
}
