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

/// Stamps of this step or less are as good as a UART's.
const FINE_NS: u64 = 1_000_000;

/// A line with both clocks' stamps: host, kernel, place.
type Pair = (i64, i64, Origin);

/// Lines with both clocks' stamps.
#[derive(Debug, Default)]
pub(super) struct Relation {
    /// The host's stamp minus the kernel's, of each line.
    differences: Vec<i64>,
    /// The line with the least difference.
    closest: Option<Pair>,
    /// Lines that came after a silence.
    fresh: Vec<Pair>,
}

impl Relation {
    /// A line that the kernel stamped, and the host when it arrived; how long
    /// the console had been silent before.
    pub(super) fn add(&mut self, host: i64, kernel: i64, silence: i64, origin: Origin) {
        if silence >= SILENCE_NS {
            self.fresh.push((host, kernel, origin));
        }
        let difference = host.saturating_sub(kernel);
        let least = self.closest.map(|(h, k, _)| h.saturating_sub(k));
        if least.is_none_or(|least| difference < least) {
            self.closest = Some((host, kernel, origin));
        }
        self.differences.push(difference);
    }

    /// Relates the loader's own clock, that of its last line `at`, to the kernel's
    /// zero, where no line has both.
    ///
    /// The kernel's zero comes after that line, by what the image's own code
    /// and the kernel need until its clock runs.
    pub(super) fn join(&self, at: Option<(ClockId, i64)>, origin: Origin, recorder: &mut Recorder) {
        let (Some(at), true) = (at, self.differences.is_empty()) else {
            return;
        };
        recorder.note(origin, &LOADER_CLOCK_JOINED, String::new);
        let printk = recorder.clock("printk", ClockKind::Printk, 1_000);
        recorder.relate(at, (printk, 0), BEFORE_KERNEL_CLOCK_NS, Some(origin));
    }

    /// Relates the clocks by the line that arrived with the least delay.
    ///
    /// A line arrives after the kernel stamped it, never before: buffered lines
    /// much later (all that was logged before the console was enabled), others
    /// by what the line before still needs. So the least difference is nearest
    /// to the truth. What delay it holds itself cannot be seen; it is taken to
    /// be no more than what half of the lines needed beyond the fastest, which
    /// is the error bound.
    ///
    /// The host's stamps have steps of `step_ns`, and a line came at any time within
    /// its step: where that is coarse, half of a step is added to both.
    pub(super) fn record(mut self, serial: ClockId, step_ns: u64, recorder: &mut Recorder) {
        let Some((host, kernel, origin)) = self.closest else {
            return;
        };
        let least = host.saturating_sub(kernel);
        let from = kernel;
        let middle = self.differences.len() / 2;
        let error = if self.differences.len() < 3 {
            recorder.note(origin, &FEW_KERNEL_STAMPS, String::new);
            UNKNOWN_DELAY_NS
        } else {
            let (_, median, _) = self.differences.select_nth_unstable(middle);
            median.saturating_sub(least).unsigned_abs()
        };
        let printk = recorder.clock("printk", ClockKind::Printk, 1_000);
        let parted = self.parted((host, kernel, origin));
        let by = parted.map_or(0, |p| difference(p).saturating_sub(least));
        let half = if step_ns > FINE_NS { step_ns / 2 } else { 0 };
        let error = error.max(by.unsigned_abs()).saturating_add(half);
        let host = host.saturating_add(i64::try_from(half).unwrap_or(0));
        recorder.relate((serial, host), (printk, kernel), error, Some(origin));
        // Times between the two stay as the kernel stamped them: what took long
        // by its own clock must not depend on who listened.
        if let Some((_, kernel, origin)) = parted {
            recorder.note(origin, &CLOCKS_PART, || {
                let since = Nanos(kernel.saturating_sub(from));
                format!("{} over {since} of kernel time", Nanos(by))
            });
        }
    }

    /// Where the clocks have parted after `closest`, if they have.
    ///
    /// A line that comes after a silence waits for nothing, so its difference is
    /// what the clocks say. If all of them from one on differ by more than
    /// jitter, one clock was set or lost time, or they run unevenly.
    fn parted(&self, closest: Pair) -> Option<Pair> {
        let after = self.fresh.partition_point(|p| p.1 <= closest.1);
        let fresh = self.fresh.get(after..)?;
        let agree = |p: &&Pair| {
            let by = difference(**p).saturating_sub(difference(closest));
            by <= JITTER_NS
        };
        let last_agreed = fresh.iter().rposition(|p| agree(&p));
        let parted = fresh.get(last_agreed.map_or(0, |at| at + 1)..)?;
        if parted.len() < WITNESSES {
            return None;
        }
        parted.iter().copied().min_by_key(|p| difference(*p))
    }
}

fn difference((host, kernel, _): Pair) -> i64 {
    host.saturating_sub(kernel)
}
