//! Lines of a console, as the host on the other end of the wire saw them.

use crate::arrival::Arrival;
use crate::clock::{ClockId, Mapping};
use crate::event::Message;
use crate::note::{NoteKind, Severity};
use crate::recorder::Recorder;
use crate::source::Origin;
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
    advice: "the console lines have no kernel time stamps, so its clock was aligned by lines that also \
     appear in the kernel log; boot with `printk.time=1`",
};

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
        self.uses(clock, Row::last(&arrival));
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
