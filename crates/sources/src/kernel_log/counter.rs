//! What the log says of a counter that ran before the kernel's clock: how fast it runs,
//! readings of it, and reasons not to trust its zero.
//!
//! A stock kernel states the rate of its counter more than once:
//!
//! - `clocksource: arch_sys_counter: mask: 0xffffffffffffff max_cycles: 0x1cd42e208c,
//!   max_idle_ns: 881590405314 ns` (`__clocksource_update_freq_scale`, since Linux 4.1). The
//!   two figures come from the rate: the kernel can sleep for half the nanoseconds of
//!   `max_cycles` ticks, less 11 percent for adjustments (`clocks_calc_max_nsecs`,
//!   `clocksource_max_adjustment`). So the rate is known to a tenth of a millionth.
//! - `arch_timer: cp15 timer(s) running at 19.20MHz (virt).`, cut to 10 kHz.
//! - `tsc: Detected 2194.843 MHz processor`, `tsc: Refined TSC clocksource calibration:
//!   2194.917 MHz`, in kHz.

use super::at::At;
use super::notes::BAD_CLOCKS_LINE;
use crate::text::{lossy, number};
use memchr::memmem;
use record::{CounterDoubt, CounterRate, CounterReading, Origin, Recorder};

/// How the agent's line of readings begins.
pub(super) const LINE: &[u8] = b"firstlight: clocks ";

/// Two clocks of one `firstlight: clocks` line were read within this time, unless the line
/// says how near they were.
const CLOCKS_ERROR_NS: u64 = 10_000;

/// Counters that programs can read and that the agent reads: x86, ARM, RISC-V.
const COUNTERS: [&[u8]; 3] = [b"tsc", b"arch_sys_counter", b"riscv_clocksource"];

/// How exact the rate of a clock source is, in parts of a billion: `mult` has at least 24
/// bits (`clocks_calc_mult_shift`), `max_cycles` has more.
const CLOCKSOURCE_PPB: u64 = 200;

/// How exact the rate is that x86 measures against another timer, in parts of a billion: the
/// crystals of both, and the resolution of the slower one, over a second
/// (`tsc_refine_calibration_work`).
const MEASURED_PPB: u64 = 20_000;

/// Hypervisors in the words of the kernel, by lines that bare machines do not have.
const HYPERVISORS: [&[u8]; 4] = [
    b"Hypervisor detected: ",
    b"Booting paravirtualized kernel on ",
    b"smccc: KVM: hypervisor services detected",
    b"Xen version: ",
];

/// What [`HYPERVISORS`]' second line says on a machine without one.
const BARE: &[u8] = b"Booting paravirtualized kernel on bare hardware";

/// What the lines so far say of the counter.
#[derive(Debug, Default)]
pub(super) struct Counter {
    /// The rate that the kernel found first, in kHz.
    detected_khz: Option<u64>,
}

impl Counter {
    /// Looks at a line of the kernel.
    #[inline]
    pub(super) fn line(&mut self, recorder: &mut Recorder, at: At, text: &[u8]) {
        match text.first() {
            Some(b'c') => {
                if let Some(rate) = of_clocksource(text) {
                    recorder.counter_rate(rate);
                }
            }
            Some(b'a') => {
                if let Some(rate) = of_arch_timer(text) {
                    recorder.counter_rate(rate);
                }
            }
            Some(b't') => self.tsc(recorder, at, text),
            Some(b'H' | b'B' | b's' | b'X') if names_hypervisor(text) => {
                recorder.counter_doubt(CounterDoubt::Hypervisor, at.origin);
            }
            Some(b'K' | b'C') => {
                let crash = memmem::find(text, b"ommand line: ").is_some()
                    && memmem::find(text, b" elfcorehdr=").is_some();
                if crash {
                    recorder.counter_doubt(CounterDoubt::Kexec, at.origin);
                }
            }
            _ => {}
        }
    }

    fn tsc(&mut self, recorder: &mut Recorder, at: At, text: &[u8]) {
        let Some(words) = text.strip_prefix(b"tsc: ") else {
            return;
        };
        if words.starts_with(b"Marking TSC unstable") {
            recorder.counter_doubt(CounterDoubt::Unstable, at.origin);
        }
        let detected = words.strip_prefix(b"Detected ").and_then(khz);
        let refined = words
            .strip_prefix(b"Refined TSC clocksource calibration: ")
            .and_then(khz);
        // Half a kHz either way.
        let ppb = |khz: u64| 500_000_000_u64.checked_div(khz).unwrap_or(u64::MAX);
        if let Some(khz) = detected.filter(|khz| *khz > 0) {
            self.detected_khz = Some(khz);
            let rate = CounterRate {
                hz: khz.saturating_mul(1_000),
                // A first calibration may be off by 500 parts of a million
                // (`quick_pit_calibrate`); a later line corrects it.
                error_ppb: ppb(khz).max(500_000),
            };
            recorder.counter_rate(rate);
        }
        if let Some(khz) = refined.filter(|khz| *khz > 0) {
            let rate = CounterRate {
                hz: khz.saturating_mul(1_000),
                error_ppb: ppb(khz).max(MEASURED_PPB),
            };
            recorder.counter_rate(rate);
            if let Some(before) = self.detected_khz {
                let apart = u128::from(before.abs_diff(khz)).saturating_mul(1_000_000_000);
                let apart = u64::try_from(apart / u128::from(khz)).unwrap_or(u64::MAX);
                recorder.counter_drift(at.ns, apart);
            }
        }
    }
}

