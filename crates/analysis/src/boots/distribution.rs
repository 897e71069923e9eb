//! How the same time is distributed over several boots.

use crate::effect::{median, range};
use crate::statistics::{median_deviation, outliers};
use record::Nanos;

/// A time over several boots.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// In how many boots it occurs; at least one.
    pub boots: usize,
    /// The mean, rounded to a nanosecond. One odd boot moves it: see the median.
    pub mean: Nanos,
    /// The standard deviation of the boots as a sample (over one less than their
    /// number); `None` of one boot.
    pub deviation: Option<Nanos>,
    /// The median.
    pub median: Nanos,
    /// The median distance from the median.
    pub median_deviation: Nanos,
    /// The least.
    pub least: Nanos,
    /// The most.
    pub most: Nanos,
    /// The medians of the lower and of the upper half; the middle boot is in both
    /// (Tukey's hinges, 1977).
    pub quartiles: (Nanos, Nanos),
    /// The boots far from the median, by the modified z-score (see
    /// [`outliers`](crate::outliers)), in their order. They count like all others.
    pub outliers: Vec<Nanos>,
    /// The boots further from the quartiles than one and a half times what lies
    /// between these (Tukey's fences), in their order.
    pub beyond_fences: Vec<Nanos>,
}

impl Distribution {
    /// Of `values`; `None` of nothing.
    pub(super) fn of(values: &[Nanos]) -> Option<Self> {
        let (least, most) = range(values)?;
        let count = values.len() as f64;
        // From the least: the sum of few numbers stays exact.
        let above = |v: &Nanos| (*v - least).get() as f64;
        let mean = values.iter().map(above).sum::<f64>() / count;
        let squares: f64 = values.iter().map(|v| (above(v) - mean).powi(2)).sum();
        let deviation = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
        let quartiles = hinges(values)?;
        let fence = (quartiles.1 - quartiles.0).get() as f64 * 1.5;
        let beyond = |v: &&Nanos| {
            (quartiles.0 - **v).get() as f64 > fence || (**v - quartiles.1).get() as f64 > fence
        };
        let far = outliers(values).into_iter();
        Some(Self {
            boots: values.len(),
            mean: least + Nanos(mean.round() as i64),
            deviation: deviation.map(|d| Nanos(d.round() as i64)),
            median: median(values)?,
            median_deviation: median_deviation(values)?,
            least,
            most,
            quartiles,
            outliers: far.filter_map(|i| values.get(i).copied()).collect(),
            beyond_fences: values.iter().filter(beyond).copied().collect(),
        })
    }
}

/// The medians of the two halves of `values`, the middle one in both.
fn hinges(values: &[Nanos]) -> Option<(Nanos, Nanos)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let half = sorted.len().div_ceil(2);
    let lower = median(sorted.get(..half)?)?;
    let upper = median(sorted.get(sorted.len() - half..)?)?;
    Some((lower, upper))
}

#[cfg(test)]
mod tests {
    use super::Distribution;
    use record::Nanos;

    fn ms(values: &[i64]) -> Vec<Nanos> {
        values.iter().copied().map(Nanos::from_millis).collect()
    }

    /// Ten starts of a userspace, one of them odd, with what R makes of them: `mean`,
    /// `sd`, `median`, `mad(constant=1)`, `fivenum`, `boxplot.stats`.
    #[test]
    fn statistics_are_those_of_others() {
        let userspace = [
            18_819, 18_888, 18_811, 18_799, 18_605, 29_138, 18_949, 19_109, 19_024, 18_911,
        ];
        let d = Distribution::of(&ms(&userspace)).unwrap();
        let us = |t: Nanos| (t.get() + 500) / 1_000;
        let middle = (d.boots, us(d.mean), us(d.median));
        assert_eq!(middle, (10, 19_905_300, 18_899_500));
        assert_eq!(us(d.deviation.unwrap()), 3_246_944);
        assert_eq!(us(d.median_deviation), 94_500);
        let quartiles = (us(d.quartiles.0), us(d.quartiles.1));
        assert_eq!(quartiles, (18_811_000, 19_024_000));
        assert_eq!(d.outliers, ms(&[29_138]));
        assert_eq!(d.beyond_fences, ms(&[29_138]));
    }

    #[test]
    fn few_boots_have_what_there_is_of_them() {
        let one = Distribution::of(&ms(&[7])).unwrap();
        assert_eq!((one.deviation, one.median_deviation), (None, Nanos::ZERO));
        // The middle one is in both halves.
        let three = Distribution::of(&ms(&[3, 1, 8])).unwrap();
        assert_eq!(three.quartiles, (Nanos::from_millis(2), Nanos(5_500_000)));
        assert_eq!(Distribution::of(&[]), None);
        let wide = Distribution::of(&[Nanos(i64::MIN), Nanos(i64::MAX), Nanos(0)]).unwrap();
        assert!(wide.least < wide.most);
    }
}
