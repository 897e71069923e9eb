//! Traces as the kernel would write them, with what is true of them.

#![allow(dead_code, reason = "no test uses all of this")]

use std::collections::BTreeMap;

/// Categories (`enum blktrace_cat` in `include/uapi/linux/blktrace_api.h`).
pub mod category {
    pub const READ: u64 = 1 << 0;
    pub const WRITE: u64 = 1 << 1;
    pub const FLUSH: u64 = 1 << 2;
    pub const SYNC: u64 = 1 << 3;
    pub const QUEUE: u64 = 1 << 4;
    pub const REQUEUE: u64 = 1 << 5;
    pub const ISSUE: u64 = 1 << 6;
    pub const COMPLETE: u64 = 1 << 7;
    pub const FS: u64 = 1 << 8;
    pub const PC: u64 = 1 << 9;
    pub const NOTIFY: u64 = 1 << 10;
    pub const AHEAD: u64 = 1 << 11;
    pub const META: u64 = 1 << 12;
    pub const DISCARD: u64 = 1 << 13;
    pub const DRV_DATA: u64 = 1 << 14;
    pub const FUA: u64 = 1 << 15;
}

use category::*;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    pub big_endian: bool,
    /// 7 or 8.
    pub version: u8,
}

pub const LITTLE: Form = Form {
    big_endian: false,
    version: 7,
};

/// An event or a notice.
#[derive(Clone, Debug)]
pub struct Entry {
    pub cpu: u32,
    pub sequence: u32,
    pub time: u64,
    pub sector: u64,
    pub bytes: u32,
    /// The action's code.
    pub code: u16,
    /// Its categories.
    pub categories: u64,
    pub pid: u32,
    pub device: u32,
    pub error: i16,
    pub payload: Vec<u8>,
}

impl Entry {
    /// The bytes of it. The payload of a time of day is in the file's order.
    pub fn bytes(&self, form: Form) -> Vec<u8> {
        let mut out = Vec::new();
        macro_rules! put {
            ($value:expr) => {
                match form.big_endian {
                    true => out.extend_from_slice(&$value.to_be_bytes()),
                    false => out.extend_from_slice(&$value.to_le_bytes()),
                }
            };
        }
        let action = u64::from(self.code) | self.categories << 16;
        let length = u16::try_from(self.payload.len()).unwrap();
        put!(0x6561_7400_u32 | u32::from(form.version));
        put!(self.sequence);
        put!(self.time);
        put!(self.sector);
        put!(self.bytes);
        if form.version == 7 {
            put!(action as u32);
            put!(self.pid);
        } else {
            put!(self.pid);
            put!(action);
        }
        put!(self.device);
        put!(self.cpu);
        put!(self.error);
        put!(length);
        if form.version == 8 {
            out.extend_from_slice(&[0; 12]);
        }
        out.extend_from_slice(&self.payload);
        out
    }
}

/// What is true of a trace: how many requests of each operation, their bytes,
/// how many were issued and completed event by event, and the sum of the times
/// from the first issue to completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    pub requests: u64,
    pub bytes: u64,
    pub issued: u64,
    pub completed: u64,
    pub merged: u64,
    pub requeued: u64,
    pub service: i64,
    pub service_from_last: i64,
}

/// A trace in the making.
pub struct Trace {
    pub entries: Vec<Entry>,
    pub truth: BTreeMap<&'static str, Truth>,
    time: u64,
    sequences: Vec<u32>,
    random: u64,
    device: u32,
}

pub const DEVICE: (u32, u32) = (8, 52);

impl Trace {
    pub fn new(cpus: usize) -> Self {
        Self {
            entries: Vec::new(),
            truth: BTreeMap::new(),
            time: 7_000_000_000,
            sequences: vec![0; cpus],
            random: 0x2545_f491_4f6c_dd1d,
            device: DEVICE.0 << 20 | DEVICE.1,
        }
    }

