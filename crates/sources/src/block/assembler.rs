//! From events to requests.

use super::event::{Action, Event};
use super::notes::{
    COMPLETED_ONLY, FAILED, FLUSH_ENDED, ISSUED_AGAIN, NEVER_COMPLETED, OWN_DEVICE, REQUEUED,
    TIME_DISORDER, TOO_MANY_DEVICES, TOO_MANY_OPEN,
};
use super::open::{Open, OpenRequests, SECTOR_BYTES, Slot};
use hashbrown::HashMap;
use record::{ClockId, Device, Nanos, NoteKind, Operation, Recorder, Request, RequestEvents, When};

/// How many requests may be open at one time. A busy machine has some
/// thousands; more means that completions are missing.
const MOST_OPEN: usize = 1 << 16;

/// How many devices a trace may name.
const MOST_DEVICES: usize = 4096;

/// After so many issues without one completion, completions are not traced:
/// the same sectors issued again are then another request.
const MOST_ISSUES_WITHOUT_COMPLETION: u32 = 4096;

/// Makes requests of events. Memory stays bounded whatever comes.
///
/// Events of all processors go through one assembler in the order of their
/// times: a request can be issued on one processor and end on another.
#[derive(Debug)]
pub(crate) struct Assembler {
    clock: ClockId,
    open: OpenRequests,
    /// Counts requests up.
    order: u64,
    devices: Vec<OfDevice>,
    device_places: HashMap<Device, usize>,
    /// The place of the last event's device.
    last_device: usize,
    last_at: i64,
}

/// What is kept of a device.
#[derive(Debug)]
struct OfDevice {
    device: Device,
    events: [RequestEvents; Operation::ALL.len()],
    issues_without_completion: u32,
}

impl Assembler {
    /// For events whose times are on `clock`.
    pub(crate) fn new(clock: ClockId) -> Self {
        Self {
            clock,
            open: OpenRequests::default(),
            order: 0,
            devices: Vec::new(),
            device_places: HashMap::new(),
            last_device: 0,
            last_at: i64::MIN,
        }
    }

