//! The replay of an xfs log (`fs/xfs/xfs_log_recover.c`): the records are read by passes
//! that check them, then by one that looks for what was cancelled and by one that carries
//! them out: each buffer and each group of inodes that they name is read once, changed,
//! and written back with the transactions of one record.
//!
//! What a log asks for that needs more than that, extents to be freed and files that were
//! removed while open, is not looked at. Nor is what the filesystem had written back
//! already, which the replay leaves as it is.

use super::plan::{Plan, Step};
use crate::Error;
use rawimage::Part;
use rawimage::bytes::{be32, be64, le16, le32, le64};
use std::collections::{BTreeMap, BTreeSet};

/// The log's unit, bytes.
pub(super) const BASIC: u64 = 512;
/// A record of the log begins with it.
pub(super) const RECORD_MAGIC: u32 = 0xfeed_babe;
/// A header of so many bytes stands for a record of up to so many
/// (`XLOG_HEADER_CYCLE_SIZE`).
const HEADER_COVERS: u64 = 32 << 10;
/// So many records can have been under way at the power cut (`XLOG_MAX_ICLOGS`).
const UNDER_WAY: u32 = 8;
/// So many items of a transaction are read ahead (`XLOG_RECOVER_COMMIT_QUEUE_MAX`).
const AHEAD: usize = 100;
/// One request moves no more, as the lab sets it (`max_sectors_kb`).
pub(super) const REQUEST: u64 = 512 << 10;
/// Longer logs are not followed: 2 GiB, the most that xfs makes.
const MOST_UNITS: u64 = 4 << 20;

/// Bits of an operation's flags.
mod op {
    pub const START: u8 = 0x01;
    pub const COMMIT: u8 = 0x02;
    pub const WAS_CONTINUED: u8 = 0x08;
}

/// Kinds of items.
mod item {
    pub const INODE: u16 = 0x123b;
    pub const BUFFER: u16 = 0x123c;
    pub const NEW_INODES: u16 = 0x123f;
}

/// The buffer does not count any more (`XFS_BLF_CANCEL`).
const CANCEL: u16 = 2;
/// The first region of a transaction, `TRAN` in the host's order.
const TRANSACTION: u32 = 0x5452_414e;

/// What a KiB of the log costs in each pass, its checksum: two instructions a byte, about
/// what the kernel's table of CRC-32C takes. Not fitted.
const CHECKED_KIB: u64 = 2_000;
/// What an item costs that is carried out: as a block of ext4's journal. Not fitted.
const ITEM: u64 = 5_000;

/// A log whose head is known.
#[derive(Clone, Copy)]
pub(super) struct Log<'a> {
    pub volume: &'a Part<'a>,
    /// Where it begins, bytes, and how long it is, in its units.
    pub at: u64,
    pub units: u64,
    /// The unit behind the last record, and that of the last record.
    pub head: u64,
    pub last: u64,
    /// The bytes of an allocation group and of a block.
    pub group: u64,
    pub block: u64,
    /// The bytes of what inodes are read and written by.
    pub cluster: u64,
}

/// A record.
struct Record {
    unit: u64,
    lsn: u64,
    body: u64,
    operations: u32,
}

/// A place on the volume and its length, bytes.
type Place = (u64, u64);

/// Something that a transaction changes.
#[derive(Clone, Copy)]
enum Change {
    Buffer(Place),
    Cancelled(Place),
    Inode(Place),
    /// New inodes, which are not read before, and how many bytes one request writes of
    /// them.
    New(Place, u64),
}

/// A transaction, as far as it was read.
#[derive(Default)]
struct Transaction {
    lsn: u64,
    /// The first region tells what it is.
    is_begun: bool,
    /// Regions that the item still has.
    regions: u16,
    changes: Vec<Change>,
}

