//! When a modelled storage device is done with a request. Pure: no clock, no I/O.
//!
//! Up to `queue_depth` requests are in the device at a time. Each first costs its
//! command; these overlap, but begin `command_interval_ns` apart at least. Then its
//! bytes pass the one bus, in the first gap that is long enough. A disk has one arm:
//! its requests follow one another, and one that does not continue the last costs a
//! seek and half a turn.

use crate::figures::{Model, Storage};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes to the machine.
    Read,
    /// Bytes to the device.
    Write,
    /// All earlier writes to the medium.
    Flush,
}

/// A request to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub kind: Kind,
    /// Where it begins, in bytes from the start of the device.
    pub at: u64,
    /// How many bytes it moves.
    pub bytes: u64,
}

/// A device at work. All times are nanoseconds on one clock.
#[derive(Clone, Debug)]
pub struct Device {
    figures: Storage,
    size: u64,
    /// When the requests in the device end, at most `queue_depth` of them.
    ends: Vec<u64>,
    /// When the bus is taken, sorted, from start to end.
    bus: Vec<(u64, u64)>,
    /// When the next command can begin.
    next_command: u64,
    /// Disk: where the head is, in bytes.
    head: u64,
}

impl Device {
    /// A device of `size` bytes that is idle.
    #[must_use]
    pub fn new(figures: Storage, size: u64) -> Self {
        Self {
            figures,
            size,
            ends: Vec::new(),
            bus: Vec::new(),
            next_command: 0,
            head: 0,
        }
    }

    /// Takes a request that arrives at `now`; gives the time at which it is done.
    ///
    /// `now` must not run backwards from one call to the next.
    pub fn submit(&mut self, now: u64, request: Request) -> u64 {
        self.ends.retain(|end| *end > now);
        self.bus.retain(|taken| taken.1 > now);
        let begin = self.enter(now, request.kind).max(self.next_command);
        let f = &self.figures;
        self.next_command = begin.saturating_add(f.command_interval_ns);
        let command = match request.kind {
            Kind::Read => f.command_ns,
            Kind::Write | Kind::Flush => f.write_command_ns,
        };
        let ready = begin.saturating_add(command);
        let end = match (f.model, request.kind) {
            (Model::None, _) => now,
            (_, Kind::Flush) => ready,
            (Model::Flash, _) => self.transfer(ready, self.bytes_ns(request.kind, request.bytes)),
            (Model::Disk, _) => self.move_and_transfer(ready, request),
        };
        self.ends.push(end);
        end
    }

    /// When a request is to be answered with which the device is done at `end`: so much
    /// earlier as its server needs beyond that. Only of reads it is known how much that is.
    #[must_use]
    pub fn answered(&self, end: u64, request: Request) -> u64 {
        let f = &self.figures;
        match request.kind {
            Kind::Read => {
                let moved = f.own_kib_ns.saturating_mul(request.bytes) >> 10;
                end.saturating_sub(f.own_request_ns.saturating_add(moved))
            }
            Kind::Write | Kind::Flush => end,
        }
    }

    /// When a request that arrives at `now` enters the device; its place is free
    /// then. A flush waits for all that came before it.
    fn enter(&mut self, now: u64, kind: Kind) -> u64 {
        let depth = self.figures.queue_depth.get() as usize;
        // Those that end first make the room.
        self.ends.sort_unstable();
        let all_done = self.ends.last().copied();
        let over = (self.ends.len() + 1).saturating_sub(depth);
        let room = self.ends.drain(..over).next_back();
        let begin = match kind {
            Kind::Flush => all_done,
            Kind::Read | Kind::Write => room,
        };
        begin.unwrap_or(now).max(now)
    }

    /// The first gap of the bus after `ready` that holds `length`; its end.
    fn transfer(&mut self, ready: u64, length: u64) -> u64 {
        let mut start = ready;
        let mut place = self.bus.len();
        for (i, taken) in self.bus.iter().enumerate() {
            if start.saturating_add(length) <= taken.0 {
                place = i;
                break;
            }
            start = start.max(taken.1);
        }
        let end = start.saturating_add(length);
        self.bus.insert(place, (start, end));
        end
    }

