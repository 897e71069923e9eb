//! The log of KFT: a header, and a row for each call in the order of entry.

use super::notes::{BAD_ROW, FEWER_ROWS, FILTERED, LOG_FULL, OPEN_CALLS, ROWS_ELIDED};
use super::row::{Micros, Row, signed, task_name};
use crate::text::{lossy, number};
use hashbrown::HashMap;
use memchr::memmem;
use record::{CallId, ClockKind, NameId, Nanos, Origin, Recorder, SourceId};

/// How many tasks' stacks are followed.
const MOST_TASKS: usize = 100_000;

/// How deep a stack can be; deeper calls are of calls that were not seen to
/// return.
const MOST_DEPTH: usize = 256;

/// How many functions there may be; a kernel has some 100,000.
const MOST_FUNCTIONS: usize = 400_000;

/// Whether a line is the head of a log's columns: `Entry Delta PID Function
/// Called At`, in old versions `Entry Delta PID Function Caller`.
pub(super) fn is_head(line: &[u8]) -> bool {
    let mut words = line.split(|b| b.is_ascii_whitespace());
    let mut word = || words.by_ref().find(|w| !w.is_empty());
    word() == Some(b"Entry") && word() == Some(b"Delta") && word() == Some(b"PID")
}

/// Whether a line is the first of a log's header.
pub(super) fn is_run(line: &[u8]) -> bool {
    line.trim_ascii()
        .starts_with(b"Kernel Instrumentation Run ID ")
}

/// A call that may still run.
#[derive(Clone, Copy, Debug)]
struct Frame {
    node: CallId,
    function: NameId,
    /// When it returned, in microseconds; `None` if that was not seen.
    end: Option<i64>,
}

/// The log, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Log {
    stacks: HashMap<i64, Vec<Frame>>,
    functions: HashMap<Box<[u8]>, NameId>,
    rows: u64,
    open: u64,
    first_open: Option<Origin>,
    announced: Option<u64>,
    filters: Vec<String>,
}

impl Log {
    /// Takes a line of the header. Whether it is one.
    pub(super) fn header(&mut self, line: &[u8], origin: Origin, recorder: &mut Recorder) -> bool {
        if let Some(id) = line.strip_prefix(b"Kernel Instrumentation Run ID ") {
            recorder.fact("kft.run_id", &lossy(id), origin);
            return true;
        }
        for (start, name) in [
            (&b"Logging started at "[..], "start"),
            (b"Logging stopped at ", "stop"),
        ] {
            if let Some(rest) = line.strip_prefix(start) {
                return trigger(name, rest, origin, recorder);
            }
        }
        for (start, key) in [
            (
                &b"Execution time filter count = "[..],
                "kft.time_filter_count",
            ),
            (
                b"No Interrupt functions filter count = ",
                "kft.no_interrupts_filter_count",
            ),
            (
                b"Only Interrupt functions filter count = ",
                "kft.only_interrupts_filter_count",
            ),
            (
                b"Function List filter count = ",
                "kft.function_list_filter_count",
            ),
            (b"Total entries filtered = ", "kft.total_filtered"),
            (b"Entries not found = ", "kft.entries_not_found"),
            (
                b"Number of entries after filters = ",
                "kft.entries_after_filters",
            ),
        ] {
            let Some((value, [])) = line.strip_prefix(start).and_then(number) else {
                continue;
            };
            recorder.fact(key, &value.to_string(), origin);
            if key == "kft.entries_after_filters" {
                self.announced = Some(value);
            }
            return true;
        }
        if let Some((us, rest)) = number(line)
            && let Some(which) = rest
                .strip_prefix(b" usecs ")
                .and_then(|r| r.strip_suffix(b" execution time"))
        {
            let key = match which {
                b"minimum" => "kft.min_execution_us",
                b"maximum" => "kft.max_execution_us",
                _ => return false,
            };
            recorder.fact(key, &us.to_string(), origin);
            self.filters.push(lossy(line).into_owned());
            return true;
        }
        let is_filter = line.starts_with(b"no functions ")
            || line.starts_with(b"function list")
            || memmem::find(line, b"-entry function list").is_some();
        if is_filter {
            self.filters.push(lossy(line).into_owned());
        }
        is_filter || matches!(line, b"Filters:" | b"Filter Counters:")
    }

    /// Takes a row: `Entry Delta PID Function Called-At`. An exit that was not
    /// seen is a delta of 0, of -1, or the words `no exit`; an old version marks
    /// interrupts by an `i` behind the process id; a later one adds arguments.
    pub(super) fn row(&mut self, line: &[u8], origin: Origin, recorder: &mut Recorder) -> Row {
        if line.iter().all(|b| *b == b'.') {
            return Row::Noted(&ROWS_ELIDED);
        }
        match self.call(line, origin, recorder) {
            Some(()) => Row::Taken,
            None => Row::Noted(&BAD_ROW),
        }
    }