impl Log<'_> {
    fn place(&self, unit: u64) -> u64 {
        self.at
            .saturating_add((unit % self.units).saturating_mul(BASIC))
    }

    /// How far it is from one unit on to another.
    fn distance(&self, from: u64, to: u64) -> u64 {
        (to + self.units - from % self.units) % self.units
    }

    fn is_record(&self, unit: u64) -> Result<bool, Error> {
        Ok(be32(&self.volume.read(self.place(unit), 4)?, 0) == Some(RECORD_MAGIC))
    }

    /// Where the replay begins, as the last record says.
    fn tail(&self) -> Result<Option<u64>, Error> {
        if self.units > MOST_UNITS || self.units == 0 {
            return Ok(None);
        }
        let header = self.volume.read(self.place(self.last), 32)?;
        let unit = be64(&header, 24).unwrap_or(0) & 0xffff_ffff;
        let is_there = unit < self.units && self.is_record(unit)?;
        Ok(is_there.then_some(unit))
    }

    /// How many units lie between the head and where the replay begins.
    pub(super) fn free(&self) -> Result<u64, Error> {
        let between = self.tail()?.map(|tail| self.distance(self.head, tail));
        Ok(between.filter(|n| *n > 0).unwrap_or(self.units))
    }

    /// The units of a record's header.
    fn header_units(&self, tail: u64) -> Result<u64, Error> {
        let header = self.volume.read(self.place(tail), BASIC as usize)?;
        let size = u64::from(be32(&header, 320).unwrap_or(0));
        Ok(size.div_ceil(HEADER_COVERS).clamp(1, 8))
    }

    /// The records from `from` to the head; `None`: one is not there.
    fn records(&self, from: u64, header: u64) -> Result<Option<Vec<Record>>, Error> {
        let mut found = Vec::new();
        let (mut unit, mut left) = (from, self.distance(from, self.head));
        while left > 0 {
            let bytes = self.volume.read(self.place(unit), 64)?;
            let n32 = |at| be32(&bytes, at).unwrap_or(0);
            let body = u64::from(n32(12)).div_ceil(BASIC);
            if n32(0) != RECORD_MAGIC || header + body > left {
                return Ok(None);
            }
            found.push(Record {
                unit,
                lsn: be64(&bytes, 16).unwrap_or(0),
                body,
                operations: n32(40),
            });
            left -= header + body;
            unit = (unit + header + body) % self.units;
        }
        Ok(Some(found))
    }

    /// Where the replay begins, the units of a header, and the records from there to the
    /// head; `None`: the log is not as it should be.
    fn all(&self) -> Result<Option<(u64, u64, Vec<Record>)>, Error> {
        let Some(tail) = self.tail()? else {
            return Ok(None);
        };
        let header = self.header_units(tail)?;
        let records = self.records(tail, header)?;
        Ok(records.map(|records| (tail, header, records)))
    }

    /// Reads `count` units; twice, where the log ends in between.
    fn read(&self, unit: u64, count: u64, plan: &mut Plan) {
        let unit = unit % self.units;
        let first = count.min(self.units - unit);
        for (unit, count) in [(unit, first), (0, count - first)] {
            if count > 0 {
                plan.read(self.place(unit), count * BASIC);
            }
        }
    }

    /// What each pass reads of a record.
    fn read_record(&self, record: &Record, header: u64, plan: &mut Plan) {
        self.read(record.unit, header, plan);
        self.read(record.unit + header, record.body, plan);
        plan.work(record.body * CHECKED_KIB * BASIC / 1024);
    }

    fn pass(&self, records: &[Record], header: u64, plan: &mut Plan) {
        if let Some(first) = records.first() {
            self.read(first.unit, 1, plan);
        }
        for record in records {
            self.read_record(record, header, plan);
        }
    }

    /// Adds the check of the records before anything is carried out
    /// (`xlog_verify_head`). Whether they are all there.
    pub(super) fn check(&self, plan: &mut Plan) -> Result<bool, Error> {
        let Some((tail, header, records)) = self.all()? else {
            return Ok(false);
        };
        // Backwards, unit by unit, over the last records.
        let (mut found, mut begin) = (0, self.last);
        for back in 1..=self.distance(tail, self.head) {
            let unit = (self.head + self.units - back) % self.units;
            self.read(unit, 1, plan);
            if self.is_record(unit)? {
                (found, begin) = (found + 1, unit);
                if found == UNDER_WAY {
                    break;
                }
            }
        }
        let from = records.iter().position(|r| r.unit == begin).unwrap_or(0);
        self.pass(records.get(from..).unwrap_or_default(), header, plan);
        self.read(tail, 1, plan);
        self.pass(&records, header, plan);
        Ok(true)
    }

    /// Adds the two passes of the replay, and gives the places that were read or made by
    /// it. `None`: the log is not as it should be.
    pub(super) fn replay(&self, plan: &mut Plan) -> Result<Option<BTreeSet<u64>>, Error> {
        let Some((_, header, records)) = self.all()? else {
            return Ok(None);
        };
        self.pass(&records, header, plan);
        let mut cancelled: BTreeMap<Place, u64> = BTreeMap::new();
        self.follow(&records, header, &mut |event| {
            let Event::Committed(transaction) = event else {
                return;
            };
            for change in &transaction.changes {
                if let Change::Cancelled(place) = change {
                    *cancelled.entry(*place).or_default() += 1;
                }
            }
        })?;
        if let Some(first) = records.first() {
            self.read(first.unit, 1, plan);
        }
        let mut carried = Carried {
            plan,
            cancelled,
            lsn: 0,
            seen: BTreeSet::new(),
            dirty: BTreeMap::new(),
        };
        self.follow(&records, header, &mut |event| match event {
            Event::Read(record) => self.read_record(record, header, carried.plan),
            Event::Committed(transaction) => carried.carry_out(transaction),
        })?;
        carried.write();
        Ok(Some(carried.seen))
    }

    /// The body of a record: the first word of each unit is kept in the header, and the
    /// record's cycle is in its place.
    fn body(&self, record: &Record, header: u64) -> Result<Vec<u8>, Error> {
        let bytes = |unit: u64| self.volume.read(self.place(unit), BASIC as usize);
        let mut words = Vec::new();
        for number in 0..header {
            let own = bytes(record.unit + number)?;
            let begin = if number == 0 { 44 } else { 4 };
            words.extend_from_slice(own.get(begin..begin + 256).unwrap_or_default());
        }
        let mut body = Vec::new();
        for (number, word) in (0..record.body).zip(words.chunks_exact(4)) {
            let mut unit = bytes(record.unit + header + number)?;
            if let Some(first) = unit.get_mut(..4) {
                first.copy_from_slice(word);
            }
            body.extend_from_slice(&unit);
        }
        Ok(body)
    }

    /// Goes through the operations of the records, and says which record they are of and
    /// when a transaction is whole.
    fn follow(
        &self,
        records: &[Record],
        header: u64,
        see: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), Error> {
        let mut open: BTreeMap<u32, Transaction> = BTreeMap::new();
        for record in records {
            see(Event::Read(record));
            let body = self.body(record, header)?;
            let mut rest = body.as_slice();
            for _ in 0..record.operations {
                let (Some(id), Some(length), Some(flags)) =
                    (be32(rest, 0), be32(rest, 4), rest.get(9).copied())
                else {
                    break;
                };
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                let (Some(region), Some(after)) = (
                    rest.get(12..12_usize.saturating_add(length)),
                    rest.get(12_usize.saturating_add(length)..),
                ) else {
                    break;
                };
                rest = after;
                if flags & op::START != 0 {
                    let new = Transaction {
                        lsn: record.lsn,
                        ..Transaction::default()
                    };
                    open.insert(id, new);
                } else if flags & op::COMMIT != 0 {
                    if let Some(transaction) = open.remove(&id) {
                        see(Event::Committed(&transaction));
                    }
                } else if flags & op::WAS_CONTINUED == 0
                    && let Some(transaction) = open.get_mut(&id)
                {
                    self.region(transaction, region);
                }
            }
        }
        Ok(())
    }

    /// Takes a region of a transaction: the first of each item says what it is.
    fn region(&self, transaction: &mut Transaction, region: &[u8]) {
        if region.is_empty() {
            return;
        }
        if !transaction.is_begun {
            transaction.is_begun = true;
            if le32(region, 0) == Some(TRANSACTION) {
                return;
            }
        }
        if transaction.regions > 0 {
            transaction.regions -= 1;
            return;
        }
        let n16 = |at| le16(region, at).unwrap_or(0);
        let units = |count: u64| count.saturating_mul(BASIC);
        transaction.regions = n16(2).saturating_sub(1);
        let place = |at: usize, length: u64| (units(le64(region, at).unwrap_or(0)), units(length));
        let change = match n16(0) {
            item::BUFFER => {
                let place = place(8, u64::from(n16(6)));
                match n16(4) & CANCEL {
                    0 => Change::Buffer(place),
                    _ => Change::Cancelled(place),
                }
            }
            item::INODE => {
                let length = u64::from(le32(region, 48).unwrap_or(0));
                Change::Inode(place(40, length))
            }
            item::NEW_INODES => {
                let n32 = |at| u64::from(be32(region, at).unwrap_or(0));
                let group = n32(4).saturating_mul(self.group);
                let at = group.saturating_add(n32(8).saturating_mul(self.block));
                let length = n32(20).saturating_mul(self.block);
                Change::New((at, length), self.cluster.max(BASIC))
            }
            _ => return,
        };
        transaction.changes.push(change);
    }
}

