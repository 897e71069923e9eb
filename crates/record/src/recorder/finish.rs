//! From what was recorded to the record of a boot.

use super::{Recorder, order};
use crate::clock::{ClockId, ClockKind, Mapping};
use crate::event::{Dependency, Mark};
use crate::mark;
use crate::matching::PRINTK;
use crate::note::{NoteKind, Severity};
use crate::record::Record;
use crate::time::Nanos;

const CLOCK_UNRELATED: NoteKind = NoteKind {
    name: "clock_unrelated",
    severity: Severity::Doubt,
    advice: "nothing relates the clock of this input to the others, so its zero is assumed to be \
     theirs; add an input that has both clocks, such as a serial log with kernel time stamps",
};

impl Recorder {
    /// Brings everything onto one clock, moves zero to a mark, and sorts.
    #[must_use]
    pub fn finish(mut self) -> Record {
        self.relate_counter();
        self.sort_sync();
        self.note_full_tables();
        let used = self.clocks_in_use();
        self.relate_by_lines();
        self.relate_by_matches(&used);
        self.assume_equal_clocks(&used);
        let has_forgotten = self.place_time_of_day(&used);
        let kernel_clock = self.mark_counter_start();
        let used = self.clocks_in_use();
        let reference = self.reference(&used);
        let mapping = Mapping::new(reference, self.clocks.len(), &self.sync);
        for (i, clock) in self.clocks.iter_mut().enumerate() {
            let id = ClockId(u16::try_from(i).unwrap_or(u16::MAX));
            clock.error_ns = mapping.error_ns(id);
        }
        let unrelated: Vec<String> = used
            .iter()
            .filter(|&&c| mapping.error_ns(c).is_none())
            .filter_map(|c| self.clocks.get(usize::from(c.0)).map(|c| c.name.clone()))
            .collect();
        for name in unrelated {
            self.note_whole(&CLOCK_UNRELATED, name);
        }

        let mut marks: Vec<Mark> = self
            .marks
            .into_iter()
            .map(|(clock, mut m)| {
                m.at = mapping.apply(clock, m.at.0);
                m
            })
            .collect();
        let names = &self.names;
        marks.sort_by_key(|m| (m.at, m.origin));
        let zero_mark = marks
            .iter()
            .find(|m| names.get(m.name) == mark::POWER_ON)
            .or_else(|| marks.first());
        let zero = zero_mark.map_or(Nanos::ZERO, |m| m.at);
        let zero_name = zero_mark
            .map_or(mark::CLOCK_START, |m| names.get(m.name))
            .to_owned();
        for m in &mut marks {
            m.at = m.at - zero;
        }

        let same =
            !has_forgotten && zero == Nanos::ZERO && used.iter().all(|&c| mapping.is_identity(c));
        if !same {
            let to_zero = |clock, t: Nanos| mapping.apply(clock, t.0) - zero;
            for s in &mut self.spans {
                s.start = s.start.map(|t| to_zero(s.clock, t));
                s.end = s.end.map(|t| to_zero(s.clock, t));
            }
            for m in &mut self.messages {
                m.at = m.at.map(|t| to_zero(m.clock, t));
            }
            let of_spans = self.spans.iter().filter_map(|s| s.end.max(s.start));
            let of_messages = self.messages.iter().filter_map(|m| m.at);
            let of_marks = marks.iter().map(|m| m.at);
            self.tables.map_times(&to_zero);
            let of_tables = self.tables.last();
            let of_events = of_marks.chain(of_spans).chain(of_messages);
            self.last = of_events.chain(of_tables).max();
        }
        self.tables.sort();
        if !same || self.spans_unsorted {
            // In place: spans are what a record has most of, and a stable sort
            // would need half their memory again.
            self.spans.sort_unstable_by(|a, b| order(names, a, b));
        }
        // By evidence, not by time: stamps step backwards, and lines without
        // a stamp belong where they stand.
        self.messages.sort_by_key(|m| m.origin);
        self.dependencies.sort_by(|a, b| {
            let key = |d: &Dependency| (d.origin, d.kind);
            key(a)
                .cmp(&key(b))
                .then_with(|| names.get(a.from).cmp(names.get(b.from)))
                .then_with(|| names.get(a.to).cmp(names.get(b.to)))
        });
        self.facts.sort_by(|a, b| {
            a.origin
                .cmp(&b.origin)
                .then_with(|| names.get(a.key).cmp(names.get(b.key)))
        });
        // Losses first: that is how they are shown.
        self.notes.sort_by(|a, b| {
            (b.kind.severity, a.source, a.kind.name, &a.detail).cmp(&(
                a.kind.severity,
                b.source,
                b.kind.name,
                &b.detail,
            ))
        });
        Record {
            names: self.names,
            sources: self.sources,
            clock: reference,
            clocks: self.clocks,
            zero: zero_name,
            kernel_clock,
            last: self.last,
            marks,
            spans: self.spans,
            messages: self.messages,
            text: self.text,
            dependencies: self.dependencies,
            facts: self.facts,
            notes: self.notes,
            tables: self.tables,
        }
    }

    /// The order in which sources were read must not decide between two points.
    fn sort_sync(&mut self) {
        self.sync
            .sort_by_key(|p| (p.error_ns, p.origin, p.at_a, p.at_b));
    }

    fn clocks_in_use(&self) -> Vec<ClockId> {
        let ids = (0..=u16::MAX).map(ClockId);
        ids.zip(&self.used)
            .filter(|(_, used)| **used)
            .map(|(id, _)| id)
            .collect()
    }

    /// The clock that reaches furthest back, of those that carry events or are
    /// related to one that does; a counter also over other clocks. The
    /// target's own time of day reaches back no further than what happened on
    /// it. Of clocks of one kind, the one of the kernel's messages.
    fn reference(&self, used: &[ClockId]) -> ClockId {
        let mut candidates: Vec<ClockId> = used.to_vec();
        // By name: the time of day of a host that watched is another thing.
        let is_time_of_day = |c: &ClockId| {
            let clock = self.clocks.get(usize::from(c.0));
            clock.is_some_and(|k| k.kind == ClockKind::Wall && k.name == "realtime")
        };
        for p in &self.sync {
            for (a, b) in [(p.a, p.b), (p.b, p.a)] {
                if used.contains(&a) && !candidates.contains(&b) && !is_time_of_day(&b) {
                    candidates.push(b);
                }
            }
        }
        let is_counter = |c: &ClockId| {
            let clock = self.clocks.get(usize::from(c.0));
            clock.is_some_and(|k| matches!(k.kind, ClockKind::Virtual | ClockKind::Counter))
        };
        for &clock in used {
            let related = Mapping::new(clock, self.clocks.len(), &self.sync);
            candidates.extend(related.related().filter(is_counter));
        }
        candidates
            .into_iter()
            .min_by_key(|c| {
                let clock = self.clocks.get(usize::from(c.0));
                clock.map(|k| (k.kind, k.name != PRINTK, k.name.clone()))
            })
            .unwrap_or(ClockId(0))
    }
}
