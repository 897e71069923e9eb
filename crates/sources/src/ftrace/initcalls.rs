//! Initcalls of the kernel and of modules.

use super::moment::Moment;
use super::notes::{LOST_INITCALL_END, LOST_INITCALL_START, TOO_MANY_CALLS};
use hashbrown::HashMap;
use record::{ClockId, Doubt, NameId, Origin, Recorder, SpanKind};

/// How many initcalls may be open at one time, and be recorded together.
const MOST: usize = 100_000;

/// A function as the trace names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// By its address.
    At(u64),
    /// By its name.
    Named(NameId),
}

/// An initcall that has not returned yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    function: Function,
    name: NameId,
    start: i64,
    origin: Origin,
}

/// The initcalls of a trace.
#[derive(Debug)]
pub(super) struct Initcalls {
    clock: ClockId,
    /// By task; of one task the last began last.
    open: HashMap<u32, Vec<Open>>,
    count: usize,
    /// The module that a task has loaded, until its initcall begins.
    loaded: HashMap<u32, Box<[u8]>>,
}

impl Initcalls {
    pub(super) fn new(clock: ClockId) -> Self {
        Self {
            clock,
            open: HashMap::new(),
            count: 0,
            loaded: HashMap::new(),
        }
    }

    /// A task has loaded a module: the next initcall of the task is its.
    pub(super) fn loaded(&mut self, m: &Moment<'_>, module: &[u8]) {
        if self.loaded.len() < MOST {
            self.loaded.insert(m.pid, module.into());
        }
    }

    /// The module that a task has loaded last, if its initcall has not begun.
    pub(super) fn module(&mut self, m: &Moment<'_>) -> Option<Box<[u8]>> {
        self.loaded.remove(&m.pid)
    }

    pub(super) fn start(
        &mut self,
        m: &Moment<'_>,
        function: Function,
        name: NameId,
        recorder: &mut Recorder,
    ) {
        self.count += 1;
        if self.count > MOST {
            recorder.note(m.origin, &TOO_MANY_CALLS, String::new);
            return;
        }
        self.open.entry(m.pid).or_default().push(Open {
            function,
            name,
            start: m.at,
            origin: m.origin,
        });
    }

    pub(super) fn finish(
        &mut self,
        m: &Moment<'_>,
        function: Function,
        name: NameId,
        returned: Option<i32>,
        recorder: &mut Recorder,
    ) {
        let track = recorder.name(&format!("task {}", m.pid));
        let stack = self.open.get_mut(&m.pid);
        let open = stack.and_then(|stack| {
            let at = stack.iter().rposition(|o| o.function == function)?;
            Some(stack.remove(at))
        });
        let Some(open) = open else {
            self.count += 1;
            if self.count > MOST {
                recorder.note(m.origin, &TOO_MANY_CALLS, String::new);
                return;
            }
            recorder.note(m.origin, &LOST_INITCALL_START, String::new);
            let span = recorder.span_of(self.clock, SpanKind::Initcall, name, m.origin);
            let span = span.track(Some(track)).end(Some(m.at)).outcome(returned);
            recorder.span(span.doubt(Some(Doubt::LostStart)));
            return;
        };
        let span = recorder.span_of(self.clock, SpanKind::Initcall, open.name, open.origin);
        let span = span.track(Some(track)).start(Some(open.start));
        recorder.span(span.end(Some(m.at)).outcome(returned));
    }

    /// After the last event: what is open was not seen to return.
    pub(super) fn end(self, recorder: &mut Recorder) {
        let mut open: Vec<(u32, Vec<Open>)> = self.open.into_iter().collect();
        open.sort_by_key(|o| o.0);
        for (pid, stack) in open {
            for open in stack {
                recorder.note(open.origin, &LOST_INITCALL_END, String::new);
                let track = recorder.name(&format!("task {pid}"));
                let span = recorder.span_of(self.clock, SpanKind::Initcall, open.name, open.origin);
                let span = span.track(Some(track)).start(Some(open.start));
                recorder.span(span.doubt(Some(Doubt::LostEnd)));
            }
        }
    }
}
