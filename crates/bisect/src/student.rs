//! Student's distribution with a whole number of degrees of freedom.

use std::f64::consts::PI;

/// The probability that |t| is at least this large by chance. Exact finite sums
/// (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).
pub fn two_sided(t: f64, df: usize) -> f64 {
    if !t.is_finite() {
        return 0.0;
    }
    let df = df.clamp(1, 400);
    let theta = (t.abs() / (df as f64).sqrt()).atan();
    let cos2 = theta.cos().powi(2);
    let inside = if df % 2 == 1 {
        let mut sum = 0.0;
        let mut term = theta.cos();
        for k in (3..=df).step_by(2) {
            sum += term;
            term *= cos2 * (k - 1) as f64 / k as f64;
        }
        2.0 / PI * (theta + theta.sin() * sum)
    } else {
        let mut sum = 0.0;
        let mut term = 1.0;
        for k in (2..=df).step_by(2) {
            sum += term;
            term *= cos2 * (k - 1) as f64 / k as f64;
        }
        theta.sin() * sum
    };
    (1.0 - inside).clamp(0.0, 1.0)
}

/// The t that chance exceeds on either side with this probability.
pub fn critical(p: f64, df: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        match two_sided(middle, df) > p {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::{critical, two_sided};

    /// Values of printed tables.
    #[test]
    fn critical_values_are_those_of_the_tables() {
        for (p, df, t) in [
            (0.01, 1, 63.657),
            (0.01, 2, 9.925),
            (0.01, 5, 4.032),
            (0.05, 10, 2.228),
            (0.001, 29, 3.659),
        ] {
            let found = critical(p, df);
            assert!((found - t).abs() < 0.001 * t, "{df}: {found}");
            assert!((two_sided(t, df) - p).abs() < 0.01 * p);
        }
        assert_eq!(two_sided(0.0, 7), 1.0);
        assert_eq!(two_sided(f64::INFINITY, 3), 0.0);
    }
}
