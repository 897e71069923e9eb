//! What events mean, whether they were read from text or from bytes.

use super::calls::Calls;
use super::initcalls::{Function, Initcalls};
use super::known::{BlockEvent, Key, Known, Values};
use super::moment::Moment;
use super::names::Names;
use super::notes::TOO_MANY_MESSAGES;
use super::symbols::Symbols;
use super::tasks::{Seen, Tasks};
use crate::block::{Action, Asks, Assembler, Event};
use record::{
    Access, AccessKind, ClockId, Device, NameId, Nanos, NoteKind, Operation, Origin, Recorder, When,
};

/// How many console lines are kept of a trace, and how much text.
const MOST_MESSAGES: u64 = 200_000;
const MOST_MESSAGE_BYTES: usize = 32 << 20;

/// How many levels of initcalls are marked; the kernel has nine.
const MOST_LEVELS: u32 = 100;

/// Minor numbers take the lower 20 bits of the kernel's own device numbers
/// (`include/linux/kdev_t.h`).
const MINOR_BITS: u32 = 20;

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Something was recorded, or remembered until it can be.
    Taken,
    /// It lacks a field, or a field cannot be.
    Bad,
    /// Nothing is made of it, for this reason.
    Noted(&'static NoteKind),
}

/// A line of a function graph, as texts have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GraphCall<'a> {
    /// A function was entered.
    Enter { function: &'a [u8], depth: u32 },
    /// A function was entered and left, and called none.
    Leaf {
        function: &'a [u8],
        depth: u32,
        took: i64,
    },
    /// A function was left; its name is mostly not said.
    Leave {
        function: Option<&'a [u8]>,
        depth: u32,
        took: i64,
    },
}

/// Makes records of the events of one trace, in the order of their times.
#[derive(Debug)]
pub(super) struct Interpreter<'a> {
    clock: ClockId,
    page_bytes: u64,
    pub names: Names,
    pub symbols: Symbols<'a>,
    pub tasks: Tasks,
    calls: Calls,
    initcalls: Initcalls,
    requests: Assembler,
    messages: u64,
    message_bytes: usize,
    levels: u32,
    last: i64,
    last_origin: Option<Origin>,
}

impl<'a> Interpreter<'a> {
    /// For events whose times are on `clock`, of a machine with such pages.
    pub(super) fn new(clock: ClockId, page_bytes: u64, symbols: Symbols<'a>) -> Self {
        Self {
            clock,
            page_bytes,
            names: Names::default(),
            symbols,
            tasks: Tasks::new(clock),
            calls: Calls::default(),
            initcalls: Initcalls::new(clock),
            requests: Assembler::new(clock),
            messages: 0,
            message_bytes: 0,
            levels: 0,
            last: i64::MIN,
            last_origin: None,
        }
    }

    /// Takes an event. `name` is the event's own, for system calls.
    pub(super) fn event(
        &mut self,
        m: &Moment<'_>,
        known: Known,
        name: NameId,
        v: &impl Values,
        recorder: &mut Recorder,
    ) -> Outcome {
        self.last = self.last.max(m.at);
        self.last_origin = Some(m.origin);
        if let Known::Block(event) = known {
            return self.block(m, event, v, recorder);
        }
        let done = match known {
            Known::Switch
            | Known::Waking
            | Known::Wakeup
            | Known::WakeupNew
            | Known::Fork
            | Known::Exec
            | Known::Exit
            | Known::Rename => self.scheduler(m, known, v, recorder),
            Known::CacheAdd | Known::CacheFault | Known::CacheGet | Known::CacheMap => {
                self.cache(m, known, v, recorder)
            }
            Known::InitcallLevel | Known::InitcallStart | Known::InitcallFinish => {
                self.initcall(m, known, v, recorder)
            }
            Known::ModuleLoad => v.text(Key::Name).map(|module| {
                self.initcalls.loaded(m, module);
            }),
            Known::Console => v.text(Key::Message).map(|text| {
                self.message(m, text, recorder);
            }),
            Known::Function => self.function(m, v, recorder),
            Known::GraphEntry | Known::GraphExit => self.graph(m, known, v, recorder),
            Known::RawEnter => v.signed(Key::Number).map(|number| {
                let text = format!("syscall {number}");
                let name = self.names.get(text.as_bytes(), m.origin, recorder);
                self.calls.begin_raw(m, name, recorder);
            }),
            Known::RawExit => {
                let task = self.task(m, recorder);
                self.calls.end_raw(m, task, recorder);
                Some(())
            }
            Known::CallEnter => {
                if let Some(code) = v.signed(Key::ErrorCode) {
                    // The lower byte is what the parent sees.
                    let code = i32::try_from(code & 0xff).unwrap_or(0);
                    self.tasks.exit_code(m.pid, code);
                }
                let path = v.text(Key::Filename);
                self.calls.begin(m, name, path, &mut self.names, recorder);
                Some(())
            }
            Known::CallExit => {
                let task = self.task(m, recorder);
                let returned = v.signed(Key::Returned);
                self.calls
                    .end(m, name, returned, task, self.clock, recorder);
                Some(())
            }
            Known::Block(_) => None,
        };
        match done {
            Some(()) => Outcome::Taken,
            None => Outcome::Bad,
        }
    }

