//! What becomes of requests between whoever asks and the device: the kernel's queue.
//!
//! The rules are those of Linux 6.1 for the scheduler of all profiles, `mq-deadline`, and
//! a device with one queue: a request of the usual priority goes to the device at once,
//! which takes what came first, however long that is; one of the idle priority waits until
//! none of the usual priority is queued or in the device (`dd_dispatch_request` and
//! `dd_queued` of `block/mq-deadline.c`). Those that wait go on in the order of their
//! places, in batches that begin with the oldest (`fifo_batch`), and grow by neighbours
//! (`elv_merge`). Who asks for more than `nr_requests` waits until one is done.

use super::plan::Costs;
use crate::device::{Device, Kind, Request};
use crate::figures::{Model, Storage};
use crate::page_cache::{MOST_REQUEST_BYTES, PAGE};

/// `fifo_batch` of `block/mq-deadline.c`.
const BATCH: usize = 16;

/// A request that is not at the device yet.
struct Waiting {
    number: usize,
    request: Request,
}

/// A request in the device.
struct Flying {
    end: u64,
    is_idle: bool,
}

/// Processor time that goes into a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Work {
    /// When it is due.
    at: u64,
    /// What a program that works meanwhile loses.
    busy: u64,
    /// What is left of it for who waits until `at`.
    left: u64,
}

/// The queue of a device, and the device.
pub(super) struct Queue {
    device: Device,
    costs: Costs,
    /// What the server gives back of a request, and of each KiB of it.
    given_back: (u64, u64),
    most: usize,
    has_server: bool,
    waiting: Vec<Waiting>,
    flying: Vec<Flying>,
    /// By the numbers of requests, when they end; `None`: they wait.
    ends: Vec<Option<u64>>,
    /// The last time at which the device got a request: it takes none of the past.
    last: u64,
    work: Vec<Work>,
}

impl Queue {
    /// The queue of a device of `size` bytes; `figures` as they are served.
    pub fn new(figures: &Storage, size: u64, costs: Costs) -> Self {
        Self {
            device: Device::new(figures.clone(), size),
            costs,
            given_back: (figures.own_request_ns, figures.own_kib_ns),
            most: (figures.nr_requests as usize).max(1),
            has_server: figures.model != Model::None,
            waiting: Vec::new(),
            flying: Vec::new(),
            ends: Vec::new(),
            last: 0,
            work: Vec::new(),
        }
    }

    /// How many requests came in.
    pub fn requests(&self) -> u64 {
        self.ends.len() as u64
    }

    /// When a request ends; `None`: it waits behind others, of which no end is known.
    pub fn end(&self, number: u64) -> Option<u64> {
        let number = usize::try_from(number).ok()?;
        self.ends.get(number).copied().flatten()
    }

    /// When the next request in the device ends.
    pub fn next_end(&self) -> Option<u64> {
        self.flying.iter().map(|f| f.end).min()
    }

    /// Asks for bytes at `at`; gives the request's number, and when whoever asked
    /// can go on.
    pub fn ask(&mut self, at: u64, request: Request, is_idle: bool) -> (u64, u64) {
        let mut at = at.max(self.last);
        self.advance(at);
        if is_idle && let Some(number) = self.merged(request) {
            return (number, at);
        }
        while self.flying.len() + self.waiting.len() >= self.most {
            let Some(end) = self.next_end() else { break };
            at = at.max(end);
            self.advance(at);
        }
        let number = self.ends.len();
        self.ends.push(None);
        match is_idle && self.is_held() {
            true => self.waiting.push(Waiting { number, request }),
            false => self.dispatch(at, number, request, is_idle),
        }
        (number as u64, at)
    }

    /// Whether idle requests wait.
    fn is_held(&self) -> bool {
        !self.waiting.is_empty() || self.flying.iter().any(|f| !f.is_idle)
    }

    /// The waiting request that grows by this one, if there is one.
    fn merged(&mut self, more: Request) -> Option<u64> {
        let grows = |w: &&mut Waiting| {
            let r = w.request;
            r.kind == more.kind
                && r.at + r.bytes == more.at
                && r.bytes + more.bytes <= MOST_REQUEST_BYTES
        };
        let waiting = self.waiting.iter_mut().find(grows)?;
        waiting.request.bytes += more.bytes;
        Some(waiting.number as u64)
    }

    fn dispatch(&mut self, at: u64, number: usize, request: Request, is_idle: bool) {
        self.last = self.last.max(at);
        let end = self.device.submit(self.last, request);
        let end = self.device.answered(end, request).max(self.last);
        if let Some(place) = self.ends.get_mut(number) {
            *place = Some(end);
        }
        self.flying.push(Flying { end, is_idle });
        let busy = self.costs.of(request.bytes);
        if busy > 0 && self.has_server {
            let (request_ns, kib_ns) = self.given_back;
            let left = match request.kind {
                Kind::Read => request_ns + (request.bytes >> 10) * kib_ns,
                Kind::Write | Kind::Flush => 0,
            };
            self.work.push(Work {
                at: end,
                busy,
                left,
            });
        }
    }

    /// Goes on until `until`: what is done by then lets go on what waited.
    pub fn advance(&mut self, until: u64) {
        loop {
            if !self.flying.iter().any(|f| !f.is_idle) {
                let now = self.last;
                self.dispatch_waiting(now);
            }
            let next = self.flying.iter().enumerate().min_by_key(|(_, f)| f.end);
            let Some((place, end)) = next.map(|(n, f)| (n, f.end)) else {
                break;
            };
            if end > until {
                break;
            }
            self.flying.swap_remove(place);
            self.last = self.last.max(end);
        }
    }

    fn dispatch_waiting(&mut self, now: u64) {
        while !self.waiting.is_empty() {
            // The oldest, and those behind it in the order of their places.
            let mut place = 0;
            for _ in 0..BATCH {
                let next = self.waiting.remove(place);
                let behind = next.request.at + next.request.bytes;
                self.dispatch(now, next.number, next.request, true);
                let places = self.waiting.iter().enumerate();
                let ahead = places.filter(|(_, w)| w.request.at >= behind);
                match ahead.min_by_key(|(_, w)| w.request.at) {
                    Some((n, _)) => place = n,
                    None => break,
                }
            }
        }
    }

    /// Something else takes `length` of the processor at `at`.
    pub fn take(&mut self, at: u64, length: u64) {
        if length > 0 {
            self.work.push(Work {
                at,
                busy: length,
                left: 0,
            });
        }
    }

    /// The processor time until `until` that a program loses that works then.
    pub fn lost(&mut self, until: u64) -> u64 {
        let done = self.work.iter().filter(|w| w.at <= until);
        let time = done.map(|w| w.busy).sum();
        self.work.retain(|w| w.at > until);
        time
    }

    /// Nobody works from `now` to `until`, but for what is due: when that is done.
    pub fn idle(&mut self, now: u64, until: u64) -> u64 {
        self.work.sort_unstable_by_key(|w| w.at);
        let due = self.work.partition_point(|w| w.at <= until);
        let due = self.work.drain(..due);
        let free = due.fold(now, |free, w| free.max(w.at).saturating_add(w.left));
        free.max(until)
    }
}

/// A read.
pub(super) const fn read(at: u64, bytes: u64) -> Request {
    Request {
        kind: Kind::Read,
        at,
        bytes,
    }
}

/// How many pages so many bytes are.
pub(super) const fn pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE)
}
