//! How values scatter around their levels, as it was seen.

use record::Nanos;

/// In fewer points the shape of a scatter cannot be told.
pub(super) const TELLS_SHAPE: usize = 60;
/// Nor can it where there are fewer different values: whole ticks of a coarse clock have gaps
/// between them.
const DIFFERENT: usize = 30;

/// Now and then a boot is anywhere: so often, and so many deviations away on average.
const ANYWHERE: f64 = 0.03;
const FAR: f64 = 10.0;

/// How far the table reaches, in deviations. Beyond it nothing is said but that a boot can be
/// anywhere.
const REACHES: f64 = 60.0;

/// Cells of the table for half the width of a kernel.
const CELLS: f64 = 16.0;

/// A scatter is no narrower than this part of the step beside it: exact boots do not scatter.
const NARROWEST: f64 = 0.02;

/// The densest quarter of a normal distribution is so many deviations wide, and its median distance
/// from the middle is one deviation divided by [`OF_MEDIAN`].
const OF_QUARTER: f64 = 0.637_28;
const OF_MEDIAN: f64 = 1.4826;

/// Values around two levels.
pub(super) struct Scatter<'a> {
    pub values: &'a [f64],
    /// The first value of the second level.
    pub at: usize,
    /// The medians of both.
    pub levels: (f64, f64),
    density: Density,
}

impl<'a> Scatter<'a> {
    /// `None` if one of the levels has no values.
    pub(super) fn around(values: &'a [f64], at: usize) -> Option<Self> {
        let (first, second) = values.split_at_checked(at)?;
        let levels = (middle(first)?, middle(second)?);
        let rest =
            |part: &[f64], level: f64| -> Vec<f64> { part.iter().map(|v| v - level).collect() };
        let rest = [rest(first, levels.0), rest(second, levels.1)].concat();
        let density = Density::of(rest, (levels.1 - levels.0).abs() * NARROWEST)?;
        Some(Self {
            values,
            at,
            levels,
            density,
        })
    }

    /// The level of a place.
    pub(super) fn level(&self, place: usize) -> f64 {
        match place < self.at {
            true => self.levels.0,
            false => self.levels.1,
        }
    }

    /// The standard deviation of a normal scatter that has the same median distance.
    pub(super) fn deviation(&self) -> f64 {
        self.density.deviation
    }

    /// That of the densest part, if it is narrower.
    pub(super) fn inner_deviation(&self) -> f64 {
        self.density.inner
    }

    /// The logarithm of the likelihood of one value if its level were `level`, by the scatter of
    /// the others.
    pub(super) fn logarithm(&self, place: usize, value: f64, level: f64) -> f64 {
        self.density
            .logarithm(value - level, value - self.level(place))
    }
}

/// A density by Epanechnikov's kernels, in a table.
struct Density {
    deviation: f64,
    inner: f64,
    /// Half the width of a kernel.
    width: f64,
    /// How many values it is of.
    count: f64,
    /// The first cell's beginning, and the width of each.
    from: f64,
    cell: f64,
    /// The sums of the kernels at the cells' beginnings.
    sums: Vec<f64>,
}

impl Density {
    fn of(mut rest: Vec<f64>, narrowest: f64) -> Option<Self> {
        rest.sort_unstable_by(f64::total_cmp);
        let (first, last) = (*rest.first()?, *rest.last()?);
        let distances: Vec<f64> = rest.iter().map(|r| r.abs()).collect();
        let narrowest = narrowest.max(0.5);
        let deviation = (middle(&distances)? * OF_MEDIAN).max(narrowest);
        let quarters = rest.iter().zip(rest.iter().skip(rest.len() / 4));
        let densest = quarters.map(|(a, b)| b - a).fold(f64::MAX, f64::min) / OF_QUARTER;
        let inner = match rest.len() < TELLS_SHAPE {
            true => deviation,
            false => deviation.min(densest).max(narrowest),
        };
        // Silverman's width (1986), of the densest part: two groups are no wide one.
        let width = 2.0 * inner * (rest.len().max(2) as f64).powf(-0.2);
        let cell = width / CELLS;
        let from = first.max(-REACHES * inner) - width;
        let to = last.min(REACHES * inner) + width;
        let mut sums = vec![0.0; ((to - from) / cell).max(0.0) as usize + 2];
        for r in &rest {
            let begin = ((r - width - from) / cell).ceil().max(0.0) as usize;
            let reached = sums.iter_mut().enumerate().skip(begin);
            for (i, sum) in reached.take(2 * CELLS as usize + 1) {
                *sum += kernel((from + i as f64 * cell - r) / width);
            }
        }
        Some(Self {
            deviation,
            inner,
            width,
            count: rest.len() as f64,
            from,
            cell,
            sums,
        })
    }

    /// The logarithm of the density at `r`, without the kernel of the value itself, which is at
    /// `own`.
    fn logarithm(&self, r: f64, own: f64) -> f64 {
        let place = (r - self.from) / self.cell;
        let i = place.max(0.0) as usize;
        let sum = match (self.sums.get(i), self.sums.get(i + 1)) {
            (Some(a), Some(b)) if place >= 0.0 => a + (b - a) * (place - i as f64),
            _ => 0.0,
        };
        let others = (sum - kernel((r - own) / self.width)).max(0.0);
        let kernels = others / (self.width * self.count);
        let wide = FAR * self.deviation;
        let anywhere = 0.5 / wide * (-r.abs() / wide).exp();
        ((1.0 - ANYWHERE) * kernels + ANYWHERE * anywhere).ln()
    }
}

fn kernel(x: f64) -> f64 {
    0.75 * (1.0 - x * x).max(0.0)
}

/// Whether so many values tell the shape of their scatter.
pub(super) fn tells_shape(values: &[Nanos]) -> bool {
    let mut different = values.to_vec();
    different.sort_unstable();
    different.dedup();
    values.len() >= TELLS_SHAPE && different.len() >= DIFFERENT
}

/// Values as numbers.
pub(super) fn numbers(values: &[Nanos]) -> Vec<f64> {
    values.iter().map(|v| v.get() as f64).collect()
}

/// The median of numbers; `None` of none.
pub(super) fn middle(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    let at = sorted.len() / 2;
    if sorted.is_empty() {
        return None;
    }
    let (_, middle, _) = sorted.select_nth_unstable_by(at, f64::total_cmp);
    Some(*middle)
}
