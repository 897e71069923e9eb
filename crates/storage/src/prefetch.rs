//! The rules of reading ahead of need: windows of time, how much is in flight, which holes
//! are read as well. The agent follows them on the target, and the simulation here.

/// A window of need, also on a disk that turns, with what is needed all over it: one sweep
/// for everything has the boot wait for its first programs until the sweep is at them.
pub const WINDOW_US: u64 = 250_000;

/// The largest read.
pub const REQUEST_BYTES: u32 = 128 << 10;

/// How many reads may be in flight at once, and of how many files.
pub const DEPTH: u32 = 256;

/// The most in flight of a disk that turns. On a slow card without a queue, 8 MiB had the
/// boot 0.2 s later than 0.5 to 2 MiB; on a disk less was not seen to help.
pub const DISK_IN_FLIGHT_BYTES: u64 = 8 << 20;
/// As [`DISK_IN_FLIGHT_BYTES`], of all others.
pub const IN_FLIGHT_BYTES: u64 = 1 << 20;

/// So far ahead of need, less is kept in flight: so much.
pub const AHEAD_US: u64 = 100_000;
/// As it is kept then.
pub const AHEAD_BYTES: u64 = 512 << 10;

/// Holes of up to so many bytes are read as well, where that saves a request: at
/// 20 MB/s they take as long as a third of an SD card's command does.
pub const INFILL_BYTES: u64 = 16 << 10;

/// Holes that a disk passes in about the time of its shortest seek and half a turn:
/// 5 ms at 25 MB/s.
pub const DISK_INFILL_BYTES: u64 = 128 << 10;

/// The number of the window in which something is needed; windows are `window_us`
/// long, 0: there is one. The first is cut again: what the very first programs need
/// is asked for before their files are all opened.
#[must_use]
pub fn window_of(first_us: u64, window_us: u64) -> u64 {
    let Some(number) = first_us.checked_div(window_us) else {
        return 0;
    };
    let parts = FIRST_PARTS.iter();
    let within = parts.filter(|tenths| first_us.saturating_mul(10) >= window_us * **tenths);
    number.saturating_add(within.count() as u64)
}

/// Where the first window is cut, in tenths of it.
const FIRST_PARTS: [u64; 3] = [1, 2, 4];

/// Pieces (offset, length) with the holes between them that are no longer than
/// `gap` filled in, if `may` says so of where a hole begins and ends. The pieces are
/// in order and do not overlap.
#[must_use]
pub fn infilled(
    pieces: &[(u64, u64)],
    gap: u64,
    may: &dyn Fn(u64, u64) -> bool,
) -> Vec<(u64, u64)> {
    let mut wide: Vec<(u64, u64)> = Vec::new();
    for &(offset, length) in pieces {
        match wide.last_mut() {
            Some((at, before))
                if offset.saturating_sub(at.saturating_add(*before)) <= gap
                    && (offset <= at.saturating_add(*before)
                        || may(at.saturating_add(*before), offset)) =>
            {
                *before = offset.saturating_add(length).saturating_sub(*at);
            }
            _ => wide.push((offset, length)),
        }
    }
    wide
}

/// What is needed later and lies right behind what is read in a window is read with that:
/// up to `most_bytes` of it, which take less time than to come back. `needs` (window,
/// offset, length) are in order of their offsets; gives the window of each.
#[must_use]
pub fn taken_along(needs: &[(u64, u64, u64)], most_bytes: u64) -> Vec<u64> {
    let mut windows: Vec<u64> = needs.iter().map(|n| n.0).collect();
    let mut in_time: Vec<(u64, u64)> = windows.iter().copied().zip(0..).collect();
    in_time.sort_unstable();
    for (_, at) in in_time {
        let at = at as usize;
        let Some((window, offset, length)) = needs.get(at) else {
            continue;
        };
        // What is taken along takes nothing along.
        if windows.get(at) != Some(window) {
            continue;
        }
        let mut end = offset.saturating_add(*length);
        let most = end.saturating_add(most_bytes);
        let behind = needs.iter().zip(&mut windows).skip(at + 1);
        for ((_, next, length), of) in behind {
            let next_end = next.saturating_add(*length);
            if *next > end || next_end > most {
                break;
            }
            end = end.max(next_end);
            *of = (*of).min(*window);
        }
    }
    windows
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::taken_along;
    use proptest::prelude::*;

    #[test]
    fn what_lies_right_behind_comes_along_and_takes_nothing_along() {
        // Window, offset, length: a run of pages, and one behind a hole.
        let needs = [(0, 0, 4), (5, 4, 4), (3, 8, 4), (9, 12, 4), (7, 17, 4)];
        assert_eq!(taken_along(&needs, 8), [0, 0, 0, 9, 7]);
        assert_eq!(taken_along(&needs, 4), [0, 0, 3, 3, 7]);
        assert_eq!(taken_along(&needs, 0), [0, 5, 3, 9, 7]);
        // Never later, and what was needed earlier stays.
        assert_eq!(taken_along(&[(4, 0, 4), (1, 4, 4)], 100), [4, 1]);
        assert_eq!(taken_along(&[], 100), [0; 0]);
    }

    proptest! {
        #[test]
        fn nothing_is_read_later_and_little_earlier(
            lengths in prop::collection::vec((0..9u64, 0..3u64, 1..9u64), 0..40),
            most in 0..40u64,
        ) {
            let mut at = 0;
            let needs: Vec<_> = lengths.iter().map(|(window, hole, length)| {
                let start = at + hole;
                at = start + length;
                (*window, start, *length)
            }).collect();
            let windows = taken_along(&needs, most);
            prop_assert_eq!(windows.len(), needs.len());
            for (number, (need, window)) in needs.iter().zip(&windows).enumerate() {
                prop_assert!(*window <= need.0);
                if *window < need.0 {
                    // Something of that window lies before it, near enough, without a hole.
                    let near = (0..number).rev().take_while(|n| {
                        needs[*n].1 + needs[*n].2 == needs[n + 1].1
                    });
                    let end = need.1 + need.2;
                    let is_near = near.into_iter().any(|n| {
                        needs[n].0 == *window && end <= needs[n].1 + needs[n].2 + most
                    });
                    prop_assert!(is_near);
                }
            }
        }
    }
}
