//! Tasks: their names, lives, states, and who wakes whom.

use super::known::{Key, Values};
use super::moment::Moment;
use super::names::Names;
use super::notes::TOO_MANY_TASKS;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use record::{
    Access, AccessKind, ClockId, NameId, Nanos, OpenSlice, Origin, Phase, Process, Recorder, Slice,
    TaskState, Wake, When, mark,
};

/// How many tasks are followed at one time.
const MOST_TASKS: usize = 200_000;

/// The length of a task's name in the kernel, its NUL included.
const COMM: usize = 16;

/// A hardware or a software interrupt ran (`TRACE_FLAG_HARDIRQ`, `TRACE_FLAG_SOFTIRQ`,
/// `include/linux/trace_events.h`).
const IN_INTERRUPT: u64 = 0x08 | 0x10;

/// The kernel's thread that forks all its others.
const KTHREADD: u32 = 2;

/// An event of the scheduler, and where what it says goes.
pub(super) struct Seen<'a, V> {
    /// What every event says.
    pub m: &'a Moment<'a>,
    /// The event's own fields.
    pub v: &'a V,
    pub names: &'a mut Names,
    pub recorder: &'a mut Recorder,
}

/// What a state's number or letters mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// It could go on running.
    Runnable,
    Blocked,
    Sleeping,
    Stopped,
    Dead,
}

/// What the letters of a state mean (`TASK_STATE_TO_CHAR_STR` of all kernels).
fn left(letters: &[u8]) -> Left {
    let has = |letter: u8| letters.contains(&letter);
    if has(b'R') || letters.is_empty() {
        Left::Runnable
    } else if has(b'Z') || has(b'X') || has(b'x') {
        Left::Dead
    } else if has(b'D') {
        Left::Blocked
    } else if has(b'T') || has(b't') {
        Left::Stopped
    } else {
        Left::Sleeping
    }
}

/// What is known of a task.
#[derive(Clone, Debug)]
struct Task {
    comm: [u8; COMM],
    name: NameId,
    parent: Option<u32>,
    command: Option<NameId>,
    start: Option<i64>,
    first_seen: i64,
    last_seen: i64,
    kernel_thread: bool,
    exit: Option<i32>,
    ended: Option<i64>,
    origin: Origin,
    /// What it does, and the row of it, if there was room for one.
    doing: Option<(TaskState, Option<OpenSlice>)>,
    /// It was waked since it last ran.
    awake: bool,
}

/// The tasks of a trace.
#[derive(Debug)]
pub(super) struct Tasks {
    clock: ClockId,
    tasks: HashMap<u32, Task>,
    /// Names of tasks that events may not name.
    introduced: HashMap<u32, NameId>,
    /// The letters of the bits of a state, as the trace's own format says.
    letters: Vec<(u64, u8)>,
    /// The first program ran, or was running when the trace began.
    init: Init,
    /// A switch was seen: they are traced.
    switches: bool,
}

/// How far the first process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Init {
    /// It was not seen yet.
    Unknown,
    /// It is still the kernel's.
    Kernel,
    /// It runs programs of an initramfs.
    Initrd,
    /// It runs programs of the root filesystem, or was running when the trace
    /// began.
    Done,
}

impl Tasks {
    pub(super) fn new(clock: ClockId) -> Self {
        Self {
            clock,
            tasks: HashMap::new(),
            introduced: HashMap::new(),
            letters: vec![
                (1, b'S'),
                (2, b'D'),
                (4, b'T'),
                (8, b't'),
                (16, b'X'),
                (32, b'Z'),
                (64, b'P'),
                (128, b'I'),
            ],
            init: Init::Unknown,
            switches: false,
        }
    }

    /// The letters that the trace's own format gives to the bits of a state.
    pub(super) fn set_letters(&mut self, letters: Vec<(u64, u8)>) {
        if !letters.is_empty() {
            self.letters = letters;
        }
    }

    /// The name of a task, if it is known.
    pub(super) fn name(&self, pid: u32) -> Option<NameId> {
        let task = self.tasks.get(&pid).map(|t| t.name);
        task.or_else(|| self.introduced.get(&pid).copied())
    }

