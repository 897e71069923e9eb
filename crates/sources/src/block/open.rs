//! Requests that are not done yet, found by where they begin and end.

use super::asks::Asks;
use super::event::Event;
use hashbrown::{DefaultHashBuilder, HashTable};
use record::{Device, NameId, Operation, Origin, When};
use std::hash::BuildHasher;

/// A sector has 512 bytes, whatever the device's own are.
pub(super) const SECTOR_BYTES: u64 = 512;

/// A request, or a piece that is to become one or a part of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub device: Device,
    pub operation: Operation,
    pub asks: Asks,
    /// Where what is left of it begins.
    pub sector: u64,
    /// What is left of it.
    pub bytes: u64,
    /// What is done of it, before `sector`.
    pub done: u64,
    pub queued: When,
    pub issued: When,
    pub reissued: When,
    /// Taken back, and not issued since.
    pub requeued: bool,
    pub merged: u32,
    pub pid: Option<u32>,
    pub task: Option<NameId>,
    pub origin: Origin,
    /// Counts up: which of two came first.
    pub order: u64,
}

impl Open {
    /// A request that `event` is the first evidence of.
    pub(super) fn of(event: &Event, order: u64) -> Self {
        Self {
            device: event.device,
            operation: event.asks.operation(event.bytes),
            asks: event.asks,
            sector: event.sector,
            bytes: event.bytes,
            done: 0,
            queued: When::UNKNOWN,
            issued: When::UNKNOWN,
            reissued: When::UNKNOWN,
            requeued: false,
            merged: 0,
            pid: event.pid,
            task: event.task,
            origin: event.origin,
            order,
        }
    }

    /// The sector behind it.
    pub(super) fn end(&self) -> u64 {
        self.sector.saturating_add(self.bytes / SECTOR_BYTES)
    }

    /// Takes in a piece that was merged into this.
    pub(super) fn absorb(&mut self, piece: &Self) {
        self.merged = self.merged.saturating_add(1).saturating_add(piece.merged);
        if let Some(queued) = piece.queued.get()
            && self.queued.get().is_none_or(|q| queued < q)
        {
            self.queued = queued.into();
            (self.pid, self.task) = (piece.pid, piece.task);
        }
        self.asks.sync |= piece.asks.sync;
        self.asks.read_ahead &= piece.asks.read_ahead;
    }

    /// Whether the device has it.
    pub(super) fn is_issued(&self) -> bool {
        self.issued != When::UNKNOWN && !self.requeued
    }
}

/// Where one is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(u32);

/// The requests that are not done, in slots that are used again.
#[derive(Debug, Default)]
pub(super) struct OpenRequests {
    slots: Vec<Option<Open>>,
    free: Vec<u32>,
    begins: HashTable<u32>,
    ends: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl OpenRequests {
    pub(super) fn len(&self) -> usize {
        self.begins.len()
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Open> {
        self.slots.get(slot.0 as usize)?.as_ref()
    }

    /// To change anything but where it begins and ends.
    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut Open> {
        self.slots.get_mut(slot.0 as usize)?.as_mut()
    }

    /// The one that begins at `sector` and that `rank` ranks lowest; `rank`
    /// gives `None` for those that do not fit at all.
    pub(super) fn beginning_at<R: Ord>(
        &self,
        device: Device,
        sector: u64,
        rank: impl Fn(&Open) -> Option<R>,
    ) -> Option<Slot> {
        let at = |o: &Open| o.sector == sector && o.device == device;
        self.best(&self.begins, (device, sector), |o| {
            at(o).then(|| rank(o)).flatten()
        })
    }

    /// The one that ends before `sector` and that `rank` ranks lowest.
    pub(super) fn ending_at<R: Ord>(
        &self,
        device: Device,
        sector: u64,
        rank: impl Fn(&Open) -> Option<R>,
    ) -> Option<Slot> {
        let at = |o: &Open| o.end() == sector && o.device == device;
        self.best(&self.ends, (device, sector), |o| {
            at(o).then(|| rank(o)).flatten()
        })
    }

    fn best<R: Ord>(
        &self,
        table: &HashTable<u32>,
        key: (Device, u64),
        rank: impl Fn(&Open) -> Option<R>,
    ) -> Option<Slot> {
        let mut best: Option<(R, u32)> = None;
        for &slot in table.iter_hash(self.hash(key)) {
            let Some(Some(open)) = self.slots.get(slot as usize) else {
                continue;
            };
            if let Some(rank) = rank(open)
                && best.as_ref().is_none_or(|b| rank < b.0)
            {
                best = Some((rank, slot));
            }
        }
        best.map(|b| Slot(b.1))
    }

    pub(super) fn insert(&mut self, open: Open) -> Slot {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                let slot = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
                self.slots.push(None);
                slot
            }
        };
        let (begin, end) = self.hashes(&open);
        if let Some(place) = self.slots.get_mut(slot as usize) {
            *place = Some(open);
        }
        let (slots, hasher) = (&self.slots, &self.hasher);
        self.begins
            .insert_unique(begin, slot, |s| hash_in(slots, hasher, *s, |o| o.sector));
        self.ends
            .insert_unique(end, slot, |s| hash_in(slots, hasher, *s, Open::end));
        Slot(slot)
    }

