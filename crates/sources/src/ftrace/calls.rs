//! Functions and system calls: who called whom, and for how long.

use super::moment::Moment;
use super::names::Names;
use super::notes::{LOST_CALL_ENDS, LOST_CALL_STARTS, TOO_MANY_CALLS};
use hashbrown::HashMap;
use record::{Access, AccessKind, CallId, ClockId, NameId, Nanos, Origin, Recorder};

/// How many tasks may have calls open at one time.
const MOST_TASKS: usize = 100_000;

/// How deep a stack is followed; the kernel's own limit is 50.
const MOST_DEPTH: usize = 64;

/// Errors of the kernel (`include/uapi/asm-generic/errno-base.h`), and the largest one
/// (`MAX_ERRNO` of `include/linux/err.h`).
const NO_ENTRY: i64 = -2;
const NOT_A_FOLDER: i64 = -20;
const MOST_ERROR: i64 = -4095;

/// A call that has not returned yet.
#[derive(Clone, Copy, Debug)]
struct Frame {
    node: CallId,
    function: NameId,
    depth: u32,
    start: i64,
}

/// A system call that has not returned yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    name: NameId,
    path: Option<NameId>,
    start: i64,
    origin: Origin,
}

/// The calls that are open.
#[derive(Debug, Default)]
pub(super) struct Calls {
    stacks: HashMap<u32, Vec<Frame>>,
    named: HashMap<u32, Pending>,
    raw: HashMap<u32, Pending>,
    /// System calls were seen by name, so those by number are the same ones.
    by_name: bool,
    lost_ends: Lost,
    lost_starts: Lost,
}

/// How often something is missing, and where first.
#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    count: u64,
    first: Option<Origin>,
}

impl Lost {
    fn add(&mut self, origin: Origin) {
        self.count += 1;
        self.first.get_or_insert(origin);
    }
}

impl Calls {
    /// A function was entered: `function_graph`.
    pub(super) fn enter(
        &mut self,
        m: &Moment<'_>,
        (function, depth): (NameId, u32),
        task: NameId,
        recorder: &mut Recorder,
    ) {
        let Some(stack) = stack_of(&mut self.stacks, m, recorder) else {
            return;
        };
        // Calls that must have returned unseen. One of the same depth may have
        // been interrupted right where it began, by this one.
        while let Some(top) = stack.last().filter(|t| t.depth > depth) {
            recorder.functions().add_open(top.node);
            self.lost_ends.add(m.origin);
            stack.pop();
        }
        let tree = recorder.functions();
        let parent = match stack.last() {
            Some(top) => top.node,
            None => tree.node(None, task),
        };
        let node = tree.node(Some(parent), function);
        if stack.len() < MOST_DEPTH {
            stack.push(Frame {
                node,
                function,
                depth,
                start: m.at,
            });
        } else {
            tree.add_open(node);
            recorder.note(m.origin, &TOO_MANY_CALLS, String::new);
        }
    }

    /// A function returned: `function_graph`. `took` is the time that the
    /// trace itself states, if it does. `function` is `None` where a text does
    /// not say it.
    pub(super) fn leave(
        &mut self,
        m: &Moment<'_>,
        (function, depth): (Option<NameId>, u32),
        took: Option<i64>,
        task: NameId,
        recorder: &mut Recorder,
    ) {
        let Some(stack) = stack_of(&mut self.stacks, m, recorder) else {
            return;
        };
        let is_it = |f: &Frame| f.depth == depth && function.is_none_or(|g| g == f.function);
        if let Some(at) = stack.iter().rposition(is_it) {
            for unseen in stack.drain(at + 1..) {
                recorder.functions().add_open(unseen.node);
                self.lost_ends.add(m.origin);
            }
            if let Some(frame) = stack.pop() {
                let took = took.unwrap_or(m.at.saturating_sub(frame.start));
                recorder.functions().add(frame.node, 1, Nanos(took));
            }
            return;
        }
        // Its start was not seen: the trace began, or lost events, meanwhile.
        self.lost_starts.add(m.origin);
        let (Some(function), Some(took)) = (function, took) else {
            return;
        };
        let tree = recorder.functions();
        let parent = match stack.iter().rfind(|f| f.depth < depth) {
            Some(frame) => frame.node,
            None => tree.node(None, task),
        };
        let node = tree.node(Some(parent), function);
        tree.add(node, 1, Nanos(took));
    }

    /// Events were lost: which calls are still open is not known.
    pub(super) fn forget(&mut self, recorder: &mut Recorder) {
        for frame in self.stacks.drain().flat_map(|(_, stack)| stack) {
            recorder.functions().add_open(frame.node);
            self.lost_ends.count += 1;
        }
        self.named.clear();
        self.raw.clear();
    }

