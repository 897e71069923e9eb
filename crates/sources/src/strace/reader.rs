//! From strace's lines to processes, files and a table of calls.

use super::line::{Call, Event, Parsed, Stamp, argument, rest_of, string, strings};
use super::notes::{NO_DURATIONS, NO_STAMPS, NOT_RESUMED, RELATIVE, RESUMED_ONLY, TIME_OF_DAY};
use record::{
    Access, AccessKind, ClockId, ClockKind, NameId, Nanos, Origin, Process, Recorder, SourceId,
};
use std::collections::BTreeMap;

const HALF_A_DAY_NS: i64 = 43_200_000_000_000;

/// The longest name that the kernel gives a process (`TASK_COMM_LEN` less one).
const LONGEST_NAME: usize = 15;

/// Signals by name, as far as they end processes (signal(7), on x86 and ARM).
const SIGNALS: [(&[u8], i32); 15] = [
    (b"SIGHUP", 1),
    (b"SIGINT", 2),
    (b"SIGQUIT", 3),
    (b"SIGILL", 4),
    (b"SIGTRAP", 5),
    (b"SIGABRT", 6),
    (b"SIGBUS", 7),
    (b"SIGFPE", 8),
    (b"SIGKILL", 9),
    (b"SIGUSR1", 10),
    (b"SIGSEGV", 11),
    (b"SIGUSR2", 12),
    (b"SIGPIPE", 13),
    (b"SIGALRM", 14),
    (b"SIGTERM", 15),
];

/// Calls that look a file up by its path, and which argument that is: a path
/// that is relative counts from the argument before, if that is a descriptor.
const LOOKUPS: [(&[u8], usize); 16] = [
    (b"open", 0),
    (b"openat", 1),
    (b"openat2", 1),
    (b"creat", 0),
    (b"execve", 0),
    (b"execveat", 1),
    (b"access", 0),
    (b"faccessat", 1),
    (b"faccessat2", 1),
    (b"stat", 0),
    (b"lstat", 0),
    (b"newfstatat", 1),
    (b"fstatat64", 1),
    (b"statx", 1),
    (b"readlink", 0),
    (b"readlinkat", 1),
];

/// A call that has begun.
#[derive(Clone, Debug)]
struct Open {
    name: Vec<u8>,
    arguments: Vec<u8>,
    at: Option<i64>,
    origin: Origin,
}

/// A process or thread that is watched.
#[derive(Clone, Debug)]
struct Task {
    process: Process,
    open: Option<Open>,
}

/// When and where a call began, and by whom.
#[derive(Clone, Copy, Debug)]
struct Begin {
    pid: u32,
    at: Option<i64>,
    origin: Origin,
}

/// What a task is called whose program is not known.
const UNKNOWN: &str = "?";

/// The id of the task whose lines say none.
const NAMELESS: u32 = 0;

/// Reads the lines of one log.
#[derive(Debug)]
pub(super) struct Reader {
    source: SourceId,
    clock: Option<ClockId>,
    /// The last stamp of the day, to see midnight pass.
    of_day: Option<i64>,
    /// What is added to stamps: days that passed, or the stamps before.
    base: i64,
    /// The time of the last line.
    now: i64,
    /// The first line with a time.
    first: Option<Origin>,
    /// The first call.
    first_call: Option<Origin>,
    tasks: BTreeMap<u32, Task>,
    /// The task whose call strace broke with a line of its own.
    broken: Option<u32>,
    done: Vec<Process>,
    calls: u64,
    timed: bool,
    failed: u64,
    misses: u64,
}

impl Reader {
    pub(super) fn new(source: SourceId) -> Self {
        Self {
            source,
            clock: None,
            of_day: None,
            base: 0,
            now: 0,
            first: None,
            first_call: None,
            tasks: BTreeMap::new(),
            broken: None,
            done: Vec::new(),
            calls: 0,
            timed: false,
            failed: 0,
            misses: 0,
        }
    }

