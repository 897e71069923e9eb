//! What a boot or a program would wait for a device, before anything is touched.
//!
//! The program needs pieces one after another, with its own work between them. It
//! goes on when a piece is there. Beside it a prefetcher may read the same pieces
//! in an order of its own; what the program itself asks for goes first, but does
//! not stop what the device has begun. The device is the one of the exact lab
//! ([`agent::storage::Device`]).

use agent::config::Storage;
use agent::storage::{Device, Kind, Request};

/// A piece that is needed, and lies together on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// When, had everything before been there at once: nanoseconds.
    pub at_ns: u64,
    /// Where it lies, in bytes from the start of the device.
    pub place: u64,
    /// How long it is, in bytes.
    pub bytes: u64,
}

/// How pieces come into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// When they are needed.
    Demand,
    /// A prefetcher reads them from the start on, within windows of need in the
    /// order in which they lie; neighbours are one request.
    Prefetch {
        /// The length of a window; 0: all is one.
        window_ns: u64,
        /// Whether the program starts when all is read.
        wait: bool,
    },
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Simulated {
    /// When the last piece that is needed is there, in nanoseconds.
    pub total_ns: u64,
    /// How much of that is waiting.
    pub stall_ns: u64,
    /// Requests to the device.
    pub requests: u64,
}

/// The most that Linux asks for in one request, as the lab sets it.
const MOST_REQUEST_BYTES: u64 = 512 << 10;

/// Simulates. `size` is that of the device, in bytes.
#[must_use]
pub fn simulate(needs: &[Need], storage: &Storage, size: u64, way: Way) -> Simulated {
    let mut needs = needs.to_vec();
    needs.sort_by_key(|n| n.at_ns);
    let mut device = Device::new(storage.clone(), size);
    let mut done = Simulated::default();
    let mut ready: Vec<Option<u64>> = vec![None; needs.len()];
    let mut ahead = Ahead {
        groups: match way {
            Way::Demand => Vec::new(),
            Way::Prefetch { window_ns, .. } => groups(&needs, window_ns),
        },
        next: 0,
        flying: Vec::new(),
        depth: storage.queue_depth.get() as usize,
        last: 0,
    };
    let read_ahead = u64::from(storage.read_ahead_kb).max(4) << 10;
    let (mut now, mut worked) = (0, 0);
    if matches!(way, Way::Prefetch { wait: true, .. }) {
        now = ahead.until(u64::MAX, &needs, &mut ready, &mut device, &mut done);
    }
    for (number, need) in needs.iter().enumerate() {
        now += need.at_ns - worked;
        worked = need.at_ns;
        ahead.until(now, &needs, &mut ready, &mut device, &mut done);
        let there = ready.get(number).copied().flatten();
        now = match there {
            Some(at) => at.max(now),
            None => {
                let mut place = need.place;
                let end = need.place.saturating_add(need.bytes);
                let mut at = now;
                while place < end {
                    let bytes = read_ahead.min(end - place);
                    at = device.submit(at, read(place, bytes));
                    ahead.last = at.min(ahead.last.max(now));
                    done.requests += 1;
                    place += bytes;
                }
                if let Some(ready) = ready.get_mut(number) {
                    *ready = Some(at);
                }
                at
            }
        };
        // The device takes no request of the past.
        ahead.last = ahead.last.max(now);
    }
    done.total_ns = now;
    done.stall_ns = now.saturating_sub(worked);
    done
}

const fn read(at: u64, bytes: u64) -> Request {
    Request {
        kind: Kind::Read,
        at,
        bytes,
    }
}

/// A request that reads these needs.
struct Group {
    place: u64,
    bytes: u64,
    needs: Vec<usize>,
}

/// The prefetcher's requests in order.
fn groups(needs: &[Need], window_ns: u64) -> Vec<Group> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|n| {
        let need = needs.get(*n);
        need.map(|n| (n.at_ns.checked_div(window_ns).unwrap_or(0), n.place))
    });
    let mut groups: Vec<Group> = Vec::new();
    for number in order {
        let Some(need) = needs.get(number) else {
            continue;
        };
        match groups.last_mut() {
            Some(group)
                if group.place.saturating_add(group.bytes) == need.place
                    && group.bytes + need.bytes <= MOST_REQUEST_BYTES =>
            {
                group.bytes += need.bytes;
                group.needs.push(number);
            }
            _ => groups.push(Group {
                place: need.place,
                bytes: need.bytes,
                needs: vec![number],
            }),
        }
    }
    groups
}

