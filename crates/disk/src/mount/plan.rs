//! What a mount asks for, and how long that takes on a device.

use rawimage::MountState as State;
use std::collections::BTreeMap;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Bytes to the machine.
    Read,
    /// Bytes to the device.
    Write,
    /// All earlier writes to the medium.
    Flush,
}

/// Something that a mount does, in the order in which it does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Work of the processor, in instructions.
    Work(u64),
    /// A request that is waited for: where, and how many bytes.
    Read(u64, u64),
    /// A read that is asked for ahead of need.
    Ahead(u64, u64),
    /// Waits for the read from there, if it was asked for.
    Wait(u64),
    /// A request to write; it is not waited for.
    Write(u64, u64),
    /// Waits for all writes.
    Settle,
    /// All writes to the medium; it is waited for.
    Flush,
}

/// What a mount does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The filesystem: `ext4`, `squashfs`, ...
    pub filesystem: &'static str,
    /// How it was left.
    pub state: State,
    /// What is done.
    pub steps: Vec<Step>,
    /// Instructions more, if it is the first mount since the driver was loaded, as
    /// that of a root is: the driver's caches of objects are empty then, and each
    /// has its first page made.
    pub first: u64,
    /// Whether that is all; if not, a mount takes at least as long as this.
    pub is_whole: bool,
}

/// Says when a request that arrives at a time is done: both in nanoseconds from
/// the start, with the request's place and length in bytes. Times of arrival never
/// run backwards.
pub type Device<'d> = dyn FnMut(u64, Access, u64, u64) -> u64 + 'd;

/// What requests cost the processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Processor {
    /// What it is called.
    pub name: &'static str,
    /// How many instructions it executes in a microsecond.
    pub per_us: u64,
    /// Instructions until a request is at the device.
    pub issue: u64,
    /// Instructions from its end until who waits for it goes on.
    pub done: u64,
    /// Instead of these two, for a request that is asked for ahead of need.
    pub ahead: u64,
    /// Instructions for each KiB that is read.
    pub read_kib: u64,
    /// Instructions for each KiB that is written, until it is at the device.
    pub write_kib: u64,
    /// Where the figures are from.
    pub source: &'static str,
}

/// The exact lab's PC: 1000 million instructions a second. The device is served by
/// a program, which makes requests dearer than a driver would.
///
/// Fitted to the mounts of the cases that say `fit` in
/// `experiments/mount-cost/block.toml`.
pub const LAB: Processor = Processor {
    name: "lab-pc",
    per_us: 1000,
    issue: 45_000,
    done: 40_000,
    ahead: 27_000,
    read_kib: 1_000,
    write_kib: 11_000,
    source: "fitted to mounts in the exact lab (x86-64, Linux 6.1, device over NBD)",
};

/// What a mount costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Requests that read.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Requests that write; those that only flush are not counted.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Until it is done, nanoseconds.
    pub total_ns: u64,
    /// What it would be with a processor that takes no time, nanoseconds.
    pub storage_ns: u64,
}

impl Cost {
    /// What the processor adds, nanoseconds.
    #[must_use]
    pub const fn processor_ns(&self) -> u64 {
        self.total_ns.saturating_sub(self.storage_ns)
    }
}

impl Plan {
    pub(super) const fn new(filesystem: &'static str) -> Self {
        Self {
            filesystem,
            state: State::Clean,
            steps: Vec::new(),
            first: 0,
            is_whole: true,
        }
    }

    pub(super) fn work(&mut self, instructions: u64) {
        self.steps.push(Step::Work(instructions));
    }

    pub(super) fn read(&mut self, at: u64, bytes: u64) {
        self.steps.push(Step::Read(at, bytes));
    }

    /// Times it: once on `device`, and once on `again`, an equal device, for a
    /// processor that takes no time.
    pub fn cost(&self, processor: &Processor, device: &mut Device, again: &mut Device) -> Cost {
        let none = Processor {
            per_us: 0,
            ..*processor
        };
        let mut cost = Cost {
            total_ns: self.time(processor, device),
            storage_ns: self.time(&none, again),
            ..Cost::default()
        };
        for step in &self.steps {
            match step {
                Step::Read(_, bytes) | Step::Ahead(_, bytes) => {
                    cost.reads += 1;
                    cost.read_bytes = cost.read_bytes.saturating_add(*bytes);
                }
                Step::Write(_, bytes) => {
                    cost.writes += 1;
                    cost.written_bytes = cost.written_bytes.saturating_add(*bytes);
                }
                Step::Work(_) | Step::Wait(_) | Step::Settle | Step::Flush => {}
            }
        }
        cost
    }

    fn time(&self, processor: &Processor, device: &mut Device) -> u64 {
        let mut run = Run {
            processor: *processor,
            now: 0,
            flying: Vec::new(),
            ahead: BTreeMap::new(),
        };
        run.work(self.first);
        for step in &self.steps {
            match *step {
                Step::Work(instructions) => run.work(instructions),
                Step::Read(at, bytes) => {
                    let end = run.submit(device, Access::Read, at, bytes);
                    run.until(end);
                }
                Step::Ahead(at, bytes) => {
                    run.ahead(device, at, bytes);
                }
                Step::Wait(at) => {
                    if let Some(end) = run.ahead.remove(&at) {
                        run.until(end);
                    }
                }
                Step::Write(at, bytes) => {
                    run.submit(device, Access::Write, at, bytes);
                }
                Step::Settle => run.until(u64::MAX),
                Step::Flush => {
                    let end = run.submit(device, Access::Flush, 0, 0);
                    run.until(end);
                }
            }
        }
        run.now
    }
}

/// A mount under way.
struct Run {
    processor: Processor,
    now: u64,
    /// The ends of requests in the device, and the work that follows.
    flying: Vec<(u64, u64)>,
    /// The ends of reads ahead of need, by place.
    ahead: BTreeMap<u64, u64>,
}

impl Run {
    fn work(&mut self, instructions: u64) {
        let ns = instructions
            .saturating_mul(1000)
            .checked_div(self.processor.per_us);
        self.now = self.now.saturating_add(ns.unwrap_or(0));
    }

    fn submit(&mut self, device: &mut Device, access: Access, at: u64, bytes: u64) -> u64 {
        let p = self.processor;
        let moving = |per_kib: u64| bytes.saturating_mul(per_kib) / 1024;
        let (before, after) = match access {
            Access::Read => (p.issue, p.done.saturating_add(moving(p.read_kib))),
            Access::Write => (p.issue.saturating_add(moving(p.write_kib)), p.done),
            Access::Flush => (p.issue, p.done),
        };
        self.put(device, access, (at, bytes), (before, after))
    }

    fn put(
        &mut self,
        device: &mut Device,
        access: Access,
        (at, bytes): (u64, u64),
        (before, after): (u64, u64),
    ) -> u64 {
        self.work(before);
        let end = device(self.now, access, at, bytes);
        self.flying.push((end, after));
        end
    }

    fn ahead(&mut self, device: &mut Device, at: u64, bytes: u64) {
        let p = self.processor;
        let after = p
            .ahead
            .saturating_add(bytes.saturating_mul(p.read_kib) / 1024);
        let end = self.put(device, Access::Read, (at, bytes), (p.ahead, after));
        self.ahead.insert(at, end);
    }

    /// Waits until `end`, and ends what else is done by then, in order.
    fn until(&mut self, end: u64) {
        self.flying.sort_unstable();
        let count = self.flying.partition_point(|f| f.0 <= end);
        for (end, work) in self.flying.drain(..count).collect::<Vec<_>>() {
            self.now = self.now.max(end);
            self.work(work);
        }
    }
}