    /// Reads a line. `false` if nothing came of it.
    pub(super) fn line(
        &mut self,
        line: Parsed<'_>,
        origin: Origin,
        recorder: &mut Recorder,
    ) -> bool {
        let at = line.stamp.map(|s| self.time(s, origin, recorder));
        self.now = at.unwrap_or(self.now);
        let attached = line.attached.is_some();
        let pid = line.pid.unwrap_or_else(|| self.only_one());
        if let Some(child) = line.attached {
            self.task(child, origin, recorder);
        }
        if line.event == Event::Report {
            return attached;
        }
        self.name_the_nameless(pid);
        self.broken = Some(pid).filter(|_| attached);
        let begin = Begin { pid, at, origin };
        let now = self.now;
        let task = self.task(pid, origin, recorder);
        task.process.last_seen = task.process.last_seen.max(Nanos(now));
        match line.event {
            Event::Call(call) => self.call(begin, &call, recorder),
            Event::Unfinished(name, arguments) => {
                let open = Open {
                    name: name.to_vec(),
                    arguments: arguments.to_vec(),
                    at,
                    origin,
                };
                if let Some(lost) = task.open.replace(open) {
                    self.not_resumed(pid, &lost, recorder);
                }
            }
            Event::Resumed(call) => self.resumed(begin, &call, recorder),
            Event::Exited(code) => self.exit(begin, Some(code), recorder),
            Event::Killed(signal) => {
                let known = SIGNALS.iter().find(|(name, _)| *name == signal);
                self.exit(begin, known.map(|(_, number)| -number), recorder);
            }
            Event::Superseded(by) => {
                // What the thread has begun, the process ends.
                let thread = self.tasks.remove(&by);
                let task = self.task(pid, origin, recorder);
                if let Some(mut thread) = thread {
                    task.open = thread.open.take();
                    thread.process.end = Some(Nanos(now));
                    self.done.push(thread.process);
                }
            }
            Event::Signal | Event::Report => return attached,
        }
        true
    }

    /// Reads a line that is no whole one, if it is the rest of a broken one.
    pub(super) fn rest(&mut self, line: &[u8], recorder: &mut Recorder) -> bool {
        let Some(pid) = self.broken.take() else {
            return false;
        };
        let Some(task) = self.tasks.get_mut(&pid) else {
            return false;
        };
        let Some(open) = task.open.take() else {
            return false;
        };
        let Some(call) = rest_of(&open.name, line) else {
            task.open = Some(open);
            return false;
        };
        let begin = Begin {
            pid,
            at: open.at,
            origin: open.origin,
        };
        let arguments = [&open.arguments, call.arguments].concat();
        let whole = Call {
            arguments: &arguments,
            ..call
        };
        self.call(begin, &whole, recorder);
        true
    }

    /// The task that a line without an id is about: the only one there is.
    fn only_one(&self) -> u32 {
        let mut ids = self.tasks.keys();
        match (ids.next(), ids.next()) {
            (Some(&only), None) => only,
            _ => NAMELESS,
        }
    }

    /// The first task has no id while it is alone; the first id that nobody
    /// announced is its own.
    fn name_the_nameless(&mut self, pid: u32) {
        if !self.tasks.contains_key(&pid)
            && let Some(mut task) = self.tasks.remove(&NAMELESS)
        {
            task.process.pid = pid;
            self.tasks.insert(pid, task);
        }
    }

    /// The task of this id, new or known.
    fn task(&mut self, pid: u32, origin: Origin, recorder: &mut Recorder) -> &mut Task {
        let now = Nanos(self.now);
        let clock = self.clock(recorder);
        self.tasks.entry(pid).or_insert_with(|| Task {
            process: Process {
                pid,
                parent: None,
                name: recorder.name(UNKNOWN),
                command: None,
                start: None,
                end: None,
                first_seen: now,
                last_seen: now,
                user: None,
                system: None,
                kernel_thread: false,
                exit: None,
                origin,
                clock,
            },
            open: None,
        })
    }

    /// The clock; the first stamp decides which.
    fn clock(&mut self, recorder: &mut Recorder) -> ClockId {
        *self
            .clock
            .get_or_insert_with(|| recorder.clock("strace", ClockKind::Wall, 1_000))
    }

    /// The time of a stamp on the log's clock.
    fn time(&mut self, stamp: Stamp, origin: Origin, recorder: &mut Recorder) -> i64 {
        let begins = self.first.is_none();
        if begins {
            self.first = Some(origin);
            let note = match stamp {
                Stamp::Epoch(_) => {
                    self.clock = Some(recorder.clock("realtime", ClockKind::Wall, 1_000));
                    None
                }
                Stamp::Day(_) => Some(&TIME_OF_DAY),
                Stamp::Since(_) => Some(&RELATIVE),
            };
            if let Some(kind) = note {
                recorder.note(origin, kind, String::new);
            }
        }
        let at = match stamp {
            Stamp::Epoch(ns) => ns,
            Stamp::Day(ns) => {
                if self.of_day.is_some_and(|last| last - ns > HALF_A_DAY_NS) {
                    self.base = self.base.saturating_add(2 * HALF_A_DAY_NS);
                }
                self.of_day = Some(ns);
                ns.saturating_add(self.base)
            }
            Stamp::Since(ns) => {
                self.base = self.base.saturating_add(ns);
                self.base
            }
        };
        if begins {
            let clock = self.clock(recorder);
            recorder.mark(clock, "strace-started", at, None, origin);
        }
        at
    }