    /// The task of `pid`, new or known, under this name, if one is given.
    fn task(
        &mut self,
        pid: u32,
        comm: Option<&[u8]>,
        m: &Moment<'_>,
        names: &mut Names,
        recorder: &mut Recorder,
    ) -> Option<&mut Task> {
        let is_full = self.tasks.len() >= MOST_TASKS;
        let task = match self.tasks.entry(pid) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(_) if is_full => {
                recorder.note(m.origin, &TOO_MANY_TASKS, String::new);
                return None;
            }
            Entry::Vacant(new) => new.insert(Task {
                comm: [0; COMM],
                name: recorder.name(""),
                parent: None,
                command: None,
                start: None,
                first_seen: m.at,
                last_seen: m.at,
                kernel_thread: pid == KTHREADD,
                exit: None,
                ended: None,
                origin: m.origin,
                doing: None,
                awake: false,
            }),
        };
        task.last_seen = task.last_seen.max(m.at);
        if let Some(comm) = comm {
            task.rename(comm, m.origin, names, recorder);
        }
        Some(task)
    }

    /// The name of a task that no event names.
    pub(super) fn introduce(&mut self, pid: u32, name: NameId) {
        if self.introduced.len() < MOST_TASKS {
            self.introduced.insert(pid, name);
        }
    }

    /// The processor goes from one task to another.
    pub(super) fn switch(&mut self, seen: Seen<'_, impl Values>) -> Option<()> {
        let Seen {
            m,
            v,
            names,
            recorder,
        } = seen;
        let (prev, next) = (v.pid(Key::PrevPid)?, v.pid(Key::NextPid)?);
        let left = match v.text(Key::PrevState) {
            Some(letters) => left(letters),
            None => self.left(v.number(Key::PrevState)?),
        };
        let clock = self.clock;
        self.switches = true;
        // A task that has ended and been recorded is not made anew.
        let gone = left == Left::Dead && !self.tasks.contains_key(&prev);
        if prev != 0 && !gone {
            self.see_init(prev, v.text(Key::PrevComm));
            let task = self.task(prev, v.text(Key::PrevComm), m, names, recorder);
            if let Some(task) = task {
                task.stop_doing(m.at, recorder);
                task.awake = false;
                let state = match left {
                    Left::Runnable => Some(TaskState::Runnable),
                    Left::Blocked => Some(TaskState::Blocked),
                    Left::Stopped => Some(TaskState::Stopped),
                    Left::Sleeping | Left::Dead => None,
                };
                if let Some(state) = state {
                    task.start_doing(prev, state, m, clock, recorder);
                }
            }
            if left == Left::Dead
                && let Some(task) = self.tasks.remove(&prev)
            {
                task.end(prev, clock, recorder);
            }
        }
        if next != 0
            && let Some(task) = self.task(next, v.text(Key::NextComm), m, names, recorder)
        {
            task.stop_doing(m.at, recorder);
            task.awake = false;
            task.start_doing(next, TaskState::Running, m, clock, recorder);
        }
        Some(())
    }

    /// What the bits of a state mean.
    fn left(&self, state: u64) -> Left {
        // Bits above the named ones say that it was preempted.
        let mut letters = [0; 64];
        let mut count = 0;
        for &(bits, letter) in &self.letters {
            if state & bits != 0
                && let Some(place) = letters.get_mut(count)
            {
                *place = letter;
                count += 1;
            }
        }
        left(letters.get(..count).unwrap_or_default())
    }

    /// A task was made runnable by the one that runs, or on another processor
    /// for it. Both events say it where both are traced; the first counts.
    pub(super) fn wake(&mut self, seen: Seen<'_, impl Values>) -> Option<()> {
        let Seen {
            m,
            v,
            names,
            recorder,
        } = seen;
        let pid = v.pid(Key::Pid)?;
        // Events before 4.0 also came for tasks that were awake.
        let clock = self.clock;
        let task = self.task(pid, v.text(Key::Comm), m, names, recorder)?;
        if std::mem::replace(&mut task.awake, true) {
            return Some(());
        }
        match task.doing {
            Some((TaskState::Running | TaskState::Runnable, _)) => {}
            _ => {
                task.stop_doing(m.at, recorder);
                task.start_doing(pid, TaskState::Runnable, m, clock, recorder);
            }
        }
        // An interrupt wakes as the task that it interrupts.
        let flags = v.number(Key::Flags).unwrap_or(0);
        let by = if flags & IN_INTERRUPT == 0 { m.pid } else { 0 };
        recorder.wake(Wake {
            at: Nanos(m.at),
            by,
            pid,
            origin: m.origin,
            clock,
        });
        Some(())
    }

    pub(super) fn fork(&mut self, seen: Seen<'_, impl Values>) -> Option<()> {
        let Seen {
            m,
            v,
            names,
            recorder,
        } = seen;
        let child = v.pid(Key::ChildPid)?;
        // `pid` is the parent's in texts.
        let parent = v.pid(Key::ParentPid).or(v.pid(Key::Pid))?;
        // The id is used again: the one before has ended.
        if let Some(before) = self.tasks.remove(&child) {
            before.end(child, self.clock, recorder);
        }
        let (clock, switches) = (self.clock, self.switches);
        let task = self.task(child, v.text(Key::ChildComm), m, names, recorder)?;
        // It could run from now on (`wake_up_new_task` in `kernel/fork.c`). That ends
        // with a switch to it, if those are traced.
        if switches {
            task.start_doing(child, TaskState::Runnable, m, clock, recorder);
        }
        task.start = Some(m.at);
        task.parent = Some(parent);
        task.kernel_thread = parent == KTHREADD;
        Some(())
    }

    pub(super) fn exec(&mut self, seen: Seen<'_, impl Values>) -> Option<()> {
        let Seen {
            m,
            v,
            names,
            recorder,
        } = seen;
        let pid = v.pid(Key::Pid)?;
        let path = v.text(Key::Filename)?;
        let base = path.rsplit(|b| *b == b'/').next().unwrap_or(path);
        let command = names.get(path, m.origin, recorder);
        self.see_init(pid, None);
        if pid == 1 {
            self.first_program(m, path, base, recorder);
        }
        let clock = self.clock;
        let task = self.task(pid, Some(base), m, names, recorder)?;
        task.command = Some(command);
        task.kernel_thread = false;
        let access = Access {
            kind: AccessKind::Open,
            device: None,
            inode: None,
            path: Some(command),
            offset: 0,
            bytes: 0,
            at: Nanos(m.at),
            took: When::UNKNOWN,
            pid: Some(pid),
            task: Some(task.name),
            origin: m.origin,
            clock,
        };
        recorder.access(access);
        // A thread that execs takes the id of its process.
        let old = v.pid(Key::OldPid).filter(|&old| old != pid);
        if let Some(old) = old
            && let Some(thread) = self.tasks.remove(&old)
        {
            thread.end(old, clock, recorder);
        }
        Some(())
    }

    /// Before its first program, the first process has the name of the idle
    /// task that it was made from.
    fn see_init(&mut self, pid: u32, comm: Option<&[u8]>) {
        if pid == 1 && self.init == Init::Unknown {
            self.init = match comm {
                Some(comm) if comm.starts_with(b"swapper") => Init::Kernel,
                _ => Init::Done,
            };
        }
    }

    /// The marks that the first process' programs set.
    fn first_program(&mut self, m: &Moment<'_>, path: &[u8], base: &[u8], recorder: &mut Recorder) {
        let mut set = |name, begins| recorder.mark(self.clock, name, m.at, begins, m.origin);
        match self.init {
            Init::Kernel => {
                set(mark::INIT_STARTED, None);
                if path == b"/init" {
                    self.init = Init::Initrd;
                    set(mark::INITRD_START, Some(Phase::Initrd));
                } else {
                    self.init = Init::Done;
                    set(mark::USERSPACE_START, Some(Phase::Userspace));
                }
            }
            // What an initramfs runs to leave itself is still of it.
            Init::Initrd if matches!(base, b"init" | b"systemd" | b"sh" | b"linuxrc") => {
                self.init = Init::Done;
                set(mark::USERSPACE_START, Some(Phase::Userspace));
            }
            _ => {}
        }
    }

    pub(super) fn exit(&mut self, seen: Seen<'_, impl Values>) -> Option<()> {
        let Seen {
            m,
            v,
            names,
            recorder,
        } = seen;
        let pid = v.pid(Key::Pid)?;
        let task = self.task(pid, v.text(Key::Comm), m, names, recorder)?;
        task.ended = Some(m.at);
        // It still runs until the switch to another one, if those are traced.
        let runs = matches!(task.doing, Some((TaskState::Running, ..)));
        if !runs && let Some(task) = self.tasks.remove(&pid) {
            task.end(pid, self.clock, recorder);
        }
        Some(())
    }

    /// A program asked to end with this code.
    pub(super) fn exit_code(&mut self, pid: u32, code: i32) {
        if let Some(task) = self.tasks.get_mut(&pid) {
            task.exit = Some(code);
        }
    }

    pub(super) fn rename(&mut self, seen: Seen<'_, impl Values>) -> Option<()> {
        let Seen {
            m,
            v,
            names,
            recorder,
        } = seen;
        let (pid, comm) = (v.pid(Key::Pid)?, v.text(Key::NewComm)?);
        self.task(pid, Some(comm), m, names, recorder)?;
        Some(())
    }

    /// After the last event, which was at `last`.
    pub(super) fn finish(self, last: i64, recorder: &mut Recorder) {
        let mut tasks: Vec<(u32, Task)> = self.tasks.into_iter().collect();
        // Not in the order of a hash.
        tasks.sort_by_key(|t| t.0);
        for (pid, mut task) in tasks {
            if task.doing.is_some() {
                let until = task.ended.unwrap_or(last);
                task.stop_doing(until, recorder);
                task.last_seen = task.last_seen.max(until);
            }
            task.end(pid, self.clock, recorder);
        }
    }
}