/// Whether a line says that the kernel runs under a hypervisor.
fn names_hypervisor(text: &[u8]) -> bool {
    HYPERVISORS.iter().any(|h| text.starts_with(h)) && !text.starts_with(BARE)
}

/// Reads the words behind `firstlight: clocks `:
/// `counter=TICKS hz=HZ monotonic_ns=N boottime_ns=N error_ns=N seen=WORD,WORD`. The counter
/// is missing where there is none, its rate where it is not known. `stamp`: the line's own,
/// if the kernel made it.
pub(super) fn clocks_line(
    recorder: &mut Recorder,
    stamp: Option<At>,
    origin: Origin,
    readings: &[u8],
) {
    if take(recorder, stamp, origin, readings).is_none() {
        recorder.note(origin, &BAD_CLOCKS_LINE, || lossy(readings).into_owned());
    }
}

fn take(recorder: &mut Recorder, stamp: Option<At>, origin: Origin, readings: &[u8]) -> Option<()> {
    let words = |key: &[u8]| {
        let mut words = readings.split(|b| *b == b' ');
        words.find_map(|w| w.strip_prefix(key)?.strip_prefix(b"="))
    };
    let value = |key: &[u8]| match number(words(key)?) {
        Some((value, [])) => Some(value),
        _ => None,
    };
    let optional = |key: &[u8]| match words(key) {
        None => Some(None),
        Some(_) => value(key).map(Some),
    };
    let (ticks, hz) = (optional(b"counter")?, optional(b"hz")?);
    let monotonic_ns = i64::try_from(value(b"monotonic_ns")?).ok()?;
    let boottime_ns = optional(b"boottime_ns")?;
    let error_ns = optional(b"error_ns")?.unwrap_or(CLOCKS_ERROR_NS);
    for word in words(b"seen").unwrap_or_default().split(|b| *b == b',') {
        match word {
            b"kexec" => recorder.counter_doubt(CounterDoubt::Kexec, origin),
            b"hypervisor" => recorder.counter_doubt(CounterDoubt::Hypervisor, origin),
            _ => {}
        }
    }
    let stamp = stamp.map(|at| (at.clock, at.ns));
    // A counter of no speed is none; a speed without a counter is half a line.
    let Some(ticks) = ticks.filter(|_| hz != Some(0)) else {
        (ticks.is_some() || hz.is_none()).then_some(())?;
        let monotonic = recorder.clock("monotonic", record::ClockKind::Monotonic, 1);
        if let Some(stamp) = stamp {
            recorder.relate(stamp, (monotonic, monotonic_ns), error_ns, Some(origin));
        }
        return Some(());
    };
    let slept = boottime_ns.map(|b| b.saturating_sub(monotonic_ns.unsigned_abs()));
    recorder.counter_reading(CounterReading {
        ticks,
        hz,
        stamp,
        monotonic_ns,
        slept_ns: slept.unwrap_or(0),
        error_ns,
        origin,
    });
    Some(())
}

/// `clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x1fb63109b96, max_idle_ns:
/// 440795265316 ns`
fn of_clocksource(text: &[u8]) -> Option<CounterRate> {
    let rest = text.strip_prefix(b"clocksource: ")?;
    let colon = memchr::memchr(b':', rest)?;
    let name = rest.get(..colon)?;
    if !COUNTERS.contains(&name) {
        return None;
    }
    let at = memmem::find(rest, b" max_cycles: 0x")?;
    let digits = rest.get(at.checked_add(15)?..)?;
    let end = memchr::memchr(b',', digits)?;
    let cycles = std::str::from_utf8(digits.get(..end)?).ok()?;
    let cycles = u64::from_str_radix(cycles, 16).ok()?;
    let idle = digits.get(end..)?.strip_prefix(b", max_idle_ns: ")?;
    let (idle_ns, _) = number(idle).filter(|(_, rest)| rest.starts_with(b" ns"))?;
    // idle = cycles * ns per tick * 0.89 / 2.
    let ticks = u128::from(cycles).checked_mul(89 * 1_000_000_000)?;
    let ns = u128::from(idle_ns).checked_mul(200)?;
    let hz = ticks.checked_add(ns / 2)?.checked_div(ns)?;
    let hz = u64::try_from(hz).ok().filter(|hz| *hz > 0)?;
    let measured = if name == b"tsc" { MEASURED_PPB } else { 0 };
    Some(CounterRate {
        hz,
        error_ppb: CLOCKSOURCE_PPB.max(500_000_000 / hz).max(measured),
    })
}