    /// The end of a call that another line began.
    fn resumed(&mut self, end: Begin, call: &Call<'_>, recorder: &mut Recorder) {
        let open = self.tasks.get_mut(&end.pid).and_then(|t| t.open.take());
        let Some(open) = open.filter(|o| o.name == call.name) else {
            recorder.note(end.origin, &RESUMED_ONLY, String::new);
            self.call(end, call, recorder);
            return;
        };
        let mut arguments = open.arguments;
        arguments.extend_from_slice(call.arguments);
        let took = end.at.zip(open.at).map(|(e, b)| e.saturating_sub(b));
        self.timed |= call.took.is_some();
        let whole = Call {
            arguments: &arguments,
            took: call.took.or(took),
            ..*call
        };
        let begin = Begin {
            at: open.at,
            origin: open.origin,
            ..end
        };
        self.call(begin, &whole, recorder);
    }

    /// A whole call.
    fn call(&mut self, begin: Begin, call: &Call<'_>, recorder: &mut Recorder) {
        self.calls += 1;
        self.first_call.get_or_insert(begin.origin);
        self.timed |= call.took.is_some();
        self.failed += u64::from(call.error.is_some());
        let mut name = self.name(begin.pid, recorder);
        if name == recorder.name(UNKNOWN) {
            // The first program is known by the call that begins it.
            self.program(begin.pid, call, recorder);
            name = self.name(begin.pid, recorder);
        }
        let function = recorder.name_lossy(call.name);
        let tree = recorder.functions();
        let root = tree.node(None, name);
        let node = tree.node(Some(root), function);
        match call.value {
            Some(_) => tree.add(node, 1, Nanos(call.took.unwrap_or(0).max(0))),
            None => tree.add_open(node),
        }
        match call.name {
            b"fork" | b"vfork" | b"clone" | b"clone2" | b"clone3" => {
                let child = call.value.and_then(|v| u32::try_from(v).ok());
                if let Some(child) = child.filter(|&c| c > 0) {
                    self.fork(begin, child, name, recorder);
                }
            }
            _ => self.program(begin.pid, call, recorder),
        }
        let lookup = LOOKUPS.iter().find(|(name, _)| *name == call.name);
        if let Some((_, number)) = lookup {
            self.lookup(begin, call, *number, recorder);
        }
    }

    /// What a task is called.
    fn name(&mut self, pid: u32, recorder: &mut Recorder) -> NameId {
        let known = self.tasks.get(&pid).map(|t| t.process.name);
        known.unwrap_or_else(|| recorder.name(UNKNOWN))
    }

    /// A call made another process or thread.
    fn fork(&mut self, begin: Begin, child: u32, name: NameId, recorder: &mut Recorder) {
        let start = begin.at.map(Nanos);
        let parent = Some(begin.pid).filter(|&p| p != NAMELESS);
        let command = self.tasks.get(&begin.pid).and_then(|t| t.process.command);
        // On a busy machine a child may end before its parent's call returns.
        let ended = self.done.iter_mut().rev().find(|p| {
            p.pid == child && p.start.is_none() && start.is_none_or(|at| at <= p.first_seen)
        });
        if let Some(ended) = ended {
            ended.parent = parent;
            ended.start = start;
            ended.first_seen = ended.first_seen.min(start.unwrap_or(ended.first_seen));
            if ended.command.is_none() {
                ended.name = name;
                ended.command = command;
            }
            return;
        }
        let known = self.tasks.contains_key(&child);
        let task = self.task(child, begin.origin, recorder);
        task.process.parent = parent;
        task.process.start = start;
        task.process.first_seen = task.process.first_seen.min(start.unwrap_or_default());
        // A child that ran before the call returned may have a program already.
        if !known || task.process.command.is_none() {
            task.process.name = name;
            task.process.command = command;
        }
    }

    /// If a task began a program: its name, and its words.
    fn program(&mut self, pid: u32, call: &Call<'_>, recorder: &mut Recorder) {
        let number = match call.name {
            b"execve" if call.value == Some(0) => 0,
            b"execveat" if call.value == Some(0) => 1,
            _ => return,
        };
        let path = argument(call.arguments, number).and_then(string);
        let words = argument(call.arguments, number + 1).and_then(strings);
        let Some(path) = path else { return };
        let base = path.rsplit(|&b| b == b'/').next().unwrap_or(&path);
        let name = recorder.name_lossy(base.get(..LONGEST_NAME).unwrap_or(base));
        let words = words.unwrap_or_default().join(&b' ');
        let command = recorder.name_lossy(if words.is_empty() { &path } else { &words });
        if let Some(task) = self.tasks.get_mut(&pid) {
            task.process.name = name;
            task.process.command = Some(command);
        }
    }