struct Ahead {
    groups: Vec<Group>,
    next: usize,
    /// When its requests in the device end.
    flying: Vec<u64>,
    depth: usize,
    /// The last time at which the device got a request, or may get the next.
    last: u64,
}

impl Ahead {
    /// Goes on until `until`; gives when the last request ends.
    fn until(
        &mut self,
        until: u64,
        needs: &[Need],
        ready: &mut [Option<u64>],
        device: &mut Device,
        done: &mut Simulated,
    ) -> u64 {
        while let Some(group) = self.groups.get(self.next) {
            let mut at = self.last;
            if self.flying.len() >= self.depth {
                self.flying.sort_unstable();
                at = at.max(self.flying.first().copied().unwrap_or(0));
            }
            if at > until {
                break;
            }
            self.flying.retain(|end| *end > at);
            self.next += 1;
            let is_missing = |n: &&usize| ready.get(**n).is_some_and(Option::is_none);
            let missing: u64 = group
                .needs
                .iter()
                .filter(is_missing)
                .filter_map(|n| Some(needs.get(*n)?.bytes))
                .sum();
            if missing == 0 {
                continue;
            }
            let end = device.submit(at, read(group.place, group.bytes));
            done.requests += 1;
            self.last = at;
            self.flying.push(end);
            for number in &group.needs {
                if let Some(ready @ None) = ready.get_mut(*number) {
                    *ready = Some(end);
                }
            }
        }
        self.flying.iter().copied().max().unwrap_or(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::{Need, Way, simulate};
    use agent::config::{Model, Storage};

    /// 1 ms a command, 1 byte a ns, one after another.
    fn card() -> Storage {
        Storage {
            model: Model::Flash,
            command_ns: 1_000_000,
            read_bytes_per_s: 1_000_000_000,
            read_ahead_kb: 128,
            ..Storage::default()
        }
    }

    fn need(at_ns: u64, place: u64) -> Need {
        Need {
            at_ns,
            place,
            bytes: 4096,
        }
    }

    const AHEAD: Way = Way::Prefetch {
        window_ns: 0,
        wait: false,
    };

    #[test]
    fn demand_waits_for_each() {
        let needs = [need(0, 0), need(500, 1 << 20), need(9_000, 2 << 20)];
        let done = simulate(&needs, &card(), 1 << 30, Way::Demand);
        assert_eq!((done.requests, done.stall_ns), (3, 3 * 1_004_096));
        assert_eq!(done.total_ns, done.stall_ns + 9_000);
    }

    #[test]
    fn neighbours_are_one_request_when_read_ahead() {
        let needs: Vec<_> = (0..4).map(|n| need(n * 10, n * 4096)).collect();
        let done = simulate(&needs, &card(), 1 << 30, AHEAD);
        assert_eq!((done.requests, done.stall_ns), (1, 1_016_384));
    }

    #[test]
    fn what_is_needed_late_is_there_by_then() {
        let needs = [
            need(0, 0),
            need(50_000_000, 1 << 20),
            need(60_000_000, 1 << 21),
        ];
        let done = simulate(&needs, &card(), 1 << 30, AHEAD);
        assert_eq!((done.requests, done.stall_ns), (3, 1_004_096));
    }

    #[test]
    fn without_delay_nothing_waits() {
        let needs = [need(0, 0), need(5, 1 << 20)];
        for way in [Way::Demand, AHEAD] {
            let done = simulate(&needs, &Storage::default(), 1 << 30, way);
            assert_eq!((done.stall_ns, done.total_ns), (0, 5));
        }
    }

    #[test]
    fn nothing_is_faster_than_the_bytes_and_the_work() {
        // Any needs will do: a generator of D. H. Lehmer's kind makes them.
        let mut state = 1u64;
        let mut next = |most: u64| {
            state = state * 48_271 % 0x7fff_ffff;
            state % most
        };
        for round in 0..200u64 {
            let count = 1 + next(60);
            let needs: Vec<_> = (0..count)
                .map(|_| need(next(50_000_000), next(1000) * 4096))
                .collect();
            let work = needs.iter().map(|n| n.at_ns).max().unwrap();
            let ahead = Way::Prefetch {
                window_ns: (round % 3) * 7_000_000,
                wait: round % 2 == 0,
            };
            for way in [Way::Demand, ahead] {
                let done = simulate(&needs, &card(), 1 << 30, way);
                assert_eq!(done.total_ns, done.stall_ns + work);
                assert!((1..=count).contains(&done.requests), "{way:?} {done:?}");
                assert!(done.total_ns >= 1_004_096, "{way:?} {done:?}");
            }
        }
    }
}
