//! Whether requests follow each other on the device.

use super::figures::carries_data;
use record::{Device, Nanos, Request};
use std::collections::BTreeMap;

const SECTOR_BYTES: u64 = 512;

/// How far apart requests that followed each other lay on their device, in the
/// order in which the device got them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// How many followed another one.
    pub followed: u64,
    /// How many of them began where the one before it ended.
    pub sequential: u64,
    /// How many began before that.
    pub backward: u64,
    /// How far the others were away from there, half of them at most, in bytes.
    pub median_distance: u64,
    /// The mean of it, in bytes.
    pub mean_distance: u64,
}

impl Sequence {
    pub(super) fn of(requests: &[Request]) -> Self {
        let time = |r: &Request| r.issued.get().or(r.first());
        let with_data = |r: &&Request| carries_data(r.operation) && r.bytes > 0;
        let timed = || {
            let all = requests.iter().filter(with_data);
            all.filter_map(|r| Some((time(r)?, r)))
        };
        let key = |(at, r): &(Nanos, &Request)| (*at, r.origin, r.sector);
        // Mostly the device gets requests in the order in which they were asked for.
        if timed().is_sorted_by_key(|r| key(&r)) {
            return Self::of_ordered(timed().map(|(_, r)| r), requests.len());
        }
        let mut ordered = Vec::with_capacity(requests.len());
        ordered.extend(timed());
        ordered.sort_unstable_by_key(key);
        Self::of_ordered(ordered.into_iter().map(|(_, r)| r), requests.len())
    }

    /// Of at most so many requests, in the order in which the device got them.
    fn of_ordered<'r>(requests: impl Iterator<Item = &'r Request>, most: usize) -> Self {
        let mut sequence = Self::default();
        let mut distances = Vec::with_capacity(most);
        let mut ends: BTreeMap<Device, u64> = BTreeMap::new();
        for r in requests {
            let end = r.sector.saturating_add(r.bytes / SECTOR_BYTES);
            let Some(before) = ends.insert(r.device, end) else {
                continue;
            };
            sequence.followed += 1;
            sequence.backward += u64::from(r.sector < before);
            match r.sector.abs_diff(before) {
                0 => sequence.sequential += 1,
                apart => distances.push(apart.saturating_mul(SECTOR_BYTES)),
            }
        }
        if !distances.is_empty() {
            let count = distances.len() as u128;
            let sum: u128 = distances.iter().map(|d| u128::from(*d)).sum();
            sequence.mean_distance = u64::try_from(sum / count).unwrap_or(u64::MAX);
            let middle = (distances.len() - 1) / 2;
            sequence.median_distance = *distances.select_nth_unstable(middle).1;
        }
        sequence
    }
}
