//! How the host's clock relates to the kernel's.

use super::notes::{FEW_KERNEL_STAMPS, LOADER_CLOCK_JOINED};
use record::{ClockId, ClockKind, Origin, Recorder};

/// A line that crosses a serial line at 9600 baud, 80 characters of 10 bits,
/// takes 83 ms; without a spread of many lines, a delay can be of that order.
const UNKNOWN_DELAY_NS: u64 = 100_000_000;

/// On embedded boards 17 to 1700 ms passed before the kernel's clock ran (Tim
/// Bird's figures with his early-times patch for printk, 2026).
const BEFORE_KERNEL_CLOCK_NS: u64 = 1_700_000_000;

/// Lines with both clocks' stamps.
#[derive(Debug, Default)]
pub(super) struct Relation {
    /// The host's stamp minus the kernel's, of each line.
    differences: Vec<i64>,
    /// The line with the least difference: host, kernel, place.
    closest: Option<(i64, i64, Origin)>,
}

impl Relation {
    /// A line that the kernel stamped, and the host when it arrived.
    pub(super) fn add(&mut self, host: i64, kernel: i64, origin: Origin) {
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
    pub(super) fn record(mut self, serial: ClockId, recorder: &mut Recorder) {
        let Some((host, kernel, origin)) = self.closest else {
            return;
        };
        let least = host.saturating_sub(kernel);
        let middle = self.differences.len() / 2;
        let error = if self.differences.len() < 3 {
            recorder.note(origin, &FEW_KERNEL_STAMPS, String::new);
            UNKNOWN_DELAY_NS
        } else {
            let (_, median, _) = self.differences.select_nth_unstable(middle);
            median.saturating_sub(least).unsigned_abs()
        };
        let printk = recorder.clock("printk", ClockKind::Printk, 1_000);
        recorder.relate((serial, host), (printk, kernel), error, Some(origin));
    }
}
