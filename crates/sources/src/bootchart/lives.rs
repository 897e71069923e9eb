//! The lives of processes, put together from samples.

use record::{ClockId, NameId, Nanos, Origin, Process, Recorder, Slice, TaskState};
use std::collections::BTreeMap;

/// A process as it was when it was looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub pid: u32,
    /// 0 is nobody.
    pub parent: u32,
    pub name: NameId,
    /// The words it was started with, where they stand in place of its name.
    pub command: Option<NameId>,
    pub state: TaskState,
    /// When it was forked, in nanoseconds on the samples' clock; it also tells
    /// it from an earlier process of the same id.
    pub born: Option<i64>,
    /// Processor time since then, in nanoseconds.
    pub cpu: Cpu,
    pub kernel_thread: bool,
    pub origin: Origin,
}

/// Processor time of a process since it was forked, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cpu {
    /// In programs, and in the kernel.
    Split(i64, i64),
    /// Both together.
    Total(i64),
}

impl Cpu {
    fn total(self) -> i64 {
        match self {
            Self::Split(user, system) => user.saturating_add(system),
            Self::Total(total) => total,
        }
    }
}

/// A life, so far.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub process: Process,
    born: Option<i64>,
    cpu: i64,
    /// The last stretch: those of one state in which it used no processor time
    /// become one.
    open: Option<Slice>,
    /// The number of the last sample that has it.
    seen: usize,
    /// Whether it has exited, as far as samples tell.
    exited: bool,
}

/// All lives.
#[derive(Debug)]
pub(super) struct Lives {
    clock: ClockId,
    /// The last life of each process id.
    by_pid: BTreeMap<u32, usize>,
    all: Vec<Life>,
    /// The stamps of the sample before this one, and of this one.
    before: Option<i64>,
    now: i64,
    sample: usize,
}

impl Lives {
    pub(super) fn new(clock: ClockId) -> Self {
        Self {
            clock,
            by_pid: BTreeMap::new(),
            all: Vec::new(),
            before: None,
            now: 0,
            sample: 0,
        }
    }

    /// Begins the sample at `at`.
    pub(super) fn sample(&mut self, at: i64) {
        self.before = (self.sample > 0).then_some(self.now);
        self.now = at;
        self.sample += 1;
    }

    /// Takes a look at a process.
    pub(super) fn look(&mut self, look: &Look, recorder: &mut Recorder) {
        let cpu = look.cpu.total();
        let known = self.by_pid.get(&look.pid).copied();
        let life = known.and_then(|at| self.all.get_mut(at));
        let same = |l: &&mut Life| match (l.born, look.born) {
            (Some(a), Some(b)) => a == b,
            // Processor time never shrinks.
            _ => l.cpu <= cpu,
        };
        let Some(life) = life.filter(same) else {
            self.begin(look, recorder);
            return;
        };
        let from = life.process.last_seen.0;
        let busy = cpu.saturating_sub(life.cpu).max(0);
        life.cpu = cpu.max(life.cpu);
        life.seen = self.sample;
        life.process.last_seen = Nanos(self.now.max(from));
        life.process.name = look.name;
        life.process.command = look.command.or(life.process.command);
        life.process.kernel_thread &= look.kernel_thread || look.state == TaskState::Zombie;
        set_cpu(&mut life.process, look.cpu);
        // Where only those are written that did something, nothing was done
        // in the samples between.
        let from = match look.cpu {
            Cpu::Total(_) => self.before.unwrap_or(from).max(from),
            Cpu::Split(..) => from,
        };
        life.stretch(look, (from, self.now), busy, recorder);
    }

    fn begin(&mut self, look: &Look, recorder: &mut Recorder) {
        // Without a time of birth, it is there since some time after the
        // sample before.
        let start = look.born.or_else(|| self.before.map(|_| self.now));
        // Before zero nothing is charted: it was there already.
        let start = start.filter(|s| *s >= 0);
        // A slow collector sees those who were born while it was at it.
        let seen = self.now.max(look.born.unwrap_or(self.now));
        let mut life = Life {
            process: Process {
                pid: look.pid,
                parent: (look.parent > 0).then_some(look.parent),
                name: look.name,
                command: look.command,
                start: start.map(Nanos),
                end: None,
                first_seen: Nanos(seen),
                last_seen: Nanos(seen),
                user: None,
                system: None,
                kernel_thread: look.kernel_thread,
                exit: None,
                origin: look.origin,
                clock: self.clock,
            },
            born: look.born,
            cpu: look.cpu.total(),
            open: None,
            seen: self.sample,
            exited: false,
        };
        set_cpu(&mut life.process, look.cpu);
        // What it did before the first sample is not known to have been then.
        if let Some(before) = self.before {
            let from = look.born.unwrap_or(before);
            if from >= before {
                life.stretch(look, (from, self.now), look.cpu.total(), recorder);
            }
        }
        self.by_pid.insert(look.pid, self.all.len());
        self.all.push(life);
    }

    /// Ends a sample that has everybody who lives: the others have exited.
    pub(super) fn everybody(&mut self) {
        let now = Nanos(self.now);
        let (all, sample) = (&mut self.all, self.sample);
        self.by_pid.retain(|_, at| {
            let Some(life) = all.get_mut(*at) else {
                return false;
            };
            if life.seen < sample {
                life.exited = true;
                life.process.end.get_or_insert(now);
            }
            !life.exited
        });
    }

    /// All lives, in the order they were first seen.
    pub(super) fn finish(mut self, recorder: &mut Recorder) -> Vec<Process> {
        for life in &mut self.all {
            if let Some(slice) = life.open.take() {
                recorder.slice(slice);
            }
        }
        self.all.into_iter().map(|l| l.process).collect()
    }
}

fn set_cpu(process: &mut Process, cpu: Cpu) {
    (process.user, process.system) = match cpu {
        Cpu::Split(user, system) => (Some(Nanos(user)), Some(Nanos(system))),
        Cpu::Total(total) => (Some(Nanos(total)), None),
    };
}

impl Life {
    /// What it did in `from..to`, by the look at its end.
    fn stretch(&mut self, look: &Look, (from, to): (i64, i64), busy: i64, recorder: &mut Recorder) {
        if look.state == TaskState::Zombie {
            self.process.end.get_or_insert(Nanos(to));
        }
        if to <= from {
            return;
        }
        let slice = Slice {
            pid: look.pid,
            state: look.state,
            start: Nanos(from),
            end: Nanos(to),
            busy: Some(Nanos(busy)),
            cpu: None,
            origin: look.origin,
            clock: self.process.clock,
        };
        let idle = Some(Nanos::ZERO);
        match &mut self.open {
            Some(open)
                if (open.state, open.end, open.busy) == (slice.state, slice.start, idle)
                    && slice.busy == idle =>
            {
                open.end = slice.end;
            }
            open => {
                if let Some(done) = open.replace(slice) {
                    recorder.slice(done);
                }
            }
        }
    }
}