impl Task {
    fn rename(&mut self, comm: &[u8], origin: Origin, names: &mut Names, recorder: &mut Recorder) {
        // Mostly it is the same as before, which has no NUL but those behind it.
        if let Some((same, behind)) = self.comm.split_at_checked(comm.len())
            && same == comm
            && behind.first() == Some(&0)
            && same.last() != Some(&0)
        {
            return;
        }
        let comm = comm.split(|b| *b == 0).next().unwrap_or_default();
        let comm = comm.get(..COMM - 1).unwrap_or(comm);
        let mut padded = [0; COMM];
        for (to, from) in padded.iter_mut().zip(comm) {
            *to = *from;
        }
        if padded != self.comm {
            self.comm = padded;
            self.name = names.get(comm, origin, recorder);
        }
    }

    fn start_doing(
        &mut self,
        pid: u32,
        state: TaskState,
        m: &Moment<'_>,
        clock: ClockId,
        recorder: &mut Recorder,
    ) {
        let open = recorder.begin_slice(Slice {
            pid,
            state,
            start: Nanos(m.at),
            end: Nanos(m.at),
            busy: None,
            cpu: (state == TaskState::Running).then_some(m.cpu),
            origin: m.origin,
            clock,
        });
        self.doing = Some((state, open));
    }

    /// What it did ends now.
    fn stop_doing(&mut self, now: i64, recorder: &mut Recorder) {
        if let Some((_, Some(open))) = self.doing.take() {
            recorder.end_slice(open, Nanos(now));
        }
    }

    /// Records it.
    fn end(self, pid: u32, clock: ClockId, recorder: &mut Recorder) {
        recorder.process(Process {
            pid,
            parent: self.parent,
            name: self.name,
            command: self.command,
            start: self.start.map(Nanos),
            end: self.ended.map(Nanos),
            first_seen: Nanos(self.first_seen),
            last_seen: Nanos(self.last_seen),
            user: None,
            system: None,
            kernel_thread: self.kernel_thread,
            exit: self.exit,
            origin: self.origin,
            clock,
        });
    }
}