/// What is met on the way through the records.
enum Event<'a> {
    Read(&'a Record),
    Committed(&'a Transaction),
}

/// The second pass.
struct Carried<'a> {
    plan: &'a mut Plan,
    /// What does not count any more, and how often that is still to come.
    cancelled: BTreeMap<Place, u64>,
    /// The record that the last transactions began in.
    lsn: u64,
    /// Places that are in memory.
    seen: BTreeSet<u64>,
    /// What is to be written, and its bytes.
    dirty: BTreeMap<u64, u64>,
}

impl Carried<'_> {
    fn carry_out(&mut self, transaction: &Transaction) {
        if transaction.lsn != self.lsn {
            self.write();
            self.lsn = transaction.lsn;
        }
        // New groups of inodes come first (`xlog_recover_reorder_trans`).
        let is_new = |c: &&Change| matches!(c, Change::New(..));
        let (new, others): (Vec<_>, Vec<_>) = transaction.changes.iter().partition(is_new);
        let all: Vec<Change> = new.into_iter().chain(others).copied().collect();
        for items in all.chunks(AHEAD) {
            for item in items {
                if let Change::Buffer(place) | Change::Inode(place) = item
                    && !self.cancelled.contains_key(place)
                    && self.seen.insert(place.0)
                {
                    self.plan.steps.push(Step::Ahead(place.0, place.1));
                }
            }
            for item in items {
                self.plan.work(ITEM);
                self.item(*item);
            }
        }
    }

    fn item(&mut self, item: Change) {
        match item {
            Change::Buffer(place) | Change::Inode(place) => {
                if self.cancelled.contains_key(&place) {
                    return;
                }
                self.plan.steps.push(Step::Wait(place.0));
                self.dirty.insert(place.0, place.1);
            }
            Change::Cancelled(place) => {
                if let Some(left) = self.cancelled.get_mut(&place) {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        self.cancelled.remove(&place);
                    }
                }
            }
            Change::New((at, length), cluster) => {
                for number in 0..(length / cluster).min(1024) {
                    let at = at.saturating_add(number * cluster);
                    self.seen.insert(at);
                    self.dirty.insert(at, cluster);
                }
            }
        }
    }

    /// Writes what is dirty, neighbours in one request, and waits for it
    /// (`xfs_buf_delwri_submit`).
    fn write(&mut self) {
        let mut open: Option<Place> = None;
        for (at, bytes) in std::mem::take(&mut self.dirty) {
            match &mut open {
                Some((start, length))
                    if start.saturating_add(*length) == at && *length + bytes <= REQUEST =>
                {
                    *length += bytes;
                }
                _ => {
                    let before = open.replace((at, bytes));
                    self.plan
                        .steps
                        .extend(before.map(|(at, n)| Step::Write(at, n)));
                }
            }
        }
        if let Some((at, bytes)) = open {
            self.plan
                .steps
                .extend([Step::Write(at, bytes), Step::Settle]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BASIC, Log, RECORD_MAGIC};
    use crate::mount::plan::{Plan, Step};
    use rawimage::{Part, ReadAt};

    const UNIT: usize = BASIC as usize;
    const UNITS: usize = 32;

    /// A region of a transaction as an operation.
    fn operation(id: u32, flags: u8, region: &[u8]) -> Vec<u8> {
        let mut bytes = id.to_be_bytes().to_vec();
        bytes.extend((region.len() as u32).to_be_bytes());
        bytes.extend([0x69, flags, 0, 0]);
        bytes.extend(region);
        bytes
    }

    fn buffer(at: u64, units: u16, flags: u16) -> Vec<u8> {
        let mut bytes = 0x123c_u16.to_le_bytes().to_vec();
        bytes.extend([1_u16, flags, units].iter().flat_map(|n| n.to_le_bytes()));
        bytes.extend((at / BASIC).to_le_bytes());
        bytes
    }

    fn inode(at: u64, units: u32) -> Vec<u8> {
        let mut bytes = vec![0; 56];
        bytes[..4].copy_from_slice(&[0x3b, 0x12, 2, 0]);
        bytes[40..48].copy_from_slice(&(at / BASIC).to_le_bytes());
        bytes[48..52].copy_from_slice(&units.to_le_bytes());
        bytes
    }

    /// A transaction that changes what these items say.
    fn transaction(id: u32, items: &[Vec<u8>]) -> (u32, Vec<u8>) {
        let mut bytes = operation(id, 1, &[]);
        bytes.extend(operation(id, 0, &[b"NART".as_slice(), &[0; 12]].concat()));
        let mut count = 3;
        for item in items {
            bytes.extend(operation(id, 0, item));
            count += 1;
            if item[0] == 0x3b {
                // The inode itself: a region that is not an item, whatever is in it.
                bytes.extend(operation(id, 0, &buffer(77 * BASIC, 1, 0)));
                count += 1;
            }
        }
        bytes.extend(operation(id, 2, &[]));
        (count, bytes)
    }

    /// Puts a record of two units into a log of 32.
    fn put(log: &mut [u8], unit: usize, tail: u32, (count, body): (u32, Vec<u8>)) {
        let mut header = vec![0; UNIT];
        let mut n32 = |at: usize, n: u32| header[at..at + 4].copy_from_slice(&n.to_be_bytes());
        n32(0, RECORD_MAGIC);
        n32(12, body.len() as u32);
        n32(16, 1);
        n32(20, unit as u32);
        n32(28, tail);
        n32(40, count);
        n32(320, 32 << 10);
        // The first word of the body is kept in the header.
        n32(44, u32::from_be_bytes(body[..4].try_into().unwrap()));
        let mut data = body;
        data.resize(UNIT, 0);
        data[..4].copy_from_slice(&1_u32.to_be_bytes());
        for (number, bytes) in [header, data].iter().enumerate() {
            let at = (unit + number) % UNITS * UNIT;
            log[at..at + UNIT].copy_from_slice(bytes);
        }
    }

    fn steps(log: &[u8], head: u64, last: u64) -> Option<Vec<Step>> {
        let image: &dyn ReadAt = &log;
        let volume = Part::whole(image).unwrap();
        let log = Log {
            volume: &volume,
            at: 0,
            units: UNITS as u64,
            head,
            last,
            group: 1 << 20,
            block: 4096,
            cluster: 16_384,
        };
        let mut plan = Plan::new("xfs");
        let seen = log.replay(&mut plan).unwrap()?;
        assert!(!seen.contains(&(77 * BASIC)));
        plan.steps.retain(|s| !matches!(s, Step::Work(_)));
        Some(plan.steps)
    }

    #[test]
    fn what_transactions_change_is_read_once_and_written_with_their_record() {
        let mut log = vec![0; UNITS * UNIT];
        let first = [buffer(1 << 20, 8, 0), inode(2 << 20, 32)];
        put(&mut log, 30, 30, transaction(7, &first));
        let second = [
            buffer(1 << 20, 8, 0),
            buffer((1 << 20) + 4096, 8, 0),
            // Given up later: neither read nor written.
            buffer(3 << 20, 8, 0),
            buffer(3 << 20, 8, 2),
        ];
        put(&mut log, 0, 30, transaction(8, &second));
        let at = |unit: u64| Step::Read(unit * BASIC, BASIC);
        let expected = [
            // To find what was given up.
            vec![at(30), at(30), at(31), at(0), at(1)],
            vec![at(30), at(30), at(31)],
            vec![Step::Ahead(1 << 20, 4096), Step::Ahead(2 << 20, 16_384)],
            vec![Step::Wait(1 << 20), Step::Wait(2 << 20)],
            vec![at(0), at(1)],
            vec![Step::Write(1 << 20, 4096), Step::Write(2 << 20, 16_384)],
            vec![Step::Settle, Step::Ahead((1 << 20) + 4096, 4096)],
            vec![Step::Wait(1 << 20), Step::Wait((1 << 20) + 4096)],
            // Neighbours go in one request.
            vec![Step::Write(1 << 20, 8192), Step::Settle],
        ];
        assert_eq!(steps(&log, 2, 0), Some(expected.concat()));
    }

    #[test]
    fn a_log_with_a_gap_is_not_replayed() {
        let mut log = vec![0; UNITS * UNIT];
        put(&mut log, 2, 2, transaction(7, &[buffer(1 << 20, 8, 0)]));
        assert!(steps(&log, 4, 2).is_some());
        // Another record should follow, or the tail is nowhere.
        assert_eq!(steps(&log, 6, 2), None);
        put(&mut log, 2, 9, transaction(7, &[buffer(1 << 20, 8, 0)]));
        assert_eq!(steps(&log, 4, 2), None);
    }
}
