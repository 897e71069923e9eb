//! What systemd says of the whole boot at its end.

use super::at::At;
use super::units::of_systemd;
use crate::systemd::startup::{self, StartupTimes, parse_time_line};
use crate::text::lossy;
use record::{ClockId, Origin, Recorder, mark};

/// The words with which systemd ends a boot.
const FINISHED: &[u8] = b"Startup finished in ";

/// The clocks of a log, as far as it has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    /// The kernel's stamps.
    pub printk: Option<ClockId>,
    /// Whether there are a monotonic clock's, or the kernel's with their zero.
    pub by_kernel: bool,
    /// The step of the time of day.
    pub wall_step_ns: Option<u64>,
    /// Whether lines have both the kernel's stamp and the time of day.
    pub both: bool,
    /// Whether the log tells when programs began.
    pub tells_programs: bool,
}

/// The line, where no stamp of the kernel's tells when things were.
#[derive(Debug, Default)]
pub(super) struct Finished(Option<(StartupTimes, Option<At>, Origin)>);

impl Finished {
    /// Keeps the line, if it is that; whether it is.
    pub fn line(&mut self, text: &[u8], at: Option<At>, origin: Origin) -> bool {
        let words = of_systemd(text).unwrap_or(text);
        if !words.starts_with(FINISHED) {
            return false;
        }
        let Some(times) = parse_time_line(&lossy(words)).filter(|t| t.kernel.is_some()) else {
            return false;
        };
        self.0 = Some((times, at, origin));
        true
    }

    /// Records what the line says.
    pub fn record(&self, recorder: &mut Recorder, clocks: Clocks) {
        let Some((times, at, origin)) = &self.0 else {
            return;
        };
        let before = times.firmware.unwrap_or_default() + times.loader.unwrap_or_default();
        // The kernel's own stamps are better.
        if clocks.by_kernel {
            let of_kernel = clocks.printk.zip(times.total);
            let of_kernel = of_kernel.map(|(clock, total)| (clock, (total - before).get()));
            // The time of day is too coarse where both are known.
            let of_line = at.map(|at| (at.clock, at.ns));
            let of_line = of_line.filter(|_| !clocks.both || of_kernel.is_none());
            if let Some((clock, ns)) = of_line.or(of_kernel) {
                recorder.mark(clock, mark::STARTUP_FINISHED, ns, None, *origin);
            }
            if let Some(printk) = clocks.printk.filter(|_| !clocks.tells_programs) {
                startup::doubts(times, *origin, recorder);
                for (name, at, phase) in startup::programs(times) {
                    recorder.mark(printk, name, at, Some(phase), *origin);
                }
            }
            return;
        }
        startup::record(times, *origin, recorder);
        if let (Some(at), Some(step), Some(total)) = (at, clocks.wall_step_ns, times.total) {
            let monotonic = recorder.clock("monotonic", record::ClockKind::Monotonic, 1_000_000);
            let finish = (monotonic, (total - before).get());
            recorder.relate((at.clock, at.ns), finish, step, Some(*origin));
        }
    }
}
