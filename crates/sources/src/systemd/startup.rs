//! The parts of a boot as systemd sums them up.

use super::clocks::{MONOTONIC, USERSPACE_CLOCK};
use super::timespan;
use super::unit;
use record::{ClockKind, Nanos, NoteKind, Origin, Phase, Recorder, Severity, mark};

/// How long each part of a boot took, as one `Startup finished` line says it.
///
/// A part that the line does not name is `None`. The numbers are those of the
/// text, even where they cannot be right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartupTimes {
    /// From power-on to the boot loader.
    pub firmware: Option<Nanos>,
    /// The boot loader, up to the kernel.
    pub loader: Option<Nanos>,
    /// The kernel, up to the first program.
    pub kernel: Option<Nanos>,
    /// The initramfs, up to the first program of the root filesystem.
    pub initrd: Option<Nanos>,
    /// From the first program of the root filesystem to the end.
    pub userspace: Option<Nanos>,
    /// The sum as the line gives it.
    pub total: Option<Nanos>,
}

impl StartupTimes {
    fn parts(&self) -> impl Iterator<Item = Nanos> {
        [
            self.firmware,
            self.loader,
            self.kernel,
            self.initrd,
            self.userspace,
        ]
        .into_iter()
        .flatten()
    }

    /// The sum of the parts.
    #[must_use]
    pub fn sum(&self) -> Nanos {
        self.parts().fold(Nanos::ZERO, |sum, part| sum + part)
    }

    /// The printed total minus the sum of the parts, if that is more than
    /// rounding explains: systemd cuts each number to whole milliseconds, so
    /// the two may differ by one millisecond for each part.
    #[must_use]
    pub fn contradiction(&self) -> Option<Nanos> {
        let off = self.total? - self.sum();
        let parts = i64::try_from(self.parts().count()).unwrap_or(0);
        (parts > 0 && off.abs() > Nanos::from_millis(parts)).then_some(off)
    }
}

/// The one line that `systemd-analyze time` begins with, and that systemd logs
/// when a boot ends: `Startup finished in 1.452s (kernel) + 18.949s (userspace)
/// = 20.401s`. Any text before `Startup finished in ` is passed over; `None` if
/// what follows it has another form.
#[must_use]
pub fn parse_time_line(line: &str) -> Option<StartupTimes> {
    let (_, text) = line.split_once(BEGIN)?;
    parse_parts(text)
}

/// What systemd prints before the parts.
const BEGIN: &str = "Startup finished in ";

/// What people put before a line that they quote is no longer than this, in bytes.
const LONGEST_LABEL: usize = 40;

/// The line as people quote it: from its first number on, behind words of their own such as
/// `before: `, or behind the rest of systemd's words. It names at least two parts, so that no
/// other sum is taken for one.
pub(super) fn parse_quoted(line: &str) -> Option<StartupTimes> {
    let begin = line.find(|c: char| c.is_ascii_digit())?;
    let (label, text) = line.split_at_checked(begin)?;
    let is_label = |l: &str| {
        let mut words = l.chars().filter(|c| !c.is_whitespace());
        let plain = |c: char| c.is_alphabetic() || matches!(c, ':' | '-' | '*' | '=' | '(' | ')');
        l.len() <= LONGEST_LABEL && words.all(plain)
    };
    let times = is_label(label).then(|| parse_parts(text))??;
    (times.parts().count() > 1).then_some(times)
}