    /// A function was called, and nothing will say that it returns: the tracer
    /// `function`.
    pub(super) fn called(
        function: NameId,
        caller: Option<NameId>,
        task: NameId,
        recorder: &mut Recorder,
    ) {
        let tree = recorder.functions();
        let mut parent = tree.node(None, task);
        if let Some(caller) = caller {
            parent = tree.node(Some(parent), caller);
        }
        let node = tree.node(Some(parent), function);
        tree.add_open(node);
    }

    /// A system call began.
    pub(super) fn begin(
        &mut self,
        m: &Moment<'_>,
        name: NameId,
        path: Option<&[u8]>,
        names: &mut Names,
        recorder: &mut Recorder,
    ) {
        self.by_name = true;
        let path = path.map(|p| names.get(p, m.origin, recorder));
        let pending = Pending {
            name,
            path,
            start: m.at,
            origin: m.origin,
        };
        if let Some(before) = insert(&mut self.named, m, pending, recorder) {
            self.lost_ends.add(before.origin);
        }
    }

    /// A system call ended.
    pub(super) fn end(
        &mut self,
        m: &Moment<'_>,
        name: NameId,
        returned: Option<i64>,
        task: NameId,
        clock: ClockId,
        recorder: &mut Recorder,
    ) {
        let Some(pending) = self.named.remove(&m.pid).filter(|p| p.name == name) else {
            self.lost_starts.add(m.origin);
            return;
        };
        let took = Nanos(m.at.saturating_sub(pending.start));
        let tree = recorder.functions();
        let root = tree.node(None, task);
        let node = tree.node(Some(root), name);
        tree.add(node, 1, took);
        let kind = match returned {
            Some(NO_ENTRY | NOT_A_FOLDER) => Some(AccessKind::Miss),
            // Where the kernel gives an address or an error (`IS_ERR`), an address is negative.
            Some(error) if (MOST_ERROR..0).contains(&error) => None,
            _ => Some(AccessKind::Open),
        };
        if let (Some(path), Some(kind)) = (pending.path, kind) {
            recorder.access(Access {
                kind,
                device: None,
                inode: None,
                path: Some(path),
                offset: 0,
                bytes: 0,
                at: Nanos(pending.start),
                took: took.into(),
                pid: Some(m.pid),
                task: Some(task),
                origin: pending.origin,
                clock,
            });
        }
    }

    /// A system call began that is only known by its number.
    pub(super) fn begin_raw(&mut self, m: &Moment<'_>, name: NameId, recorder: &mut Recorder) {
        let pending = Pending {
            name,
            path: None,
            start: m.at,
            origin: m.origin,
        };
        insert(&mut self.raw, m, pending, recorder);
    }

    /// A system call ended that is only known by its number.
    pub(super) fn end_raw(&mut self, m: &Moment<'_>, task: NameId, recorder: &mut Recorder) {
        let Some(pending) = self.raw.remove(&m.pid) else {
            return;
        };
        if !self.by_name {
            let tree = recorder.functions();
            let root = tree.node(None, task);
            let node = tree.node(Some(root), pending.name);
            tree.add(node, 1, Nanos(m.at.saturating_sub(pending.start)));
        }
    }

    /// After the last event, which stands at `last`: what is open was not seen
    /// to return.
    pub(super) fn finish(mut self, last: Origin, recorder: &mut Recorder) {
        self.forget(recorder);
        for (lost, kind) in [
            (self.lost_ends, &LOST_CALL_ENDS),
            (self.lost_starts, &LOST_CALL_STARTS),
        ] {
            if lost.count > 0 {
                let first = lost.first.unwrap_or(last);
                recorder.note_many(first, kind, lost.count, String::new);
            }
        }
    }
}

/// The stack of a task; a new one if there is room.
fn stack_of<'s>(
    stacks: &'s mut HashMap<u32, Vec<Frame>>,
    m: &Moment<'_>,
    recorder: &mut Recorder,
) -> Option<&'s mut Vec<Frame>> {
    // The idle tasks of all processors have the same number.
    let key = match m.pid {
        0 => u32::MAX - m.cpu,
        pid => pid,
    };
    if !stacks.contains_key(&key) && stacks.len() >= MOST_TASKS {
        stacks.retain(|_, stack| !stack.is_empty());
        if stacks.len() >= MOST_TASKS {
            recorder.note(m.origin, &TOO_MANY_CALLS, String::new);
            return None;
        }
    }
    Some(stacks.entry(key).or_default())
}

/// Remembers the call of a task. Gives the one before, if that did not end.
fn insert(
    calls: &mut HashMap<u32, Pending>,
    m: &Moment<'_>,
    pending: Pending,
    recorder: &mut Recorder,
) -> Option<Pending> {
    if calls.len() >= MOST_TASKS && !calls.contains_key(&m.pid) {
        recorder.note(m.origin, &TOO_MANY_CALLS, String::new);
        return None;
    }
    calls.insert(m.pid, pending)
}