    /// A number below `below`; the same ones in every run (xorshift64*).
    pub fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % below
    }

    fn cpu(&mut self) -> u32 {
        let cpus = self.sequences.len() as u64;
        self.random(cpus) as u32
    }

    fn entry(
        &mut self,
        code: u16,
        categories: u64,
        (sector, bytes): (u64, u32),
        pid: u32,
    ) -> Entry {
        self.time += 200 + self.random(5_000);
        let cpu = self.cpu();
        Entry {
            cpu,
            sequence: 0,
            time: self.time,
            sector,
            bytes,
            code,
            categories,
            pid,
            device: self.device,
            error: 0,
            payload: Vec::new(),
        }
    }

    /// Adds an event, and gives its time.
    pub fn event(&mut self, code: u16, categories: u64, place: (u64, u32), pid: u32) -> i64 {
        self.event_with(code, categories, place, pid, &[], 0)
    }

    pub fn event_with(
        &mut self,
        code: u16,
        categories: u64,
        place: (u64, u32),
        pid: u32,
        payload: &[u8],
        error: i16,
    ) -> i64 {
        let mut entry = self.entry(code, categories, place, pid);
        let sequence = &mut self.sequences[entry.cpu as usize];
        *sequence += 1;
        entry.sequence = *sequence;
        entry.payload = payload.to_vec();
        entry.error = error;
        let at = entry.time as i64;
        self.entries.push(entry);
        at
    }

    /// Adds a notice, which has no number.
    pub fn notice(&mut self, code: u16, pid: u32, payload: &[u8]) {
        let mut entry = self.entry(code, NOTIFY, (0, 0), pid);
        entry.payload = payload.to_vec();
        self.entries.push(entry);
    }

    pub fn process(&mut self, pid: u32, name: &str) {
        let mut payload = [0; 16];
        payload[..name.len()].copy_from_slice(name.as_bytes());
        self.notice(0, pid, &payload);
    }

    fn truth(&mut self, operation: &'static str) -> &mut Truth {
        self.truth.entry(operation).or_default()
    }

    /// The files of each processor.
    pub fn files(&self, form: Form) -> Vec<Vec<u8>> {
        let mut files = vec![Vec::new(); self.sequences.len()];
        for entry in &self.entries {
            files[entry.cpu as usize].extend(entry.bytes(form));
        }
        files
    }

    /// All processors in one file, by time.
    pub fn merged(&self, form: Form) -> Vec<u8> {
        self.entries.iter().flat_map(|e| e.bytes(form)).collect()
    }

    /// As `blktrace -o -` writes: what one processor has, then the next one.
    pub fn by_buffers(&self, form: Form, entries: usize) -> Vec<u8> {
        let mut queues: Vec<Vec<Vec<u8>>> = vec![Vec::new(); self.sequences.len()];
        let mut out = Vec::new();
        for entry in &self.entries {
            let queue = &mut queues[entry.cpu as usize];
            queue.push(entry.bytes(form));
            if queue.len() >= entries {
                out.extend(queue.drain(..).flatten());
            }
        }
        out.extend(queues.into_iter().flatten().flatten());
        out
    }
}

/// What ends the life of a request.
type End = Box<dyn FnOnce(&mut Trace)>;

/// A trace of so many lives of requests, of every kind, some at a time.
pub fn life(lives: usize, cpus: usize) -> Trace {
    let mut t = Trace::new(cpus);
    for pid in 100..110 {
        t.process(pid, &format!("task {pid}"));
    }
    // 1,700,000,000.000000005 seconds since 1970.
    let mut time_of_day = 1_700_000_000_u32.to_le_bytes().to_vec();
    time_of_day.extend(5_u32.to_le_bytes());
    t.notice(1, 0, &time_of_day);
    t.notice(2, 0, b"a message");
    let mut open: Vec<End> = Vec::new();
    for i in 0..lives as u64 {
        // Places that no other life has.
        let sector = i * 4096 + 64;
        let pid = 100 + t.random(10) as u32;
        open.push(begin(&mut t, i, sector, pid));
        if open.len() > 12 {
            let which = t.random(open.len() as u64) as usize;
            open.swap_remove(which)(&mut t);
        }
    }
    for end in open {
        end(&mut t);
    }
    t
}

/// Begins a life, and gives what ends it.
fn begin(t: &mut Trace, i: u64, sector: u64, pid: u32) -> End {
    match i % 8 {
        0 => merged(t, sector, pid),
        1 => split(t, sector, pid),
        2 => flush(t, pid),
        3 => discard(t, sector, pid),
        4 => passed_through(t, sector, pid),
        5 => requeued(t, sector, pid),
        6 => in_parts(t, sector, pid),
        _ => plain(t, sector, pid),
    }
}

/// Ends a request: completed at once.
fn ends(operation: &'static str, category: u64, place: (u64, u32), issued: i64, last: i64) -> End {
    Box::new(move |t| {
        let done = t.event(8, COMPLETE | FS | category, place, 0);
        let truth = t.truth(operation);
        truth.requests += 1;
        truth.bytes += u64::from(place.1);
        truth.completed += 1;
        truth.service += done - issued;
        truth.service_from_last += done - last;
    })
}

fn plain(t: &mut Trace, sector: u64, pid: u32) -> End {
    let place = (sector, 4096);
    let write = WRITE | SYNC | META | FUA;
    t.event(1, QUEUE | write, place, pid);
    t.event(4, QUEUE | write, place, pid);
    t.event(12, QUEUE | FS | write, place, pid);
    let issued = t.event(7, ISSUE | FS | write, place, 3);
    t.truth("write").issued += 1;
    ends("write", write, place, issued, issued)
}