    /// Takes a piece into the one before it, which ends where the piece does then.
    pub(super) fn append(&mut self, slot: Slot, piece: &Open) {
        let Some(Some(whole)) = self.slots.get_mut(slot.0 as usize) else {
            return;
        };
        let before = (whole.device, whole.end());
        whole.bytes = whole.bytes.saturating_add(piece.bytes);
        whole.absorb(piece);
        let after = (whole.device, whole.end());
        let (before, after) = (self.hash(before), self.hash(after));
        if let Ok(entry) = self.ends.find_entry(before, |s| *s == slot.0) {
            entry.remove();
        }
        let (slots, hasher) = (&self.slots, &self.hasher);
        self.ends
            .insert_unique(after, slot.0, |s| hash_in(slots, hasher, *s, Open::end));
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Option<Open> {
        let open = self.slots.get_mut(slot.0 as usize)?.take()?;
        let (begin, end) = self.hashes(&open);
        for (table, hash) in [(&mut self.begins, begin), (&mut self.ends, end)] {
            if let Ok(entry) = table.find_entry(hash, |s| *s == slot.0) {
                entry.remove();
            }
        }
        self.free.push(slot.0);
        Some(open)
    }

    /// Takes out all that were there before the `order`th, the first one first.
    pub(super) fn remove_before(&mut self, order: u64) -> Vec<Open> {
        let old = |(slot, open): (usize, &Option<Open>)| {
            let is_old = open.as_ref().is_some_and(|o| o.order < order);
            is_old.then(|| u32::try_from(slot).ok()).flatten()
        };
        let old: Vec<u32> = self.slots.iter().enumerate().filter_map(old).collect();
        let removed = old.into_iter().filter_map(|s| self.remove(Slot(s)));
        let mut removed: Vec<Open> = removed.collect();
        removed.sort_unstable_by_key(|o| o.order);
        removed
    }

    /// The order of the middle one in age, so that half of them are before it.
    pub(super) fn middle_order(&self) -> u64 {
        let mut orders: Vec<u64> = self.slots.iter().flatten().map(|o| o.order).collect();
        let middle = orders.len() / 2;
        if orders.is_empty() {
            return 0;
        }
        *orders.select_nth_unstable(middle).1
    }

    fn hashes(&self, open: &Open) -> (u64, u64) {
        let begin = self.hash((open.device, open.sector));
        (begin, self.hash((open.device, open.end())))
    }

    #[inline]
    fn hash(&self, (device, sector): (Device, u64)) -> u64 {
        hash(&self.hasher, device, sector)
    }
}

/// The hash of a place on a device: of two numbers, which is cheaper than of three.
#[inline]
fn hash(hasher: &DefaultHashBuilder, device: Device, sector: u64) -> u64 {
    let device = u64::from(device.major) << 32 | u64::from(device.minor);
    hasher.hash_one((device, sector))
}

/// The hash of what is kept in a slot, by where it begins or ends.
fn hash_in(
    slots: &[Option<Open>],
    hasher: &DefaultHashBuilder,
    slot: u32,
    sector: impl Fn(&Open) -> u64,
) -> u64 {
    let open = slots.get(slot as usize).and_then(Option::as_ref);
    open.map_or(0, |o| hash(hasher, o.device, sector(o)))
}