    fn move_and_transfer(&mut self, ready: u64, request: Request) -> u64 {
        let f = &self.figures;
        let start = self.bus.last().map_or(ready, |taken| taken.1.max(ready));
        let ahead = request.at.checked_sub(self.head);
        let length = match ahead.filter(|gap| *gap <= f.near_bytes) {
            // The platter carries the gap past the head as well.
            Some(gap) => self.bytes_ns(request.kind, gap.saturating_add(request.bytes)),
            None => {
                let seek = self.seek_ns(request.at.abs_diff(self.head));
                seek.saturating_add(f.rotation_ns)
                    .saturating_add(self.bytes_ns(request.kind, request.bytes))
            }
        };
        self.head = request.at.saturating_add(request.bytes);
        let end = start.saturating_add(length);
        self.bus.push((start, end));
        end
    }

    /// Seek time grows with the square root of the distance.
    fn seek_ns(&self, distance: u64) -> u64 {
        let f = &self.figures;
        // The root of distance / size, in 1/65536.
        let part = (u128::from(distance) << 32) / u128::from(self.size.max(1));
        let root = part.isqrt().min(1 << 16);
        let range = u128::from(f.seek_max_ns.saturating_sub(f.seek_min_ns));
        let beyond = u64::try_from((range * root) >> 16).unwrap_or(u64::MAX);
        f.seek_min_ns.saturating_add(beyond)
    }