/// A piece, another one behind it, another one before it: one request.
fn merged(t: &mut Trace, sector: u64, pid: u32) -> End {
    let read = READ | AHEAD;
    t.event(9, QUEUE, (0, 0), pid);
    t.event(1, QUEUE | read, (sector, 4096), pid);
    t.event(4, QUEUE | read, (sector, 4096), pid);
    t.event(1, QUEUE | read, (sector + 8, 8192), pid);
    t.event(2, QUEUE | read, (sector + 8, 8192), pid);
    t.event(1, QUEUE | read, (sector - 8, 4096), pid);
    t.event(3, QUEUE | read, (sector - 8, 4096), pid);
    let place = (sector - 8, 16384);
    t.event_with(10, QUEUE, (0, 0), pid, &1_u64.to_be_bytes(), 0);
    t.event(12, QUEUE | FS | read, place, pid);
    let issued = t.event(7, ISSUE | FS | read, place, pid);
    let truth = t.truth("read");
    truth.issued += 1;
    truth.merged += 2;
    ends("read", read, place, issued, issued)
}

/// One piece that becomes two requests.
fn split(t: &mut Trace, sector: u64, pid: u32) -> End {
    t.event(1, QUEUE | READ, (sector, 16384), pid);
    let at = (sector + 8).to_be_bytes();
    t.event_with(13, READ, (sector, 4096), pid, &at, 0);
    let (first, second) = ((sector, 4096), (sector + 8, 12288));
    t.event(12, QUEUE | FS | READ, first, pid);
    t.event(12, QUEUE | FS | READ, second, pid);
    let a = t.event(7, ISSUE | FS | READ, first, pid);
    let b = t.event(7, ISSUE | FS | READ, second, pid);
    t.truth("read").issued += 2;
    let (end_a, end_b) = (
        ends("read", READ, first, a, a),
        ends("read", READ, second, b, b),
    );
    Box::new(move |t| {
        end_b(t);
        end_a(t);
    })
}

/// What `fsync` asks: an empty write with a flush before, which the kernel
/// turns into a flush of its own.
fn flush(t: &mut Trace, pid: u32) -> End {
    t.event(1, QUEUE | WRITE | FLUSH | SYNC, (0, 0), pid);
    let issued = t.event(7, ISSUE | FS | READ | FLUSH, (0, 0), 3);
    let done = t.event(8, COMPLETE | FS | READ | FLUSH, (0, 0), 0);
    t.event(8, COMPLETE | FS | WRITE | SYNC, (0, 0), 0);
    let truth = t.truth("flush");
    truth.requests += 1;
    truth.issued += 1;
    truth.completed += 1;
    truth.service += done - issued;
    truth.service_from_last += done - issued;
    t.truth("write").completed += 1;
    Box::new(|_| {})
}

fn discard(t: &mut Trace, sector: u64, pid: u32) -> End {
    let (place, discard) = ((sector, 1 << 20), WRITE | DISCARD);
    t.event(1, QUEUE | discard, place, pid);
    // The driver was busy, and the kernel says nothing of it.
    let issued = t.event(7, ISSUE | FS | discard, place, pid);
    let last = t.event(7, ISSUE | FS | discard, place, pid);
    t.truth("discard").issued += 2;
    ends("discard", discard, place, issued, last)
}

/// A command of the device's own.
fn passed_through(t: &mut Trace, _: u64, pid: u32) -> End {
    let (place, command) = ((0, 36), [0x12, 0, 0, 0, 36, 0]);
    t.event_with(12, QUEUE | PC | READ, place, pid, &command, 0);
    let issued = t.event_with(7, ISSUE | PC | READ, place, pid, &command, 0);
    let done = t.event_with(8, COMPLETE | PC | READ, place, 0, &command, 0);
    let truth = t.truth("other");
    truth.requests += 1;
    truth.bytes += 36;
    truth.issued += 1;
    truth.completed += 1;
    truth.service += done - issued;
    truth.service_from_last += done - issued;
    Box::new(|_| {})
}

/// Taken back, issued again, and it fails.
fn requeued(t: &mut Trace, sector: u64, pid: u32) -> End {
    let place = (sector, 8192);
    t.event(1, QUEUE | WRITE, place, pid);
    let issued = t.event(7, ISSUE | FS | WRITE, place, pid);
    t.event(6, REQUEUE | FS | WRITE, place, 0);
    let last = t.event(7, ISSUE | FS | WRITE, place, 3);
    Box::new(move |t| {
        let done = t.event_with(8, COMPLETE | FS | WRITE, place, 0, &[], -5);
        let truth = t.truth("write");
        truth.requests += 1;
        truth.bytes += 8192;
        truth.issued += 2;
        truth.completed += 1;
        truth.requeued += 1;
        truth.service += done - issued;
        truth.service_from_last += done - last;
    })
}

/// Done in two parts.
fn in_parts(t: &mut Trace, sector: u64, pid: u32) -> End {
    t.event(1, QUEUE | READ, (sector, 16384), pid);
    let issued = t.event(7, ISSUE | FS | READ, (sector, 16384), pid);
    Box::new(move |t| {
        t.event(8, COMPLETE | FS | READ, (sector, 4096), 0);
        let done = t.event(8, COMPLETE | FS | READ, (sector + 8, 12288), 0);
        let truth = t.truth("read");
        truth.requests += 1;
        truth.bytes += 16384;
        truth.issued += 1;
        truth.completed += 2;
        truth.service += done - issued;
        truth.service_from_last += done - issued;
    })
}