    fn call(&mut self, line: &[u8], origin: Origin, recorder: &mut Recorder) -> Option<()> {
        let mut words = line.split(|b| b.is_ascii_whitespace());
        let mut word = || words.by_ref().find(|w| !w.is_empty());
        let entry = i64::try_from(number(word()?).filter(|n| n.1.is_empty())?.0).ok()?;
        let delta = match word()? {
            b"no" => (word()? == b"exit").then_some(Micros::Unknown)?,
            delta => Micros::of(delta)?,
        };
        let delta = delta.known().filter(|d| *d > Nanos::ZERO);
        let pid = word()?;
        let pid = match pid.strip_suffix(b"i") {
            Some(_) => -1,
            None => signed(pid)?,
        };
        let function = word()?;
        let called_at = word()?;
        let name = self.function(function, recorder)?;
        let caller = called_at.split(|b| *b == b'+').next().unwrap_or(called_at);
        let caller = self.functions.get(caller).copied();
        if !self.stacks.contains_key(&pid) && self.stacks.len() >= MOST_TASKS {
            return None;
        }
        let stack = self.stacks.entry(pid).or_default();
        // Calls that have returned are no callers any more.
        let runs = |f: &Frame| match f.end {
            Some(end) => end > entry || (end == entry && Some(f.function) == caller),
            None => true,
        };
        stack.retain(runs);
        // The caller that the row names; if the log does not hold that one, as
        // its time was too short or too long, the innermost call that still
        // runs: it is on the stack, too.
        if let Some(at) = stack.iter().rposition(|f| Some(f.function) == caller) {
            stack.truncate(at + 1);
        } else if let Some(at) = stack.iter().rposition(|f| f.end.is_some()) {
            stack.truncate(at + 1);
        } else {
            // All that is left was never seen to return, and did not call this.
            stack.clear();
        }
        let task = recorder.name(&task_name(pid));
        let tree = recorder.functions();
        let parent = match stack.last() {
            Some(frame) => frame.node,
            None => tree.node(None, task),
        };
        let node = tree.node(Some(parent), name);
        match delta {
            Some(took) => tree.add(node, 1, took),
            None => {
                tree.add_open(node);
                self.open += 1;
                self.first_open.get_or_insert(origin);
            }
        }
        if stack.len() >= MOST_DEPTH
            && let Some(at) = stack.iter().position(|f| f.end.is_none())
        {
            stack.remove(at);
        }
        if stack.len() < MOST_DEPTH {
            stack.push(Frame {
                node,
                function: name,
                end: delta.map(|d| entry.saturating_add(d.get() / 1_000)),
            });
        }
        self.rows += 1;
        Some(())
    }

    fn function(&mut self, name: &[u8], recorder: &mut Recorder) -> Option<NameId> {
        if let Some(&known) = self.functions.get(name) {
            return Some(known);
        }
        (self.functions.len() < MOST_FUNCTIONS).then_some(())?;
        let id = recorder.name_lossy(name);
        self.functions.insert(name.into(), id);
        Some(id)
    }

    /// After the last row.
    pub(super) fn finish(self, source: SourceId, recorder: &mut Recorder) {
        let whole = Origin { source, offset: 0 };
        if let Some(first) = self.first_open {
            recorder.note_many(first, &OPEN_CALLS, self.open, String::new);
        }
        if let Some(announced) = self.announced
            && announced > self.rows
        {
            let rows = self.rows;
            let missing = announced - rows;
            recorder.note_many(whole, &FEWER_ROWS, missing, || {
                format!("{rows} of {announced} are there")
            });
        }
        if !self.filters.is_empty() {
            let count = self.filters.len() as u64;
            recorder.note_many(whole, &FILTERED, count, || self.filters.join(", "));
        }
    }
}

/// `6785045 usec by entry to function start_kernel`: a mark, and why.
fn trigger(name: &str, rest: &[u8], origin: Origin, recorder: &mut Recorder) -> bool {
    let Some((us, rest)) = number(rest) else {
        return false;
    };
    let Some(why) = rest.strip_prefix(b" usec by ") else {
        return false;
    };
    // The trace's own clock counts from where the kernel's counter began.
    let clock = recorder.clock("kft", ClockKind::Monotonic, 1_000);
    let at = i64::try_from(us).ok().and_then(|us| us.checked_mul(1_000));
    if let Some(at) = at {
        recorder.mark(clock, &format!("kft-{name}"), at, None, origin);
    }
    recorder.fact(&format!("kft.{name}_us"), &us.to_string(), origin);
    recorder.fact(&format!("kft.{name}_by"), &lossy(why.trim_ascii()), origin);
    if why.starts_with(b"log full") {
        recorder.note(origin, &LOG_FULL, String::new);
    }
    true
}
