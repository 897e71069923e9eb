//! Periodic readings, in few numbers each.

use crate::place::Place;
use record::{Nanos, Record, Sample, Series, Unit};

/// How many stretches of equal length a series is shown in.
const STRETCHES: usize = 40;

/// A series of readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readings {
    /// What was read: `cpu.user`.
    pub name: String,
    /// Of which one: `sda`; `None` for the whole machine.
    pub of: Option<String>,
    /// What the values count.
    pub unit: Unit,
    /// How many readings there are.
    pub samples: usize,
    /// When the first one was taken.
    pub first: Nanos,
    /// When the last one was taken.
    pub last: Nanos,
    /// The least value.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
    /// The mean of the values, each weighed by the time since the one before.
    pub mean: i64,
    /// The greatest value in each of some stretches of equal length, from the
    /// first reading of any series to the last; `None` without a reading.
    pub peaks: Vec<Option<i64>>,
    /// The evidence.
    pub origin: Place,
}

/// All series with readings: those of the whole machine first, then by what
/// they are of, and by name.
#[must_use]
pub fn readings(record: &Record) -> Vec<Readings> {
    let times = || record.series().iter().flat_map(|s| &s.samples);
    let first = times().map(|s| s.at).min();
    let last = times().map(|s| s.at).max();
    let (Some(first), Some(last)) = (first, last) else {
        return Vec::new();
    };
    let all = record.series().iter();
    let all = all.filter_map(|s| of_series(record, s, (first, last)));
    let mut all: Vec<Readings> = all.collect();
    all.sort_by(|a, b| (&a.of, &a.name).cmp(&(&b.of, &b.name)));
    all
}

fn of_series(record: &Record, series: &Series, whole: (Nanos, Nanos)) -> Option<Readings> {
    let samples = &series.samples;
    let values = || samples.iter().map(|s| s.value);
    Some(Readings {
        name: record.name(series.name).to_owned(),
        of: series.of.map(|of| record.name(of).to_owned()),
        unit: series.unit,
        samples: samples.len(),
        first: samples.first()?.at,
        last: samples.last()?.at,
        min: values().min()?,
        max: values().max()?,
        mean: mean(samples),
        peaks: peaks(samples, whole),
        origin: Place::of(record, series.origin),
    })
}

fn mean(samples: &[Sample]) -> i64 {
    let (mut sum, mut time) = (0_i128, 0_i128);
    for pair in samples.windows(2) {
        let [before, sample] = pair else { continue };
        let step = i128::from((sample.at - before.at).get());
        sum += i128::from(sample.value) * step;
        time += step;
    }
    let mean = match sum.checked_div(time) {
        Some(mean) => mean,
        // One reading, or all at one time.
        None => {
            let sum: i128 = samples.iter().map(|s| i128::from(s.value)).sum();
            sum.checked_div(samples.len() as i128).unwrap_or(0)
        }
    };
    i64::try_from(mean).unwrap_or(i64::MAX)
}

fn peaks(samples: &[Sample], (first, last): (Nanos, Nanos)) -> Vec<Option<i64>> {
    let mut peaks = vec![None; STRETCHES];
    let length = i128::from((last - first).get()).max(1);
    for s in samples {
        let at = i128::from((s.at - first).get()) * STRETCHES as i128 / length;
        let at = usize::try_from(at).unwrap_or(0).min(STRETCHES - 1);
        if let Some(peak) = peaks.get_mut(at) {
            *peak = (*peak).max(Some(s.value));
        }
    }
    peaks
}

#[cfg(test)]
mod tests {
    use super::{STRETCHES, mean, peaks};
    use record::{Nanos, Sample};

    fn samples(of: &[(i64, i64)]) -> Vec<Sample> {
        let sample = |&(at, value)| Sample {
            at: Nanos(at),
            value,
        };
        of.iter().map(sample).collect()
    }

    #[test]
    fn the_mean_goes_by_time() {
        assert_eq!(mean(&samples(&[(0, 99), (10, 100), (40, 0)])), 25);
        assert_eq!(mean(&samples(&[(5, 7)])), 7);
        assert_eq!(mean(&samples(&[(5, 7), (5, 9)])), 8);
        assert_eq!(mean(&[]), 0);
    }

    #[test]
    fn peaks_stand_where_they_were() {
        let of = samples(&[(0, 1), (1, 5), (500, 3), (1_000, 2)]);
        let peaks = peaks(&of, (Nanos(0), Nanos(1_000)));
        assert_eq!(peaks.len(), STRETCHES);
        assert_eq!((peaks[0], peaks[1]), (Some(5), None));
        assert_eq!((peaks[20], peaks[39]), (Some(3), Some(2)));
    }
}