    /// After the last event.
    pub(super) fn finish(self, recorder: &mut Recorder) {
        self.tasks.finish(self.last, recorder);
        if let Some(last) = self.last_origin {
            self.calls.finish(last, recorder);
        }
        self.initcalls.end(recorder);
        self.requests.finish(recorder);
    }

    /// The name of the task that ran.
    fn task(&mut self, m: &Moment<'_>, recorder: &mut Recorder) -> NameId {
        if let Some(comm) = m.comm {
            return self.names.get(comm, m.origin, recorder);
        }
        match (m.pid, self.tasks.name(m.pid)) {
            (0, _) => recorder.name("<idle>"),
            (_, Some(name)) => name,
            (pid, None) => {
                let text = format!("task {pid}");
                self.names.get(text.as_bytes(), m.origin, recorder)
            }
        }
    }

    fn scheduler(
        &mut self,
        m: &Moment<'_>,
        known: Known,
        v: &impl Values,
        recorder: &mut Recorder,
    ) -> Option<()> {
        let names = &mut self.names;
        let seen = Seen {
            m,
            v,
            names,
            recorder,
        };
        match known {
            Known::Switch => self.tasks.switch(seen),
            Known::Fork => self.tasks.fork(seen),
            Known::Exec => self.tasks.exec(seen),
            Known::Exit => self.tasks.exit(seen),
            Known::Rename => self.tasks.rename(seen),
            _ => self.tasks.wake(seen),
        }
    }

    fn cache(
        &mut self,
        m: &Moment<'_>,
        known: Known,
        v: &impl Values,
        recorder: &mut Recorder,
    ) -> Option<()> {
        let page = self.page_bytes;
        // Texts give bytes, the events themselves pages.
        let offset = match v.number(Key::Offset) {
            Some(bytes) => bytes,
            None => v.number(Key::Index)?.checked_mul(page)?,
        };
        let bytes = match known {
            Known::CacheAdd => {
                let order = v.number(Key::PageOrder).unwrap_or(0);
                page.checked_shl(u32::try_from(order).ok().filter(|o| *o < 32)?)?
            }
            Known::CacheFault => page,
            _ => {
                let last = match v.number(Key::LastOffset) {
                    Some(last) => last,
                    None => v
                        .number(Key::LastIndex)?
                        .checked_add(1)?
                        .checked_mul(page)?
                        .checked_sub(1)?,
                };
                last.checked_sub(offset)?.checked_add(1)?
            }
        };
        let kind = match known {
            Known::CacheAdd => AccessKind::Fill,
            _ => AccessKind::Touch,
        };
        let task = self.task(m, recorder);
        recorder.access(Access {
            kind,
            device: Some(device(v, Key::Device)?),
            inode: Some(v.number(Key::Inode)?),
            path: None,
            offset,
            bytes,
            at: Nanos(m.at),
            took: When::UNKNOWN,
            pid: Some(m.pid),
            task: Some(task),
            origin: m.origin,
            clock: self.clock,
        });
        Some(())
    }

