//! The tree of `kd -c`: a row for each call, one level deeper than its caller.

use super::notes::{BAD_ROW, DEPTH, OPEN_CALLS};
use super::row::{Micros, Row, signed, task_name};
use crate::text::{number, without_indent};
use memchr::memmem;
use record::{CallId, Origin, Recorder};

/// What stands for a level, one for each thread that is shown among others.
const THREADS: &[u8] = b"|!@[#;($/{%]*)&:\\}";

/// How deep a tree can be.
const MOST_DEPTH: usize = 1_000;

/// How many threads may be shown within each other.
const MOST_THREADS: usize = 256;

/// A column, by its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Entry,
    Duration,
    Local,
    Pid,
}

/// The columns before the function, if the line is the head of a tree:
/// `Entry Duration Local Pid Trace`, some of which may be left out.
pub(super) fn columns(line: &[u8]) -> Option<Vec<Column>> {
    let mut columns = Vec::new();
    for word in line
        .split(|b| b.is_ascii_whitespace())
        .filter(|w| !w.is_empty())
    {
        columns.push(match word {
            b"Entry" => Column::Entry,
            b"Duration" => Column::Duration,
            b"Local" => Column::Local,
            b"Pid" => Column::Pid,
            b"Trace" => return (!columns.is_empty()).then_some(columns),
            _ => return None,
        });
    }
    None
}

/// The calls of one thread that are open where it stands.
#[derive(Debug, Default)]
struct Thread {
    stack: Vec<CallId>,
}

/// The tree, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Tree {
    threads: Vec<Thread>,
    open: u64,
    first_open: Option<Origin>,
}

impl Tree {
    /// Takes a row. Threads that interrupt others stand between
    /// `----------- !!!! start --------------` and `... end ...`.
    pub(super) fn row(
        &mut self,
        columns: &[Column],
        line: &[u8],
        origin: Origin,
        recorder: &mut Recorder,
    ) -> Row {
        if line.starts_with(b"-----") {
            if memmem::find(line, b" start ---").is_some() {
                if self.threads.len() < MOST_THREADS {
                    self.threads.push(Thread::default());
                }
            } else if memmem::find(line, b" end ---").is_some() {
                self.threads.pop();
            } else {
                return Row::Noted(&BAD_ROW);
            }
            return Row::Mark;
        }
        match self.call(columns, line, origin, recorder) {
            Some(()) => Row::Taken,
            None => Row::Noted(&BAD_ROW),
        }
    }

    fn call(
        &mut self,
        columns: &[Column],
        line: &[u8],
        origin: Origin,
        recorder: &mut Recorder,
    ) -> Option<()> {
        let mut rest = line;
        let (mut duration, mut local, mut pid) = (None, None, None);
        for column in columns {
            rest = without_indent(rest);
            let end = rest.iter().position(|b| *b == b' ')?;
            let (word, after) = rest.split_at(end);
            rest = after;
            match column {
                Column::Entry => {
                    number(word).filter(|n| n.1.is_empty())?;
                }
                Column::Duration => duration = Some(Micros::of(word)?),
                Column::Local => local = Micros::of(word)?.known(),
                Column::Pid => pid = Some(signed(word)?),
            }
        }
        let mut rest = without_indent(rest);
        let mut depth = 0;
        while let [sign, b' ', tail @ ..] = rest
            && THREADS.contains(sign)
        {
            depth += 1;
            rest = without_indent(tail);
        }
        // Arguments may stand behind the name.
        let name = rest.split(|b| b.is_ascii_whitespace()).next()?;
        if name.is_empty() || depth > MOST_DEPTH {
            return None;
        }
        if self.threads.is_empty() {
            self.threads.push(Thread::default());
        }
        let stack = &mut self.threads.last_mut()?.stack;
        if depth > stack.len() {
            recorder.note(origin, &DEPTH, String::new);
        }
        stack.truncate(depth);
        let function = recorder.name_lossy(name);
        let task = match pid {
            Some(pid) => recorder.name(&task_name(pid)),
            None => recorder.name("tasks"),
        };
        let tree = recorder.functions();
        let parent = match stack.last() {
            Some(&caller) => caller,
            None => tree.node(None, task),
        };
        let node = tree.node(Some(parent), function);
        match duration {
            // Without the column there is no time of any call.
            Some(Micros::Unknown) | None => {
                tree.add_open(node);
                self.open += 1;
                self.first_open.get_or_insert(origin);
            }
            Some(Micros::Known(took)) => tree.add(node, 1, took),
        }
        if let Some(local) = local {
            tree.add_local(node, local);
        }
        stack.push(node);
        Some(())
    }

    /// After the last row.
    pub(super) fn finish(self, recorder: &mut Recorder) {
        if let Some(first) = self.first_open {
            recorder.note_many(first, &OPEN_CALLS, self.open, String::new);
        }
    }
}
