//! How the host's clock relates to the kernel's.

use super::notes::{CLOCKS_PART, FEW_KERNEL_STAMPS, LOADER_CLOCK_JOINED};
use record::{ClockId, ClockKind, Nanos, Origin, Recorder};

/// A line that crosses a serial line at 9600 baud, 80 characters of 10 bits,
/// takes 83 ms; without a spread of many lines, a delay can be of that order.
const UNKNOWN_DELAY_NS: u64 = 100_000_000;

/// On embedded boards 17 to 1700 ms passed before the kernel's clock ran (Tim
/// Bird's figures with his early-times patch for printk, 2026).
const BEFORE_KERNEL_CLOCK_NS: u64 = 1_700_000_000;

/// A line that comes after the console was silent for this long did not wait
/// for another one.
const SILENCE_NS: i64 = 20_000_000;

/// Two clocks that part by less are said to agree: an operating system's jitter.
const JITTER_NS: i64 = 20_000_000;

/// How many lines must say that the clocks have parted.
const WITNESSES: usize = 5;

/// How often clocks are followed where they part.
const MOST_POINTS: usize = 1_000;

/// A line with both clocks' stamps: host, kernel, place.
type Pair = (i64, i64, Origin);

/// Lines with both clocks' stamps.
#[derive(Debug, Default)]
pub(super) struct Relation {
    all: Vec<(i64, i64)>,
    /// The line with the least difference of host and kernel.
    closest: Option<Pair>,
    /// Lines that came after a silence.
    fresh: Vec<Pair>,
}

impl Relation {
    /// A line that the kernel stamped, and the host when it arrived; how long
    /// the console had been silent before.
    pub(super) fn add(&mut self, host: i64, kernel: i64, silence: i64, origin: Origin) {
        let pair = (host, kernel, origin);
        if silence >= SILENCE_NS {
            self.fresh.push(pair);
        }
        let least = self.closest.map(difference);
        if least.is_none_or(|least| difference(pair) < least) {
            self.closest = Some(pair);
        }
        self.all.push((host, kernel));
    }

    /// Relates the loader's own clock, that of its last line `at`, to the kernel's
    /// zero, where no line has both.
    ///
    /// The kernel's zero comes after that line, by what the image's own code
    /// and the kernel need until its clock runs.
    pub(super) fn join(&self, at: Option<(ClockId, i64)>, origin: Origin, recorder: &mut Recorder) {
        let (Some(at), true) = (at, self.all.is_empty()) else {
            return;
        };
        recorder.note(origin, &LOADER_CLOCK_JOINED, String::new);
        let printk = recorder.clock("printk", ClockKind::Printk, 1_000);
        recorder.relate(at, (printk, 0), BEFORE_KERNEL_CLOCK_NS, Some(origin));
    }

    /// Relates the clocks by the line that arrived with the least delay, or by
    /// several where the clocks part.
    ///
    /// A line arrives after the kernel stamped it, never before: buffered lines
    /// much later (all that was logged before the console was enabled), others
    /// by what the line before still needs. So the least difference is nearest
    /// to the truth. What delay it holds itself cannot be seen; it is taken to
    /// be no more than what half of the lines needed beyond the fastest, which
    /// is the error bound.
    pub(super) fn record(self, serial: ClockId, recorder: &mut Recorder) {
        let Some(closest) = self.closest else {
            return;
        };
        let printk = recorder.clock("printk", ClockKind::Printk, 1_000);
        if self.all.len() < 3 {
            let (host, kernel, origin) = closest;
            recorder.note(origin, &FEW_KERNEL_STAMPS, String::new);
            let error = UNKNOWN_DELAY_NS;
            recorder.relate((serial, host), (printk, kernel), error, Some(origin));
            return;
        }
        let points = self.points(closest);
        let error = self.error(&points);
        if let [(_, from, origin), .., (_, to, _)] = points[..] {
            recorder.note(origin, &CLOCKS_PART, || {
                let rise = points.last().map_or(0, |p| difference(*p)) - difference(points[0]);
                let seconds =
                    |ns: i64| format!("{}.{:03} s", ns / 1_000_000_000, ns / 1_000_000 % 1_000);
                format!(
                    "by {} between {} and {} of the kernel's clock",
                    Nanos(rise),
                    seconds(from),
                    seconds(to)
                )
            });
        }
        for (host, kernel, origin) in points {
            recorder.relate((serial, host), (printk, kernel), error, Some(origin));
        }
    }

    /// The lines that relate the clocks: the closest, and others after it where
    /// the clocks part by more than jitter.
    ///
    /// A line that comes after a silence waits for nothing, so its difference is
    /// what the clocks say, and a little. Where all such lines from one on differ
    /// by more, the kernel's clock lost time. (Where it gained some, earlier
    /// lines look late, and nothing tells that from lines that are.)
    fn points(&self, closest: Pair) -> Vec<Pair> {
        let after = self.fresh.partition_point(|p| p.0 <= closest.0);
        let fresh = self.fresh.get(after..).unwrap_or_default();
        // From the end: those that differ less than all that come later.
        let mut lowest: Vec<Pair> = Vec::new();
        for (later, &pair) in fresh.iter().rev().enumerate() {
            let lower = lowest
                .last()
                .is_none_or(|l| difference(pair) < difference(*l));
            if lower && later + 1 >= WITNESSES {
                lowest.push(pair);
            } else if lower {
                // Too few come later to say so: they may all be late.
                lowest.clear();
            }
        }
        let mut points = vec![closest];
        let mut before = closest;
        for &pair in lowest.iter().rev() {
            let last = points.last().map_or(closest, |p| *p);
            let parts = difference(pair).saturating_sub(difference(last)) > JITTER_NS;
            if parts && pair.1 > last.1 && points.len() < MOST_POINTS {
                // Up to the line before, the clocks agreed.
                if before.1 > last.1 && before.1 < pair.1 {
                    points.push(before);
                }
                points.push(pair);
            }
            before = pair;
        }
        points
    }

    /// What half of the lines needed beyond what `points` say; where the clocks
    /// part, jitter too.
    fn error(&self, points: &[Pair]) -> u64 {
        let late = |&(host, kernel): &(i64, i64)| {
            let after = points.partition_point(|p| p.1 <= kernel);
            let before = after.checked_sub(1).and_then(|i| points.get(i));
            let offset = match (before, points.get(after)) {
                (Some(&a), Some(&b)) => {
                    let (run, rise) = (b.1 - a.1, difference(b) - difference(a));
                    let part = i128::from(kernel - a.1) * i128::from(rise) / i128::from(run.max(1));
                    difference(a).saturating_add(i64::try_from(part).unwrap_or(rise))
                }
                (Some(&p), None) | (None, Some(&p)) => difference(p),
                (None, None) => 0,
            };
            host.saturating_sub(kernel).saturating_sub(offset)
        };
        let mut late: Vec<i64> = self.all.iter().map(late).collect();
        let middle = late.len() / 2;
        let (_, median, _) = late.select_nth_unstable(middle);
        let jitter = if points.len() > 1 { JITTER_NS } else { 0 };
        median.max(&mut 0).saturating_add(jitter).unsigned_abs()
    }
}

const fn difference((host, kernel, _): Pair) -> i64 {
    host.saturating_sub(kernel)
}