/// The parts and the total.
fn parse_parts(text: &str) -> Option<StartupTimes> {
    let text = text.trim().trim_end_matches('.');
    let (parts, total) = match text.split_once(" = ") {
        // A page may have joined the line with the one that follows it.
        Some((parts, total)) => {
            let (ns, rest) = timespan::prefix(total)?;
            let is_joined = rest.is_empty() || rest.contains("reached after ");
            (parts, Some(is_joined.then_some(Nanos(ns))?))
        }
        None => (text, None),
    };
    let mut times = StartupTimes {
        total,
        ..StartupTimes::default()
    };
    // A user's manager logs its total alone.
    if let (None, Some(ns)) = (total, timespan::parse(parts)) {
        times.total = Some(Nanos(ns));
        return Some(times);
    }
    for part in parts.split(" + ") {
        let (span, name) = part.trim().strip_suffix(')')?.split_once(" (")?;
        let slot = match name {
            "firmware" => &mut times.firmware,
            "loader" => &mut times.loader,
            "kernel" => &mut times.kernel,
            "initrd" => &mut times.initrd,
            "userspace" => &mut times.userspace,
            _ => return None,
        };
        if slot.replace(Nanos(timespan::parse(span)?)).is_some() {
            return None;
        }
    }
    Some(times)
}

const PARTS_DO_NOT_ADD_UP: NoteKind = NoteKind {
    name: "startup_parts_do_not_add_up",
    severity: Severity::Doubt,
    advice: "The boot phases that systemd printed do not add up to its total, so one of the \
        numbers is wrong. Compare with `systemctl show`.",
};

const USERSPACE_ONLY: NoteKind = NoteKind {
    name: "userspace_time_only",
    severity: Severity::Info,
    advice: "Only the userspace time is given, as in a container or a user manager. Times count \
        from the start of userspace.",
};

/// The target that a page joined to a `Startup finished` line, and when it was reached, in
/// nanoseconds from the start of userspace. A page that lost its name means the default one.
pub(super) fn joined_target(line: &str) -> Option<(&str, i64)> {
    let (before, after) = line.split_once(" reached after ")?;
    let after = after.trim_end().trim_end_matches('.');
    let ns = timespan::parse(after.strip_suffix(" in userspace")?)?;
    let name = before.rsplit(' ').next().filter(|n| unit::is_name(n));
    Some((name.unwrap_or(DEFAULT_TARGET), ns))
}

/// systemd's name for the target that a boot ends with.
const DEFAULT_TARGET: &str = "default.target";

/// When the parts of a boot began, in nanoseconds on the monotonic clock, or on
/// the one that counts from userspace where `kernel` is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Boundaries {
    /// The start of the firmware; it lies before zero.
    pub power_on: Option<i64>,
    /// The start of the boot loader; it lies before zero.
    pub loader: Option<i64>,
    /// The start of the kernel's clock.
    pub kernel: Option<i64>,
    /// The first program of the initramfs.
    pub initrd: Option<i64>,
    /// The first program of the root filesystem.
    pub userspace: Option<i64>,
    /// When the last job of the boot was done.
    pub finish: Option<i64>,
    /// The step of these times.
    pub resolution_ns: u64,
}

impl Boundaries {
    /// The boundaries between the printed parts.
    fn from_times(times: &StartupTimes) -> Self {
        let length = |part: Option<Nanos>| part.unwrap_or_default();
        let zero = Nanos::ZERO;
        let loader = zero - length(times.loader);
        let initrd = length(times.kernel);
        let userspace = initrd + length(times.initrd);
        Self {
            power_on: times.firmware.map(|f| (loader - f).get()),
            loader: times.loader.map(|_| loader.get()),
            kernel: times.kernel.map(|_| 0),
            initrd: times.initrd.map(|_| initrd.get()),
            userspace: times.userspace.map(|_| userspace.get()),
            // Who quotes the line may leave out its end: then this is the end of what there is.
            finish: match (times.userspace, times.kernel) {
                (None, None) => None,
                (u, _) => Some((userspace + length(u)).get()),
            },
            resolution_ns: 1_000_000,
        }
    }

