//! Whether requests follow each other on the device.

use super::carries_data;
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
        let time = |r: &Request| r.issued.or(r.first());
        let with_data = |r: &&Request| carries_data(r.operation) && r.bytes > 0;
        let mut ordered: Vec<(Nanos, &Request)> = requests
            .iter()
            .filter(with_data)
            .filter_map(|r| Some((time(r)?, r)))
            .collect();
        ordered.sort_unstable_by_key(|(at, r)| (*at, r.origin, r.sector));
        let mut sequence = Self::default();
        let mut distances = Vec::new();
        let mut ends: BTreeMap<Device, u64> = BTreeMap::new();
        for (_, r) in ordered {
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