    /// Takes one event. Gives the kind of note that it belongs under if no
    /// request is made of it; the caller counts it.
    pub(crate) fn event(
        &mut self,
        event: &Event,
        recorder: &mut Recorder,
    ) -> Option<&'static NoteKind> {
        if event.at < self.last_at {
            recorder.note(event.origin, &TIME_DISORDER, String::new);
        }
        self.last_at = self.last_at.max(event.at);
        if let Some(kind) = event.action.passed_over() {
            return Some(kind);
        }
        if recorder.passes_over(event.device) {
            return Some(&OWN_DEVICE);
        }
        let operation = event.asks.operation(event.bytes);
        // A flush is of the whole device. Events give it the sector 0, or the
        // largest one.
        let flush;
        let event = match operation {
            Operation::Flush => {
                flush = Event {
                    sector: 0,
                    ..*event
                };
                &flush
            }
            _ => event,
        };
        let Some(of_device) = self.of_device(event.device) else {
            return Some(&TOO_MANY_DEVICES);
        };
        if let Some(events) = of_device.events.get_mut(operation as usize) {
            let tally = match event.action {
                Action::Queue => Some(&mut events.queued),
                Action::BackMerge | Action::FrontMerge => Some(&mut events.merged),
                Action::Issue => Some(&mut events.issued),
                Action::Requeue => Some(&mut events.requeued),
                Action::Complete => Some(&mut events.completed),
                _ => None,
            };
            if let Some(tally) = tally {
                tally.count += 1;
                tally.bytes = tally.bytes.saturating_add(event.bytes);
            }
        }
        match event.action {
            Action::Issue => {
                of_device.issues_without_completion =
                    of_device.issues_without_completion.saturating_add(1);
            }
            Action::Complete => of_device.issues_without_completion = 0,
            _ => {}
        }
        match event.action {
            Action::Queue => self.queue(event, recorder),
            Action::BackMerge => self.back_merge(event, recorder),
            Action::FrontMerge => self.front_merge(event, recorder),
            Action::Split { at } => self.split(event, at, recorder),
            Action::Insert => {
                self.request(event, operation, recorder);
            }
            Action::Issue => self.issue(event, operation, recorder),
            Action::Requeue => self.requeue(event, operation, recorder),
            Action::Complete => return self.complete(event, operation, recorder),
            _ => {}
        }
        None
    }

    /// After the last event: what is still open was never completed.
    pub(crate) fn finish(mut self, recorder: &mut Recorder) {
        for open in self.open.remove_before(u64::MAX) {
            self.abandon(&open, &NEVER_COMPLETED, recorder);
        }
        for of_device in &self.devices {
            for (operation, events) in Operation::ALL.into_iter().zip(of_device.events) {
                recorder.request_events(of_device.device, operation, &events);
            }
        }
    }

    fn of_device(&mut self, device: Device) -> Option<&mut OfDevice> {
        let is_last = |d: &OfDevice| d.device == device;
        if !self.devices.get(self.last_device).is_some_and(is_last) {
            self.last_device = match self.device_places.get(&device) {
                Some(&place) => place,
                None if self.devices.len() >= MOST_DEVICES => return None,
                None => {
                    let place = self.devices.len();
                    self.devices.push(OfDevice {
                        device,
                        events: Default::default(),
                        issues_without_completion: 0,
                    });
                    self.device_places.insert(device, place);
                    place
                }
            };
        }
        self.devices.get_mut(self.last_device)
    }

    fn queue(&mut self, event: &Event, recorder: &mut Recorder) {
        let mut open = self.new_open(event, recorder);
        open.queued = Nanos(event.at).into();
        self.open.insert(open);
    }

    fn new_open(&mut self, event: &Event, recorder: &mut Recorder) -> Open {
        self.make_room(recorder);
        self.order += 1;
        Open::of(event, self.order)
    }

    /// The older half of the requests makes room for new ones, where needed.
    fn make_room(&mut self, recorder: &mut Recorder) {
        if self.open.len() < MOST_OPEN {
            return;
        }
        let middle = self.open.middle_order();
        for open in self.open.remove_before(middle) {
            self.abandon(&open, &TOO_MANY_OPEN, recorder);
        }
    }

    /// The oldest piece that begins at `sector` and is not with the device.
    fn waiting_at(&self, device: Device, sector: u64, operation: Operation) -> Option<Slot> {
        self.open.beginning_at(device, sector, |o| {
            (o.operation == operation && !o.is_issued()).then_some(o.order)
        })
    }

    /// The piece that a merge event is about, off the list. Of equal ones the
    /// last: it is merged right after it was queued.
    fn merged_piece(&mut self, event: &Event, recorder: &mut Recorder) -> Open {
        let operation = event.asks.operation(event.bytes);
        let slot = self.open.beginning_at(event.device, event.sector, |o| {
            let fits = o.operation == operation && !o.is_issued() && o.bytes == event.bytes;
            fits.then_some(u64::MAX - o.order)
        });
        let known = slot.and_then(|s| self.open.remove(s));
        known.unwrap_or_else(|| self.new_open(event, recorder))
    }

    fn back_merge(&mut self, event: &Event, recorder: &mut Recorder) {
        let piece = self.merged_piece(event, recorder);
        // A request can have gone to the device and come back unannounced.
        let slot = self.open.ending_at(piece.device, piece.sector, |o| {
            (o.operation == piece.operation).then_some((o.is_issued(), u64::MAX - o.order))
        });
        match slot {
            Some(slot) => self.open.append(slot, &piece),
            None => {
                self.open.insert(piece);
            }
        }
    }

    fn front_merge(&mut self, event: &Event, recorder: &mut Recorder) {
        let piece = self.merged_piece(event, recorder);
        let slot = self.open.beginning_at(piece.device, piece.end(), |o| {
            (o.operation == piece.operation).then_some((o.is_issued(), u64::MAX - o.order))
        });
        let Some(mut whole) = slot.and_then(|s| self.open.remove(s)) else {
            self.open.insert(piece);
            return;
        };
        whole.sector = piece.sector;
        whole.bytes = whole.bytes.saturating_add(piece.bytes);
        whole.absorb(&piece);
        self.open.insert(whole);
    }

    fn split(&mut self, event: &Event, at: u64, recorder: &mut Recorder) {
        // The kernel passes the sector on as 32 bits; it is the next one that
        // ends in these.
        let at = if at <= event.sector && at <= u64::from(u32::MAX) {
            event
                .sector
                .saturating_add(u64::from((at as u32).wrapping_sub(event.sector as u32)))
        } else {
            at
        };
        let operation = event.asks.operation(event.bytes);
        if let Some(slot) = self.waiting_at(event.device, event.sector, operation) {
            self.cut(slot, at, recorder);
        }
    }

    /// Cuts a piece at a sector; gives the first half, or all if the sector
    /// does not lie within.
    fn cut(&mut self, slot: Slot, at: u64, recorder: &mut Recorder) -> Slot {
        self.make_room(recorder);
        let within = |o: &Open| at > o.sector && at < o.end();
        if !self.open.get(slot).is_some_and(within) {
            return slot;
        }
        let Some(open) = self.open.remove(slot) else {
            return slot;
        };
        let first = (at - open.sector).saturating_mul(SECTOR_BYTES);
        self.order += 1;
        self.open.insert(Open {
            sector: at,
            bytes: open.bytes.saturating_sub(first),
            merged: 0,
            order: self.order,
            ..open
        });
        self.open.insert(Open {
            bytes: first,
            ..open
        })
    }

    /// The request that an event is about, which names all of it. What was
    /// merged or split unseen is put right.
    fn request(&mut self, event: &Event, operation: Operation, recorder: &mut Recorder) -> Slot {
        if let Some(slot) = self.waiting_at(event.device, event.sector, operation) {
            let sectors = event.bytes / SECTOR_BYTES;
            let end = event.sector.saturating_add(sectors);
            return match self.open.get(slot) {
                Some(open) if end < open.end() && sectors > 0 => self.cut(slot, end, recorder),
                Some(open) if open.bytes < event.bytes => self.join(slot, event.bytes),
                _ => slot,
            };
        }
        let issued = self.open.beginning_at(event.device, event.sector, |o| {
            (o.operation == operation && o.is_issued()).then_some(o.order)
        });
        if let Some(slot) = issued {
            let untraced = self
                .of_device(event.device)
                .is_some_and(|d| d.issues_without_completion > MOST_ISSUES_WITHOUT_COMPLETION);
            if !untraced {
                return slot;
            }
            if let Some(open) = self.open.remove(slot) {
                self.abandon(&open, &NEVER_COMPLETED, recorder);
            }
        }
        let open = self.new_open(event, recorder);
        self.open.insert(open)
    }

    /// Joins a piece with those behind it, up to a length.
    fn join(&mut self, slot: Slot, bytes: u64) -> Slot {
        let Some(mut whole) = self.open.remove(slot) else {
            return slot;
        };
        while whole.bytes < bytes {
            let next = self.waiting_at(whole.device, whole.end(), whole.operation);
            let Some(piece) = next.and_then(|s| self.open.remove(s)) else {
                break;
            };
            whole.bytes = whole.bytes.saturating_add(piece.bytes);
            whole.absorb(&piece);
        }
        whole.bytes = bytes;
        self.open.insert(whole)
    }

    fn issue(&mut self, event: &Event, operation: Operation, recorder: &mut Recorder) {
        let slot = self.request(event, operation, recorder);
        let Some(open) = self.open.get_mut(slot) else {
            return;
        };
        if open.issued == When::UNKNOWN {
            open.issued = Nanos(event.at).into();
            return;
        }
        open.reissued = Nanos(event.at).into();
        if !open.requeued {
            recorder.note(event.origin, &ISSUED_AGAIN, || {
                format!("sector {} on {}", event.sector, event.device)
            });
        }
        open.requeued = false;
    }

    fn requeue(&mut self, event: &Event, operation: Operation, recorder: &mut Recorder) {
        recorder.note(event.origin, &REQUEUED, String::new);
        let issued = self.open.beginning_at(event.device, event.sector, |o| {
            (o.operation == operation && o.is_issued()).then_some(o.order)
        });
        if let Some(open) = issued.and_then(|s| self.open.get_mut(s)) {
            open.requeued = true;
        }
    }

    fn complete(
        &mut self,
        event: &Event,
        operation: Operation,
        recorder: &mut Recorder,
    ) -> Option<&'static NoteKind> {
        let rank = |o: &Open| (o.operation == operation).then_some((!o.is_issued(), o.order));
        let slot = self.open.beginning_at(event.device, event.sector, rank);
        let moves_data = matches!(operation, Operation::Read | Operation::Write);
        if event.bytes == 0 && moves_data && !(slot.is_some() && event.error != 0) {
            // Who asked for a flush only is told that it is done.
            let flush = self.waiting_at(event.device, 0, Operation::Flush);
            let Some(open) = flush.and_then(|s| self.open.remove(s)) else {
                return Some(&FLUSH_ENDED);
            };
            self.record(&open, Some(event), recorder);
            return None;
        }
        let Some(mut open) = slot.and_then(|s| self.open.remove(s)) else {
            let open = self.new_open(event, recorder);
            recorder.note(event.origin, &COMPLETED_ONLY, || {
                format!("sector {} on {}", event.sector, event.device)
            });
            self.record(&open, Some(event), recorder);
            return None;
        };
        let left = open.bytes.saturating_sub(event.bytes);
        if left > 0 && event.bytes >= SECTOR_BYTES && event.error == 0 {
            // Done in part: the rest begins where this ends.
            open.done = open.done.saturating_add(event.bytes);
            open.sector = open.sector.saturating_add(event.bytes / SECTOR_BYTES);
            open.bytes = left;
            self.open.insert(open);
            return None;
        }
        open.bytes = open.bytes.max(event.bytes);
        self.record(&open, Some(event), recorder);
        None
    }

    /// Records a request that was not seen to end.
    fn abandon(&self, open: &Open, kind: &NoteKind, recorder: &mut Recorder) {
        recorder.note(open.origin, kind, || {
            format!("sector {} on {}", open.sector, open.device)
        });
        self.record(open, None, recorder);
    }

    fn record(&self, open: &Open, completion: Option<&Event>, recorder: &mut Recorder) {
        if let Some(failed) = completion.filter(|c| c.error != 0) {
            recorder.note(failed.origin, &FAILED, || {
                format!(
                    "first: sector {} on {}, error {}",
                    open.sector, open.device, failed.error
                )
            });
        }
        recorder.request(Request {
            device: open.device,
            operation: open.operation,
            sector: open.sector.saturating_sub(open.done / SECTOR_BYTES),
            bytes: open.done.saturating_add(open.bytes),
            queued: open.queued,
            issued: open.issued,
            reissued: open.reissued,
            completed: completion.map(|c| Nanos(c.at)).into(),
            merged: open.merged,
            read_ahead: open.asks.read_ahead,
            metadata: open.asks.metadata,
            sync: open.asks.sync,
            error: completion.map_or(0, |c| c.error),
            pid: open.pid,
            task: open.task,
            origin: open.origin,
            clock: self.clock,
        });
    }
}