    /// Marks the boundaries, and relates the clock that counts from the start
    /// of userspace to the monotonic one.
    pub(super) fn record(&self, origin: Origin, recorder: &mut Recorder) {
        let step = self.resolution_ns;
        let from_userspace = recorder.clock(USERSPACE_CLOCK, ClockKind::Monotonic, step);
        let clock = if self.kernel.is_some() {
            let clock = recorder.clock(MONOTONIC, ClockKind::Monotonic, step);
            if let Some(at) = self.userspace {
                // Kernel and initramfs were each cut to a whole step.
                let error = if step < 1_000_000 { step } else { 2 * step };
                recorder.relate((clock, at), (from_userspace, 0), error, Some(origin));
            }
            clock
        } else {
            from_userspace
        };
        for (name, at, begins) in [
            (mark::POWER_ON, self.power_on, Some(Phase::Firmware)),
            (LOADER_START, self.loader, Some(Phase::Loader)),
            (mark::KERNEL_CLOCK_START, self.kernel, Some(Phase::Kernel)),
            (mark::INITRD_START, self.initrd, Some(Phase::Initrd)),
            (
                mark::USERSPACE_START,
                self.userspace,
                Some(Phase::Userspace),
            ),
            (mark::STARTUP_FINISHED, self.finish, None),
        ] {
            if let Some(at) = at {
                recorder.mark(clock, name, at, begins, origin);
            }
        }
    }
}

/// The mark at which the boot loader took over from the firmware.
pub(super) const LOADER_START: &str = "loader-start";

/// Records one `Startup finished` line.
pub(crate) fn record(times: &StartupTimes, origin: Origin, recorder: &mut Recorder) {
    doubts(times, origin, recorder);
    let mut boundaries = Boundaries::from_times(times);
    if times.sum() == Nanos::ZERO {
        // The total alone, from a user's manager.
        boundaries.userspace = Some(0);
        boundaries.finish = times.total.map(Nanos::get);
    } else if let (Some(_), Some(total), None) =
        (boundaries.finish, times.total, times.contradiction())
    {
        // Each part is cut to a whole millisecond, the total only once.
        let before = times.firmware.unwrap_or_default() + times.loader.unwrap_or_default();
        boundaries.finish = Some((total - before).get());
    }
    boundaries.record(origin, recorder);
}

/// When programs began by a `Startup finished` line, in nanoseconds from the start of the kernel's
/// clock: marks, and the phases that begin there.
pub(crate) fn programs(times: &StartupTimes) -> impl Iterator<Item = (&'static str, i64, Phase)> {
    let boundaries = Boundaries::from_times(times);
    let initrd = boundaries
        .initrd
        .map(|at| (mark::INITRD_START, at, Phase::Initrd));
    let root = boundaries.userspace;
    let root = root.map(|at| (mark::USERSPACE_START, at, Phase::Userspace));
    initrd.into_iter().chain(root)
}

/// The fact of the total as systemd printed it, in nanoseconds: of finer times than the
/// printed parts, each of which is cut, so it can be a little more than their sum.
const TOTAL: &str = "systemd.startup_total_ns";

/// The fact of the time in userspace as systemd printed it, in nanoseconds.
const USERSPACE: &str = "systemd.startup_userspace_ns";

/// Records the total of one `Startup finished` line, and notes what is wrong or missing
/// in the line.
pub(crate) fn doubts(times: &StartupTimes, origin: Origin, recorder: &mut Recorder) {
    if let Some(total) = times.total {
        recorder.fact(TOTAL, &total.get().to_string(), origin);
    }
    // The phases end where the total does, so the last one may differ from its printed time
    // by a millisecond for each part.
    if let (Some(userspace), Some(_)) = (times.userspace, times.kernel) {
        recorder.fact(USERSPACE, &userspace.get().to_string(), origin);
    }
    if let Some(off) = times.contradiction() {
        recorder.note(origin, &PARTS_DO_NOT_ADD_UP, || {
            let (total, sum) = (times.total.unwrap_or_default(), times.sum());
            format!("total {total}, sum of the phases {sum}, difference {off}")
        });
    }
    if times.kernel.is_none() {
        recorder.note(origin, &USERSPACE_ONLY, String::new);
    }
}

#[cfg(test)]
mod tests {
    use super::{StartupTimes, joined_target, parse_quoted, parse_time_line};
    use record::Nanos;