    fn initcall(
        &mut self,
        m: &Moment<'_>,
        known: Known,
        v: &impl Values,
        recorder: &mut Recorder,
    ) -> Option<()> {
        if known == Known::InitcallLevel {
            let level = crate::text::lossy(v.text(Key::Level)?);
            self.levels += 1;
            if self.levels <= MOST_LEVELS {
                let name = format!("initcall-level-{level}");
                recorder.mark(self.clock, &name, m.at, None, m.origin);
            }
            return Some(());
        }
        let (function, symbol) = self.initcall_function(v, m, recorder)?;
        if known == Known::InitcallFinish {
            let name = self.names.get(&symbol?, m.origin, recorder);
            let returned = v.signed(Key::Returned).and_then(|r| i32::try_from(r).ok());
            self.initcalls.finish(m, function, name, returned, recorder);
            return Some(());
        }
        // Where a module's own was, other code is by the time that symbols are
        // read: the module that the task has loaded right before knows better.
        let name = match (self.initcalls.module(m), symbol) {
            (Some(module), symbol) => {
                let of_module = [b" [", &*module, b"]"].concat();
                let own = symbol.filter(|s| s.ends_with(&of_module));
                own.unwrap_or_else(|| [b"init_module", &*of_module].concat())
            }
            // Which module it is nobody knows then: a module's functions of its start are
            // thrown away, and another module may have its code there.
            (None, Some(symbol)) if symbol.ends_with(b"]") => match function {
                Function::At(address) => hexadecimal(address),
                Function::Named(_) => symbol,
            },
            (None, symbol) => symbol?,
        };
        let name = self.names.get(&name, m.origin, recorder);
        self.initcalls.start(m, function, name, recorder);
        Some(())
    }

    /// The function of an initcall, and the symbol that begins right there; the
    /// address if none does.
    fn initcall_function(
        &mut self,
        v: &impl Values,
        m: &Moment<'_>,
        recorder: &mut Recorder,
    ) -> Option<(Function, Option<Vec<u8>>)> {
        if let Some(text) = v.text(Key::Function) {
            let function = Function::Named(self.names.get(text, m.origin, recorder));
            let offset = memchr::memmem::find(text, b"+0x").and_then(|at| text.get(at + 3..));
            let inside = offset.is_some_and(|o| !o.starts_with(b"0/") && o != b"0");
            let symbol = match inside {
                true => text.to_vec(),
                false => without_offset(text).into_owned(),
            };
            return Some((function, Some(symbol)));
        }
        let address = v.number(Key::Function)?;
        let symbol = match self.symbols.find(address) {
            Some(found) if found.start == address => found.name(),
            _ => hexadecimal(address),
        };
        Some((Function::At(address), Some(symbol)))
    }

    fn function_name(
        &mut self,
        v: &impl Values,
        key: Key,
        m: &Moment<'_>,
        recorder: &mut Recorder,
    ) -> Option<NameId> {
        match v.text(key) {
            Some(text) => Some(self.names.get(&without_offset(text), m.origin, recorder)),
            None => {
                let (address, names) = (v.number(key)?, &mut self.names);
                Some(self.symbols.name(address, names, m.origin, recorder))
            }
        }
    }

    fn function(&mut self, m: &Moment<'_>, v: &impl Values, recorder: &mut Recorder) -> Option<()> {
        let function = self.function_name(v, Key::Address, m, recorder)?;
        let caller = self.function_name(v, Key::CallerAddress, m, recorder);
        let task = self.task(m, recorder);
        Calls::called(function, caller, task, recorder);
        Some(())
    }

    fn graph(
        &mut self,
        m: &Moment<'_>,
        known: Known,
        v: &impl Values,
        recorder: &mut Recorder,
    ) -> Option<()> {
        let depth = u32::try_from(v.number(Key::Depth)?).ok()?;
        let task = self.task(m, recorder);
        if known == Known::GraphEntry {
            let function = self.function_name(v, Key::Function, m, recorder)?;
            self.calls.enter(m, (function, depth), task, recorder);
        } else {
            let function = self.function_name(v, Key::Function, m, recorder);
            let (start, end) = (v.signed(Key::CallTime), v.signed(Key::ReturnTime));
            let took = start.zip(end).map(|(s, e)| e.saturating_sub(s));
            self.calls.leave(m, (function, depth), took, task, recorder);
        }
        Some(())
    }

    /// The kernel lost events here: what was open may have ended.
    pub(super) fn events_lost(&mut self, recorder: &mut Recorder) {
        self.calls.forget(recorder);
    }

    /// Takes a line of a function graph.
    pub(super) fn graph_call(
        &mut self,
        m: &Moment<'_>,
        call: &GraphCall<'_>,
        recorder: &mut Recorder,
    ) {
        self.last_origin = Some(m.origin);
        let task = self.task(m, recorder);
        let mut name = |function| self.names.get(function, m.origin, recorder);
        match *call {
            GraphCall::Enter { function, depth } => {
                let function = name(function);
                self.calls.enter(m, (function, depth), task, recorder);
            }
            GraphCall::Leaf {
                function,
                depth,
                took,
            } => {
                let function = name(function);
                self.calls.enter(m, (function, depth), task, recorder);
                let left = (Some(function), depth);
                self.calls.leave(m, left, Some(took), task, recorder);
            }
            GraphCall::Leave {
                function,
                depth,
                took,
            } => {
                let left = (function.map(name), depth);
                self.calls.leave(m, left, Some(took), task, recorder);
            }
        }
    }