    fn bytes_ns(&self, kind: Kind, bytes: u64) -> u64 {
        let per_s = match kind {
            Kind::Read => self.figures.read_bytes_per_s,
            Kind::Write => self.figures.write_bytes_per_s,
            Kind::Flush => 0,
        };
        if per_s == 0 {
            return 0;
        }
        let ns = u128::from(bytes) * 1_000_000_000 / u128::from(per_s);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

/// How long `reads` take one after another on an idle device of `size` bytes, in nanoseconds:
/// each is where it begins and how many bytes it has, and waits for the one before.
#[must_use]
pub fn in_sequence(
    figures: &Storage,
    size: u64,
    reads: impl IntoIterator<Item = (u64, u64)>,
) -> u64 {
    let mut device = Device::new(figures.clone(), size);
    let mut now = 0;
    for (at, bytes) in reads {
        let kind = Kind::Read;
        now = device.submit(now, Request { kind, at, bytes });
    }
    now
}

#[cfg(test)]
mod tests {
    use super::{Device, Kind, Request};
    use crate::figures::{Model, Storage};
    use proptest::prelude::*;
    use std::num::NonZeroU32;

    /// 1 ms a read, 5 ms a write, 1 byte a ns both ways.
    fn flash(depth: u32) -> Storage {
        Storage {
            model: Model::Flash,
            queue_depth: NonZeroU32::new(depth).unwrap_or(NonZeroU32::MIN),
            command_ns: 1_000_000,
            write_command_ns: 5_000_000,
            read_bytes_per_s: 1_000_000_000,
            write_bytes_per_s: 1_000_000_000,
            ..Storage::default()
        }
    }

    fn disk() -> Storage {
        Storage {
            model: Model::Disk,
            command_ns: 0,
            rotation_ns: 4_000_000,
            seek_min_ns: 1_000_000,
            seek_max_ns: 11_000_000,
            near_bytes: 1_000,
            ..flash(1)
        }
    }

    fn read(at: u64, bytes: u64) -> Request {
        Request {
            kind: Kind::Read,
            at,
            bytes,
        }
    }

    fn write(bytes: u64) -> Request {
        Request {
            kind: Kind::Write,
            at: 0,
            bytes,
        }
    }

    const FLUSH: Request = Request {
        kind: Kind::Flush,
        at: 0,
        bytes: 0,
    };

    #[test]
    fn at_depth_one_requests_follow_one_another() {
        let mut device = Device::new(flash(1), 1 << 30);
        assert_eq!(device.submit(0, read(0, 4096)), 1_004_096);
        assert_eq!(device.submit(10, read(8192, 4096)), 2_008_192);
        assert_eq!(device.submit(9_000_000, read(0, 1)), 10_000_001);
    }

    #[test]
    fn in_a_deep_queue_commands_overlap_and_bytes_share_the_bus() {
        let mut device = Device::new(flash(2), 1 << 30);
        assert_eq!(device.submit(0, read(0, 500_000)), 1_500_000);
        assert_eq!(device.submit(0, read(0, 500_000)), 2_000_000);
        // Two are in: the third enters when the first is out.
        assert_eq!(device.submit(0, read(0, 100)), 2_500_100);
        // And the fourth when the second is.
        assert_eq!(device.submit(0, read(0, 100)), 3_000_100);
    }

    #[test]
    fn commands_of_a_deep_queue_begin_no_closer_than_their_interval() {
        let paced = Storage {
            command_interval_ns: 400_000,
            ..flash(4)
        };
        let mut device = Device::new(paced, 1 << 30);
        assert_eq!(device.submit(0, read(0, 100)), 1_000_100);
        assert_eq!(device.submit(0, read(0, 100)), 1_400_100);
        assert_eq!(device.submit(0, read(0, 100)), 1_800_100);
        // Whoever comes later than that does not wait.
        assert_eq!(device.submit(1_300_000, read(0, 100)), 2_300_100);
    }

    #[test]
    fn a_fast_read_passes_a_slow_write() {
        let mut device = Device::new(flash(4), 1 << 30);
        assert_eq!(device.submit(0, write(100)), 5_000_100);
        assert_eq!(device.submit(1, read(0, 100)), 1_000_101);
        // A gap that is too short for the bytes is left alone.
        assert_eq!(device.submit(2, read(0, 4_500_000)), 9_500_100);
    }

    #[test]
    fn a_flush_waits_for_all_before_it() {
        let mut device = Device::new(flash(4), 1 << 30);
        let done = device.submit(0, write(100));
        assert_eq!(device.submit(1, FLUSH), done + 5_000_000);
    }

    #[test]
    fn a_disk_charges_for_distance_and_not_for_neighbours() {
        let mut device = Device::new(disk(), 4_000_000);
        // A quarter of the device away: half of the range above the shortest seek.
        assert_eq!(device.submit(0, read(1_000_000, 10)), 10_000_010);
        // The head stands there: only the bytes.
        assert_eq!(device.submit(20_000_000, read(1_000_010, 10)), 20_000_010);
        // A gap passes at the speed of the bytes.
        assert_eq!(device.submit(30_000_000, read(1_000_520, 10)), 30_000_510);
        // Backwards costs at least half a turn, however near.
        let back = device.submit(40_000_000, read(1_000_520, 10));
        assert!(back > 45_000_000, "{back}");
        // The whole way.
        let mut device = Device::new(disk(), 4_000_000);
        assert_eq!(device.submit(0, read(4_000_000, 0)), 15_000_000);
    }

    #[test]
    fn without_a_model_nothing_takes_time() {
        let mut device = Device::new(Storage::default(), 1 << 30);
        assert_eq!(device.submit(7, read(0, 1 << 20)), 7);
    }

    fn request() -> impl Strategy<Value = (u64, Request)> {
        let kind = prop_oneof![Just(Kind::Read), Just(Kind::Write), Just(Kind::Flush)];
        (0u64..3_000_000, kind, 0u64..1 << 30, 0u64..1 << 20)
            .prop_map(|(after, kind, at, bytes)| (after, Request { kind, at, bytes }))
    }

    proptest! {
        #[test]
        fn the_bus_and_the_queue_are_never_over_full(
            depth in 1u32..6,
            is_disk in any::<bool>(),
            requests in proptest::collection::vec(request(), 1..60),
        ) {
            let figures = Storage {
                model: if is_disk { Model::Disk } else { Model::Flash },
                seek_max_ns: 9_000_000,
                ..flash(depth)
            };
            let mut device = Device::new(figures, 1 << 30);
            let mut now = 0;
            let mut spans: Vec<(u64, u64)> = Vec::new();
            for (after, request) in requests {
                now += after;
                let end = device.submit(now, request);
                let cost = device.bytes_ns(request.kind, request.bytes);
                prop_assert!(end >= now + 1_000_000 + cost);
                for pair in device.bus.windows(2) {
                    prop_assert!(pair[0].1 <= pair[1].0, "{:?}", device.bus);
                }
                prop_assert!(device.ends.len() <= depth as usize);
                spans.push((end - cost, end));
            }
            // All bytes passed one bus of one byte per ns.
            let bytes: u64 = spans.iter().map(|s| s.1 - s.0).sum();
            let last = spans.iter().map(|s| s.1).max().unwrap_or(0);
            prop_assert!(last >= bytes);
        }
    }
}
