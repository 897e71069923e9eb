//! Figures of a device, from how long its reads took.

use crate::figures::{Model, Storage};
use std::num::NonZeroU32;

/// What was measured of a device, in bytes and nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured<'a> {
    /// The length of the small reads.
    pub small_bytes: u64,
    /// How long each small read at a random place took, one after another.
    pub small_ns: &'a [u64],
    /// Length and duration of each large read, in sequence.
    pub large: &'a [(u64, u64)],
    /// How many small reads at once took how long together.
    pub parallel: Option<(u64, u64)>,
}

/// Figures, and how well the model gives the readings again.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The figures. What was not measured is as in [`Storage::default`].
    pub storage: Storage,
    /// The small reads: the fastest of twenty, the median, the slowest of twenty.
    pub small_ns: [u64; 3],
    /// How much longer or shorter the model's small read is than the median, as a part.
    pub small_error: f64,
    /// The same of the large reads.
    pub large_error: f64,
}

/// The value below which this part of `values` is; 0 of none.
fn at(values: &[u64], part: f64) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let place = (sorted.len().saturating_sub(1) as f64 * part).round();
    sorted.get(place as usize).copied().unwrap_or(0)
}

/// The figures of a flash device; `None` without small and large reads.
///
/// A read takes a command and its bytes. The median small and the median large read give
/// both; reads at once give the least time between two commands, and from it how many the
/// device works on at a time.
#[must_use]
pub fn fit(measured: &Measured<'_>) -> Option<Fitted> {
    let small = at(measured.small_ns, 0.5);
    let lengths: Vec<u64> = measured.large.iter().map(|(_, ns)| *ns).collect();
    let large = at(&lengths, 0.5);
    let large_bytes = measured.large.first()?.0;
    if small == 0 || large == 0 || large_bytes <= measured.small_bytes {
        return None;
    }
    // Two lengths, two unknowns. Where the small read is slower than the large one's share, the
    // command takes nothing less than zero.
    let bytes = (large_bytes - measured.small_bytes) as f64;
    let per_byte = large.saturating_sub(small) as f64 / bytes;
    let (per_byte, command) = match per_byte > 0.0 {
        true => (
            per_byte,
            (small as f64 - per_byte * measured.small_bytes as f64).max(0.0),
        ),
        false => (0.0, small as f64),
    };
    let rate = match per_byte > 0.0 {
        true => (1e9 / per_byte) as u64,
        false => 0,
    };
    let interval = measured.parallel.map_or(0, |(reads, ns)| ns / reads.max(1));
    // What one command at a time already takes is no limit of the device's own.
    let overlaps = interval > 0 && interval < small;
    let depth = if overlaps {
        small.div_ceil(interval)
    } else {
        1
    };
    let depth = u32::try_from(depth.clamp(1, 32)).unwrap_or(1);
    let storage = Storage {
        model: Model::Flash,
        command_ns: command as u64,
        read_bytes_per_s: rate,
        command_interval_ns: if overlaps { interval } else { 0 },
        queue_depth: NonZeroU32::new(depth).unwrap_or(NonZeroU32::MIN),
        ..Storage::default()
    };
    let error = |bytes: u64, ns: u64| (command + per_byte * bytes as f64) / ns as f64 - 1.0;
    Some(Fitted {
        small_ns: [
            at(measured.small_ns, 0.05),
            small,
            at(measured.small_ns, 0.95),
        ],
        small_error: error(measured.small_bytes, small),
        large_error: error(large_bytes, large),
        storage,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;
    use crate::{Device, Kind, Request};

    /// Reads of the model itself: the fit gives its figures again.
    #[test]
    fn the_figures_of_a_modelled_card_come_back() {
        let card = Storage {
            model: Model::Flash,
            command_ns: 735_000,
            read_bytes_per_s: 20_000_000,
            ..Storage::default()
        };
        let mut device = Device::new(card.clone(), 1 << 30);
        let mut now = 0;
        let mut read = |at: u64, bytes: u64| {
            let request = Request {
                kind: Kind::Read,
                at,
                bytes,
            };
            let done = device.submit(now, request);
            let took = done - now;
            now = done;
            took
        };
        let small: Vec<u64> = (0..50)
            .map(|n| read(n * 7_340_032 % (1 << 29), 4096))
            .collect();
        let large: Vec<(u64, u64)> = (0..8).map(|n| (1 << 20, read(n << 20, 1 << 20))).collect();
        // One at a time takes as long together as one after another.
        let parallel = Some((50, small.iter().sum()));
        let fitted = fit(&Measured {
            small_bytes: 4096,
            small_ns: &small,
            large: &large,
            parallel,
        })
        .unwrap();
        let near = |found: u64, true_: u64| found.abs_diff(true_) * 1_000 <= true_;
        assert!(near(fitted.storage.command_ns, 735_000), "{fitted:?}");
        assert!(
            near(fitted.storage.read_bytes_per_s, 20_000_000),
            "{fitted:?}"
        );
        assert_eq!(fitted.storage.queue_depth, NonZeroU32::MIN);
        assert!(fitted.small_error.abs() < 1e-3 && fitted.large_error.abs() < 1e-3);
    }

    #[test]
    fn reads_that_overlap_tell_the_depth() {
        let fitted = fit(&Measured {
            small_bytes: 4096,
            small_ns: &[150_000; 20],
            large: &[(1 << 20, 7_000_000); 4],
            parallel: Some((256, 256 * 25_000)),
        })
        .unwrap();
        assert_eq!(fitted.storage.command_interval_ns, 25_000);
        assert_eq!(fitted.storage.queue_depth.get(), 6);
        assert_eq!(fit(&Measured::default()), None);
    }
}