    /// Says the name of a task that events may not name.
    pub(super) fn introduce(
        &mut self,
        pid: u32,
        comm: &[u8],
        origin: Origin,
        recorder: &mut Recorder,
    ) {
        let name = self.names.get(comm, origin, recorder);
        self.tasks.introduce(pid, name);
    }

    fn message(&mut self, m: &Moment<'_>, text: &[u8], recorder: &mut Recorder) {
        let text = crate::text::lossy(text.trim_ascii_end());
        self.messages += 1;
        self.message_bytes = self.message_bytes.saturating_add(text.len());
        if self.messages > MOST_MESSAGES || self.message_bytes > MOST_MESSAGE_BYTES {
            recorder.note(m.origin, &TOO_MANY_MESSAGES, String::new);
            return;
        }
        recorder.message(self.clock, Some(m.at), None, &text, m.origin);
    }

    fn block(
        &mut self,
        m: &Moment<'_>,
        event: BlockEvent,
        v: &impl Values,
        recorder: &mut Recorder,
    ) -> Outcome {
        let task = self.task(m, recorder);
        let Some(event) = self.request_event(m, event, v, task) else {
            return Outcome::Bad;
        };
        match self.requests.event(&event, recorder) {
            Some(kind) => Outcome::Noted(kind),
            None => Outcome::Taken,
        }
    }

    fn request_event(
        &self,
        m: &Moment<'_>,
        event: BlockEvent,
        v: &impl Values,
        task: NameId,
    ) -> Option<Event> {
        let action = match event {
            BlockEvent::Queue => Action::Queue,
            BlockEvent::BackMerge => Action::BackMerge,
            BlockEvent::FrontMerge => Action::FrontMerge,
            BlockEvent::Split => Action::Split {
                at: v.number(Key::NewSector)?,
            },
            BlockEvent::Insert => Action::Insert,
            BlockEvent::Issue => Action::Issue,
            BlockEvent::Requeue => Action::Requeue,
            BlockEvent::Complete | BlockEvent::BioComplete => Action::Complete,
            BlockEvent::Remap => Action::Remap {
                from: device(v, Key::OldDevice)?,
            },
        };
        let sectors = v.number(Key::Sectors).unwrap_or(0);
        // Commands that are passed through say bytes, and no sectors.
        let bytes = match sectors.checked_mul(512)? {
            0 => v.number(Key::Bytes).unwrap_or(0),
            bytes => bytes,
        };
        let letters = v.text(Key::Letters)?;
        let asks = Asks::from_letters(letters).unwrap_or(Asks::plain(Operation::Other));
        let error = v.signed(Key::Error).unwrap_or(0);
        Some(Event {
            at: m.at,
            action,
            device: device(v, Key::Device)?,
            sector: v.number(Key::Sector)?,
            bytes,
            asks,
            error: i32::try_from(error).unwrap_or(i32::MIN),
            pid: Some(m.pid),
            task: Some(task),
            origin: m.origin,
        })
    }
}

/// A device in the kernel's own numbers.
fn device(v: &impl Values, key: Key) -> Option<Device> {
    let number = v.number(key)?;
    Some(Device {
        major: u32::try_from(number >> MINOR_BITS).ok()?,
        minor: u32::try_from(number & ((1 << MINOR_BITS) - 1)).ok()?,
    })
}

/// An address that no symbol names.
fn hexadecimal(address: u64) -> Vec<u8> {
    format!("{address:#x}").into_bytes()
}

/// `symbol+0x0/0x12 [module]` without what stands for the place in it.
fn without_offset(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    let Some(at) = memchr::memmem::find(text, b"+0x") else {
        return text.into();
    };
    let (symbol, rest) = text.split_at(at);
    match memchr::memmem::find(rest, b" [") {
        Some(at) => [symbol, rest.get(at..).unwrap_or_default()].concat().into(),
        None => symbol.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_offset;

    #[test]
    fn functions_lose_the_place_in_them() {
        for (with, without) in [
            ("fuse_init+0x0/0x1b0 [fuse]", "fuse_init [fuse]"),
            ("acpi_init+0x0/0x4", "acpi_init"),
            ("acpi_init", "acpi_init"),
            ("do_work [mod]", "do_work [mod]"),
            ("", ""),
        ] {
            assert_eq!(&*without_offset(with.as_bytes()), without.as_bytes());
        }
    }
}
