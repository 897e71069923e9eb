//! Tests of the simulator, with figures that can be worked out by hand.

use super::queue::{Queue, read};
use super::{Costs, Mount, MountStep, Need, Simulated, Way};
use crate::figures::{Model, Storage};
use crate::page_cache::{Access, File, PAGE};

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
        file: 0,
        page: place / PAGE,
        pages: 1,
        program: 0,
        is_listed: true,
    }
}

/// Of one file that is the whole device.
fn simulate(needs: &[Need], storage: &Storage, size: u64, way: Way) -> Simulated {
    let files = [File {
        access: Access::Device,
        bytes: 64 << 20,
        extents: vec![(0, 0, 64 << 20)],
        tables: Vec::new(),
        looked_at: Vec::new(),
    }];
    super::simulate(
        needs,
        (&files, None),
        (storage, size),
        Costs::default(),
        way,
    )
}

const AHEAD: Way = Way::Prefetch {
    window_ns: 0,
    infill_bytes: 0,
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
fn one_works_while_another_waits() {
    let of = |program, at_ns, place| Need {
        program,
        ..need(at_ns, place)
    };
    // The first waits 1 ms for its piece; the second is there from 500 ns on, and
    // has work of 2 ms of its own before its next piece.
    let needs = [
        of(0, 0, 0),
        of(0, 500, 0),
        of(1, 600, 4096 * 9),
        of(0, 700, 1 << 20),
    ];
    let alone: Vec<_> = needs.iter().map(|n| Need { program: 0, ..*n }).collect();
    let together = simulate(&needs, &card(), 1 << 30, Way::Demand);
    let one = simulate(&alone, &card(), 1 << 30, Way::Demand);
    assert_eq!((one.requests, one.stall_ns), (3, 3 * 1_004_096));
    // The last two pieces are asked for at once; the device takes one after another.
    assert_eq!(together.requests, 3);
    assert_eq!(together.stall_ns, 3 * 1_004_096 - 100);
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
            infill_bytes: (round % 4) * 8192,
        };
        for way in [Way::Demand, ahead] {
            let done = simulate(&needs, &card(), 1 << 30, way);
            assert_eq!(done.total_ns, done.stall_ns + work);
            assert!((1..=count).contains(&done.requests), "{way:?} {done:?}");
            assert!(done.total_ns >= 1_004_096, "{way:?} {done:?}");
        }
    }
}

/// A queue without processor time.
fn queue(storage: &Storage) -> Queue {
    Queue::new(storage, 1 << 30, Costs::default())
}

#[test]
fn what_is_idle_waits_for_all_others_and_then_goes_in_order_of_place() {
    let mut queue = queue(&card());
    let (first, _) = queue.ask(0, read(0, 4096), false);
    let (far, _) = queue.ask(10, read(1 << 20, 4096), true);
    let (near, _) = queue.ask(20, read(1 << 16, 4096), true);
    let (behind, _) = queue.ask(30, read((1 << 20) + 8192, 4096), true);
    // Neighbours of what waits are one request with it.
    let (same, _) = queue.ask(40, read((1 << 20) + 4096, 4096), true);
    assert_eq!((same, queue.end(far)), (far, None));
    // Another of the usual priority goes first still.
    let (second, _) = queue.ask(50, read(1 << 21, 4096), false);
    assert_eq!(queue.end(first), Some(1_004_096));
    assert_eq!(queue.end(second), Some(2 * 1_004_096));
    queue.advance(1_500_000);
    assert_eq!(queue.end(far), None);
    queue.advance(3_000_000);
    let ends = [far, behind, near].map(|n| queue.end(n));
    let begin = 2 * 1_004_096;
    // The oldest, what lies behind it, and then the rest.
    let expected = [1_008_192, 2 * 1_004_096 + 4096, 3 * 1_004_096 + 4096];
    assert_eq!(ends, expected.map(|n| Some(begin + n)));
    assert_eq!(queue.requests(), 5);
}

#[test]
fn what_is_in_the_device_is_not_overtaken() {
    let mut queue = queue(&card());
    let (idle, _) = queue.ask(0, read(0, 500_000), true);
    let (urgent, _) = queue.ask(10, read(1 << 20, 4096), false);
    assert_eq!(queue.end(idle), Some(1_500_000));
    assert_eq!(queue.end(urgent), Some(1_500_000 + 1_004_096));
}

#[test]
fn who_asks_for_more_than_the_queue_holds_waits() {
    let storage = Storage {
        nr_requests: 2,
        ..card()
    };
    let mut queue = queue(&storage);
    let after = [0, 1, 2].map(|n| queue.ask(0, read(n << 20, 4096), true).1);
    assert_eq!(after, [0, 0, 1_004_096]);
}

/// As a boot, of which the first page is the superblock.
fn boot(needs: &[Need], way: Way) -> Simulated {
    let mount = Mount {
        steps: vec![MountStep::Read(0, 4096), MountStep::Write(0, 4096)],
        until_ns: 100,
    };
    let files = [File {
        access: Access::Read,
        bytes: 64 << 20,
        extents: vec![(0, 0, 64 << 20)],
        tables: Vec::new(),
        looked_at: Vec::new(),
    }];
    let storage = Storage {
        read_ahead_kb: 0,
        write_command_ns: 7_000_000,
        ..card()
    };
    let device = (&storage, 1 << 30);
    super::simulate(needs, (&files, Some(&mount)), device, Costs::default(), way)
}

#[test]
fn nothing_is_read_ahead_before_the_root_is_mounted() {
    // One page before the prefetcher can start, and one it reads.
    let needs = [need(100, 1 << 20), need(200, 1 << 21)];
    let demand = boot(&needs, Way::Demand);
    let ahead = boot(&needs, AHEAD);
    // A read, a write and two pages; the write costs its command alone.
    assert_eq!(demand.stall_ns, 3 * 1_004_096 + 7_000_000);
    // It asks for its page 100 ns before that is needed.
    assert_eq!(ahead.stall_ns, demand.stall_ns - 100);
    assert_eq!(ahead.requests, 4);
    // With work in between, the second page is there by then.
    let needs = [need(100, 1 << 20), need(50_000_000, 1 << 21)];
    let ahead = boot(&needs, AHEAD);
    assert_eq!(ahead.stall_ns, 2 * 1_004_096 + 7_000_000);
}

#[test]
fn what_the_list_does_not_have_is_not_read_ahead() {
    let unknown = Need {
        is_listed: false,
        ..need(50_000_000, 1 << 21)
    };
    let known = simulate(
        &[need(0, 0), need(50_000_000, 1 << 21)],
        &card(),
        1 << 30,
        AHEAD,
    );
    let seen = simulate(&[need(0, 0), unknown], &card(), 1 << 30, AHEAD);
    assert_eq!(known.stall_ns, 1_004_096);
    assert_eq!(seen.stall_ns, 2 * 1_004_096);
}