    /// A call looked a file up.
    fn lookup(&mut self, begin: Begin, call: &Call<'_>, number: usize, recorder: &mut Recorder) {
        let miss = matches!(call.error, Some(b"ENOENT" | b"ENOTDIR"));
        self.misses += u64::from(miss);
        let opens = [
            &b"open"[..],
            b"openat",
            b"openat2",
            b"creat",
            b"execve",
            b"execveat",
        ];
        let opened = call.value.is_some_and(|v| v >= 0) && opens.contains(&call.name);
        let kind = match (miss, opened) {
            (true, _) => AccessKind::Miss,
            (_, true) => AccessKind::Open,
            _ => return,
        };
        let (Some(at), Some(path)) = (begin.at, path(call, number)) else {
            return;
        };
        let task = self.name(begin.pid, recorder);
        let access = Access {
            kind,
            device: None,
            inode: None,
            path: Some(recorder.name_lossy(&path)),
            offset: 0,
            bytes: 0,
            at: Nanos(at),
            took: call.took.map(Nanos).into(),
            pid: Some(begin.pid).filter(|&p| p != NAMELESS),
            task: Some(task),
            origin: begin.origin,
            clock: self.clock(recorder),
        };
        recorder.access(access);
    }

    fn not_resumed(&mut self, pid: u32, open: &Open, recorder: &mut Recorder) {
        self.calls += 1;
        self.first_call.get_or_insert(open.origin);
        recorder.note(open.origin, &NOT_RESUMED, String::new);
        let name = self.name(pid, recorder);
        let function = recorder.name_lossy(&open.name);
        let tree = recorder.functions();
        let root = tree.node(None, name);
        let node = tree.node(Some(root), function);
        tree.add_open(node);
    }

    fn exit(&mut self, end: Begin, code: Option<i32>, recorder: &mut Recorder) {
        let open = self.tasks.get_mut(&end.pid).and_then(|t| t.open.take());
        if let Some(open) = open {
            self.not_resumed(end.pid, &open, recorder);
        }
        if let Some(mut task) = self.tasks.remove(&end.pid) {
            task.process.end = end.at.map(Nanos);
            task.process.exit = code;
            self.done.push(task.process);
        }
    }

    pub(super) fn finish(mut self, recorder: &mut Recorder) {
        let open: Vec<(u32, Open)> = self
            .tasks
            .iter_mut()
            .filter_map(|(pid, task)| Some((*pid, task.open.take()?)))
            .collect();
        for (pid, open) in open {
            self.not_resumed(pid, &open, recorder);
        }
        let origin = Origin {
            source: self.source,
            offset: 0,
        };
        for (key, value) in [
            ("calls", self.calls),
            ("failed_calls", self.failed),
            ("misses", self.misses),
            ("processes", (self.done.len() + self.tasks.len()) as u64),
        ] {
            recorder.fact(&format!("strace.{key}"), &value.to_string(), origin);
        }
        let Some(first_call) = self.first_call else {
            return;
        };
        if !self.timed {
            recorder.note(first_call, &NO_DURATIONS, String::new);
        }
        if self.first.is_none() {
            recorder.note(first_call, &NO_STAMPS, String::new);
            return;
        }
        let living = self.tasks.into_values().map(|t| t.process);
        for mut process in self.done.into_iter().chain(living) {
            process.clock = self.clock.unwrap_or(process.clock);
            recorder.process(process);
        }
    }
}

/// The path that a call looked up: as strace shows it for the descriptor that
/// came of it, else joined to the folder that it counts from, if that is shown.
fn path(call: &Call<'_>, number: usize) -> Option<Vec<u8>> {
    if let Some(path) = call.path.filter(|p| p.starts_with(b"/")) {
        return Some(path.to_vec());
    }
    let path = string(argument(call.arguments, number)?)?;
    let folder = number
        .checked_sub(1)
        .filter(|_| !path.starts_with(b"/"))
        .and_then(|n| argument(call.arguments, n))
        .and_then(|a| {
            let at = memchr::memchr(b'<', a)?;
            let folder = a.get(at + 1..)?.strip_suffix(b">")?;
            folder.starts_with(b"/").then_some(folder)
        });
    Some(match folder {
        Some(folder) => {
            let folder = folder.strip_suffix(b"/").unwrap_or(folder);
            [folder, b"/", &path].concat()
        }
        None => path,
    })
}
