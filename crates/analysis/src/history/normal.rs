//! The normal distribution, and scores that give any values its shape.

use record::Nanos;

/// The value below which the part `p` of a standard normal distribution lies: algorithm
/// AS 241, PPND7 (Wichura, 1988), good to seven digits.
pub(super) fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        let above = ((5.910_937_472e1 * r + 1.592_911_320_2e2) * r + 5.043_427_193_8e1) * r
            + 3.387_132_717_9;
        let below = ((6.718_756_36e1 * r + 7.875_775_766_4e1) * r + 1.789_516_946_9e1) * r + 1.0;
        return q * above / below;
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-tail.max(f64::MIN_POSITIVE).ln()).sqrt();
    let (above, below) = if r <= 5.0 {
        let r = r - 1.6;
        (
            ((1.702_382_110_3e-1 * r + 1.306_728_481_6) * r + 2.756_815_39) * r + 1.423_437_277_7,
            (1.202_113_297_5e-1 * r + 7.370_016_425e-1) * r + 1.0,
        )
    } else {
        let r = r - 5.0;
        (
            ((1.733_720_399_7e-2 * r + 4.286_829_433_7e-1) * r + 3.081_226_386) * r + 6.657_905_115,
            (1.225_820_263_5e-2 * r + 2.419_789_422_5e-1) * r + 1.0,
        )
    };
    (above / below).copysign(q)
}

/// The density of the standard normal distribution.
pub(super) fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// The part of a standard normal distribution above `z`, which is not negative: Laplace's
/// continued fraction, and below 2 the rational approximation 26.2.17 of Abramowitz and
/// Stegun (1964), good to 7.5e-8.
pub(super) fn tail(z: f64) -> f64 {
    if z >= 2.0 {
        let fraction = (1..=60).rev().fold(z, |below, k| {
            z + f64::from(k) / below.max(f64::MIN_POSITIVE)
        });
        return density(z) / fraction;
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * z.max(0.0));
    let factors = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let sum = factors.iter().rev().fold(0.0, |sum, f| (sum + f) * t);
    density(z.max(0.0)) * sum
}

/// Blom's normal scores (1958) of `values`, with mean zero and variance one; equal values
/// have equal scores. `None` if all are equal.
///
/// They depend on the ranks only, so an outlier is no more than the largest of its kind,
/// and sums of some of them are nearly normal however few there are.
pub(super) fn scores(values: &[Nanos]) -> Option<Vec<f64>> {
    let count = values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by_key(|i| values.get(*i));
    let mut scores = vec![0.0; count];
    let mut from = 0;
    while let Some(value) = order.get(from).and_then(|i| values.get(*i)) {
        let equal = order.iter().skip(from);
        let equal = equal.take_while(|i| values.get(**i) == Some(value)).count();
        // The middle of the ranks of the equal ones, from 1.
        let rank = from as f64 + (equal as f64 + 1.0) / 2.0;
        let score = quantile((rank - 0.375) / (count as f64 + 0.25));
        for i in order.iter().skip(from).take(equal) {
            if let Some(place) = scores.get_mut(*i) {
                *place = score;
            }
        }
        from += equal;
    }
    let mean = scores.iter().sum::<f64>() / count as f64;
    let variance = scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / count as f64;
    if variance <= 1e-12 || variance.is_nan() {
        return None;
    }
    let deviation = variance.sqrt();
    Some(scores.iter().map(|s| (s - mean) / deviation).collect())
}

#[cfg(test)]
mod tests {
    use super::{quantile, scores, tail};
    use record::Nanos;

    /// Figures of R's `qnorm` and `pnorm`.
    #[test]
    fn quantiles_and_tails_are_those_of_others() {
        for (p, z) in [
            (0.5, 0.0),
            (0.975, 1.959_964),
            (0.001, -3.090_232),
            (0.6, 0.253_347_1),
            (1e-12, -7.034_484),
        ] {
            assert!((quantile(p) - z).abs() < 1e-5, "{p}: {}", quantile(p));
        }
        for (z, p) in [
            (0.0, 0.5),
            (1.0, 0.158_655_3),
            (1.959_964, 0.025),
            (3.0, 1.349_898e-3),
            (6.0, 9.865_876e-10),
        ] {
            let off = (tail(z) - p).abs() / p;
            assert!(off < 1e-5, "{z}: {}", tail(z));
        }
    }

    #[test]
    fn scores_are_those_of_ranks() {
        let of = |values: &[i64]| {
            let values: Vec<Nanos> = values.iter().copied().map(Nanos).collect();
            scores(&values)
        };
        let a = of(&[3, 1, 2, 9]).unwrap();
        assert_eq!(a, of(&[30, 10, 20, 9_000_000]).unwrap());
        assert!(a.iter().sum::<f64>().abs() < 1e-12);
        let ties = of(&[5, 5, 7, 1]).unwrap();
        assert_eq!(ties[0].to_bits(), ties[1].to_bits());
        assert_eq!(of(&[4, 4, 4]), None);
        assert_eq!(of(&[]), None);
    }
}
