//! Lines of a console, as the host on the other end of the wire saw them.

use crate::clock::{ClockId, Mapping};
use crate::event::{Message, Origin};
use crate::note::{NoteKind, Severity};
use crate::recorder::Recorder;
use crate::table::Row;
use crate::time::Nanos;
use hashbrown::HashMap;

/// Shorter lines are no evidence that two of them are the same one.
const SHORTEST_TEXT: usize = 12;

/// Fewer pairs of lines relate no clocks.
const FEWEST_PAIRS: usize = 3;

const CONSOLE_MATCHED: NoteKind = NoteKind {
    name: "console_matched",
    severity: Severity::Info,
    advice: "the console's lines carry no stamps of the kernel, so its clock was related to the \
             host's by lines that are in the kernel log too; boot with `printk.time=1`",
};

/// A line of a console as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When its first character arrived.
    pub first: Nanos,
    /// When its last character arrived; `None` if the host did not say.
    pub last: Option<Nanos>,
    /// When the kernel stamped it, if the line carries its stamp.
    pub stamped: Option<Nanos>,
    /// How many bytes it took on the wire, the line end included.
    pub bytes: u32,
    /// The evidence.
    pub origin: Origin,
    pub(crate) clock: ClockId,
    pub(crate) kernel_clock: ClockId,
}

impl Row for Arrival {
    fn map_times(&mut self, to: &dyn Fn(ClockId, Nanos) -> Nanos) {
        self.first = to(self.clock, self.first);
        self.last = self.last.map(|t| to(self.clock, t));
        self.stamped = self.stamped.map(|t| to(self.kernel_clock, t));
    }

    fn last(&self) -> Option<Nanos> {
        Some(self.last.unwrap_or(self.first))
    }

    fn key(&self) -> (Option<Nanos>, Origin) {
        (Some(self.first), self.origin)
    }
}

impl Recorder {
    /// Records that a line of a console arrived: its first and its last
    /// character on `clock`, with the kernel's own stamp and its clock.
    pub fn arrival(
        &mut self,
        clock: ClockId,
        (first, last): (i64, Option<i64>),
        stamped: Option<(ClockId, i64)>,
        bytes: usize,
        origin: Origin,
    ) {
        let arrival = Arrival {
            first: Nanos(first),
            last: last.map(Nanos),
            stamped: stamped.map(|(_, at)| Nanos(at)),
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            origin,
            clock,
            kernel_clock: stamped.map_or(clock, |(clock, _)| clock),
        };
        self.uses(clock, arrival.last());
        self.tables.arrivals.push(arrival, &mut self.tables.taken);
    }

    /// Relates the clock of a console to the kernel's where no line carries
    /// both stamps: by lines that stand in the kernel log too.
    ///
    /// A line arrives after it is stamped, never before. So the pair with the
    /// least difference is nearest to the truth, and what half of the pairs
    /// needed beyond it bounds the error.
    pub(crate) fn relate_by_lines(&mut self) {
        let Some(console) = self.tables.arrivals.rows.first().map(|a| a.clock) else {
            return;
        };
        let Some((kernel, pairs)) = self.pairs(console) else {
            return;
        };
        let difference = |p: &(i64, i64)| p.0.saturating_sub(p.1);
        let Some(closest) = pairs.iter().min_by_key(|p| difference(p)).copied() else {
            return;
        };
        let mut differences: Vec<i64> = pairs.iter().map(difference).collect();
        let middle = differences.len() / 2;
        let (_, median, _) = differences.select_nth_unstable(middle);
        let error = median.abs_diff(difference(&closest));
        self.relate((console, closest.0), (kernel, closest.1), error, None);
        self.note_whole(&CONSOLE_MATCHED, format!("{} lines", pairs.len()));
    }

    /// The kernel log's clock, if nothing relates it to the console's, and
    /// lines that occur once on each: arrival and stamp.
    fn pairs(&self, console: ClockId) -> Option<(ClockId, Vec<(i64, i64)>)> {
        let is_kernel = |m: &&Message| {
            let clock = self.clocks.get(usize::from(m.clock.0));
            m.at.is_some() && clock.is_some_and(|c| c.name == "printk")
        };
        let kernel = self.messages.iter().find(is_kernel)?.clock;
        let related = Mapping::new(console, self.clocks.len(), &self.sync);
        if related.error_ns(kernel).is_some() {
            return None;
        }
        let on_console = self.once(|m| m.clock == console);
        let in_log = self.once(|m| m.clock == kernel);
        let mut pairs = Vec::new();
        for (text, stamp) in in_log {
            if let (Some(stamp), Some(Some(arrival))) = (stamp, on_console.get(text)) {
                pairs.push((*arrival, stamp));
            }
        }
        // In no order of a table's.
        pairs.sort_unstable();
        (pairs.len() >= FEWEST_PAIRS).then_some((kernel, pairs))
    }

    /// The texts of some messages, with the time of those that occur once.
    pub(crate) fn once(&self, wanted: impl Fn(&Message) -> bool) -> HashMap<&str, Option<i64>> {
        let mut texts: HashMap<&str, Option<i64>> = HashMap::new();
        for message in self.messages.iter().filter(|m| wanted(m)) {
            let text = self.text_of(message);
            if let (Some(at), true) = (message.at, text.len() >= SHORTEST_TEXT) {
                let known = texts.entry(text);
                known.and_modify(|t| *t = None).or_insert(Some(at.get()));
            }
        }
        texts
    }
}