    fn times(parts: [i64; 6]) -> StartupTimes {
        let [firmware, loader, kernel, initrd, userspace, total] =
            parts.map(|ms| (ms >= 0).then(|| Nanos::from_micros(ms)));
        StartupTimes {
            firmware,
            loader,
            kernel,
            initrd,
            userspace,
            total,
        }
    }

    #[test]
    fn every_form_of_the_line_is_read() {
        for (line, parts) in [
            (
                "Startup finished in 2.020ms (kernel) + 8.866s (initrd) + 14.894s (userspace) = 25.782s",
                [-1, -1, 2_020, 8_866_000, 14_894_000, 25_782_000],
            ),
            (
                "Startup finished in 3.801s (firmware) + 174ms (loader) + 6.106s (kernel) + 2min 7.045s (userspace) = 2min 17.127s ",
                [3_801_000, 174_000, 6_106_000, -1, 127_045_000, 137_127_000],
            ),
            (
                "systemd[1]: Startup finished in 1.5s (kernel) + 1s (userspace) = 2.5s.",
                [-1, -1, 1_500_000, -1, 1_000_000, 2_500_000],
            ),
            (
                "Startup finished in 296ms (userspace)",
                [-1, -1, -1, -1, 296_000, -1],
            ),
            (
                "systemd[612]: Startup finished in 296ms.",
                [-1, -1, -1, -1, -1, 296_000],
            ),
        ] {
            assert_eq!(parse_time_line(line), Some(times(parts)), "{line}");
        }
        let joined = "Startup finished in 1s (kernel) + 2s (userspace) = 3s graphical.target \
            reached after 1.5s in userspace.";
        assert_eq!(
            parse_time_line(joined),
            Some(times([-1, -1, 1_000_000, -1, 2_000_000, 3_000_000]))
        );
        assert_eq!(
            joined_target(joined),
            Some(("graphical.target", 1_500_000_000))
        );
        let nameless = joined.replace("graphical.target ", "");
        assert_eq!(
            joined_target(&nameless),
            Some(("default.target", 1_500_000_000))
        );
        for line in [
            "Startup finished in ",
            "Startup finished in 1s (kernel) + 2s (userspace) = 3s or so",
            "Startup finished in a while",
            "Startup finished in 1s (kernel) + 1s (kernel) = 2s",
            "Startup finished in 1s (soup) = 1s",
            "Startup finished in 1s (kernel) = soon",
            "graphical.target reached after 1s in userspace",
        ] {
            assert_eq!(parse_time_line(line), None, "{line}");
        }
    }

    #[test]
    fn a_line_that_lost_its_beginning_is_read() {
        let found = Some(times([-1, -1, 1_500_000, -1, 2_000_000, 3_500_000]));
        let parts = "1.500s (kernel) + 2s (userspace) = 3.500s";
        for before in [
            "",
            "before: ",
            "- Before (old): ",
            "tartup finished in ",
            "= ",
        ] {
            assert_eq!(parse_quoted(&format!("{before}{parts}")), found, "{before}");
        }
        for line in [
            "1.500s (kernel) = 1.500s",
            "1.5 apples + 2 pears = 3.5",
            "host systemd[1]: finished in 1s (kernel) + 2s (userspace) = 3s",
            "after a very long time of waiting for it to end: 1s (kernel) + 2s (userspace) = 3s",
            "no number",
        ] {
            assert_eq!(parse_quoted(line), None, "{line}");
        }
    }

    #[test]
    fn only_more_than_rounding_is_a_contradiction() {
        let rounding = times([
            9_983_000, 7_898_000, 2_025_000, 10_603_000, 26_066_000, 56_577_000,
        ]);
        assert_eq!(rounding.contradiction(), None);
        let wrong = times([-1, -1, 2_020, 8_866_000, 14_894_000, 25_782_000]);
        assert_eq!(wrong.contradiction(), Some(Nanos(2_019_980_000)));
    }
}