/// `arch_timer: cp15 and mmio timer(s) running at 19.20MHz (virt/virt).`
fn of_arch_timer(text: &[u8]) -> Option<CounterRate> {
    const RUNNING: &[u8] = b" timer(s) running at ";
    let rest = text
        .strip_prefix(b"arch_timer: ")
        .or_else(|| text.strip_prefix(b"Architected "))?;
    let at = memmem::find(rest, RUNNING)?;
    let rate = rest.get(at.checked_add(RUNNING.len())?..)?;
    let (mhz, rest) = number(rate)?;
    let (hundredths, rest) = number(rest.strip_prefix(b".")?)?;
    if hundredths > 99 || !rest.starts_with(b"MHz") {
        return None;
    }
    let least = mhz.checked_mul(100)?.checked_add(hundredths)?;
    // Cut to 10 kHz: in the middle it is off by half of that.
    let hz = least.checked_mul(10_000)?.checked_add(5_000)?;
    Some(CounterRate {
        hz,
        error_ppb: 5_000_000_000_000_u64.checked_div(hz)?.saturating_add(1),
    })
}

/// `2194.843 MHz processor`
fn khz(text: &[u8]) -> Option<u64> {
    let (mhz, rest) = number(text)?;
    let digits = rest.strip_prefix(b".")?;
    let (khz, rest) = number(digits)?;
    let three = digits.len().checked_sub(rest.len())? == 3;
    (three && rest.starts_with(b" MHz")).then(|| mhz.checked_mul(1_000)?.checked_add(khz))?
}

#[cfg(test)]
mod tests {
    use super::{khz, of_arch_timer, of_clocksource};

    #[test]
    fn a_clock_source_states_its_rate_in_two_figures() {
        // As kernels printed them, and the rate that their makers state.
        for (line, hz) in [
            (
                "clocksource: arch_sys_counter: mask: 0xffffffffffffff max_cycles: 0x1cd42e208c, \
                 max_idle_ns: 881590405314 ns",
                62_500_000_u64,
            ),
            (
                "clocksource: arch_sys_counter: mask: 0xffffffffffffff max_cycles: 0xc743ce346, \
                 max_idle_ns: 440795203123 ns",
                54_000_000,
            ),
            (
                "clocksource: arch_sys_counter: mask: 0xffffffffffffff max_cycles: 0x46d987e47, \
                 max_idle_ns: 440795202767 ns",
                19_200_000,
            ),
            (
                "clocksource: riscv_clocksource: mask: 0xffffffffffffffff max_cycles: \
                 0x24e6a1710, max_idle_ns: 440795202120 ns",
                10_000_000,
            ),
        ] {
            let rate = of_clocksource(line.as_bytes()).unwrap();
            let off = rate.hz.abs_diff(hz) * 1_000_000_000 / hz;
            assert!(off <= rate.error_ppb, "{line}: {} Hz, {off} ppb", rate.hz);
        }
        for none in [
            "clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 1911260446275 ns",
            "clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x0, max_idle_ns: 0 ns",
            "clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0xzz, max_idle_ns: 5 ns",
            "clocksource: tsc: mask",
            "clocksource: Switched to clocksource tsc",
        ] {
            assert_eq!(of_clocksource(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn the_arm_timer_states_its_rate_to_10_khz() {
        for (line, least) in [
            (
                "arch_timer: cp15 timer(s) running at 62.50MHz (virt).",
                62_500_000_u64,
            ),
            (
                "arch_timer: cp15 and mmio timer(s) running at 19.20MHz (virt/virt).",
                19_200_000,
            ),
            (
                "arch_timer: cp15 timer(s) running at 8.33MHz (phys).",
                8_333_333,
            ),
            (
                "Architected cp15 timer(s) running at 24.00MHz (virt).",
                24_000_000,
            ),
        ] {
            let rate = of_arch_timer(line.as_bytes()).unwrap();
            let off = rate.hz.abs_diff(least) * 1_000_000_000 / rate.hz;
            assert!(off <= rate.error_ppb, "{line}");
        }
        assert_eq!(
            of_arch_timer(b"arch_timer: cp15 timer(s) running at 6.500MHz"),
            None
        );
        assert_eq!(
            of_arch_timer(b"arch_timer: Enabling local workaround"),
            None
        );
    }

    #[test]
    fn a_processor_states_its_rate_in_khz() {
        assert_eq!(khz(b"2194.843 MHz processor"), Some(2_194_843));
        assert_eq!(khz(b"2194.84 MHz processor"), None);
        assert_eq!(khz(b"99999999999999999999.000 MHz"), None);
        assert_eq!(khz(b""), None);
    }
}
