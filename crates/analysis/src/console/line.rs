//! A serial line: its rates, and how long it needs for some bytes.

use record::Nanos;

/// A byte on a serial line: a start bit, eight data bits, a stop bit.
pub(super) const BITS_PER_BYTE: i64 = 10;

/// Rates that consoles have.
pub(crate) const RATES: [i64; 16] = [
    1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600,
    1_000_000, 1_500_000, 2_000_000, 3_000_000, 4_000_000,
];

/// A stretch of a busy line of fewer bytes tells no rate.
pub(super) const FEWEST_BYTES: i64 = 1_000;

pub(super) fn line_time(bytes: i64, bits: i64, baud: i64) -> Nanos {
    let bits = i128::from(bytes) * i128::from(bits) * 1_000_000_000;
    Nanos(i64::try_from(bits / i128::from(baud.max(1))).unwrap_or(i64::MAX))
}

/// How long a serial line needs for some bytes, without parity.
pub(crate) fn plain_line_time(bytes: i64, baud: i64) -> Nanos {
    line_time(bytes, BITS_PER_BYTE, baud)
}

/// How long a console that takes `baud` held up the kernel, as far as its stamps show: each
/// line, a time and its bytes, needs the line for some time, and the next one cannot come
/// before that unless it waits as well. What waits when the kernel is silent is written then.
pub(crate) fn held_up(lines: impl Iterator<Item = (Nanos, i64)>, end: Nanos, baud: i64) -> Nanos {
    let baud = i128::from(baud.max(1));
    // In bits times nanoseconds in a second, so that nothing is rounded on the way.
    let (mut held, mut waiting) = (0_i128, 0_i128);
    let mut last: Option<Nanos> = None;
    let write = |waiting: &mut i128, gap: Nanos| {
        let written = (*waiting).min(i128::from(gap.0.max(0)) * baud);
        *waiting -= written;
        written
    };
    for (at, bytes) in lines {
        held += write(&mut waiting, last.map_or(Nanos::ZERO, |l| at - l));
        waiting += i128::from(bytes) * i128::from(BITS_PER_BYTE) * 1_000_000_000;
        last = Some(last.map_or(at, |l| l.max(at)));
    }
    held += write(&mut waiting, last.map_or(Nanos::ZERO, |l| end - l));
    Nanos(i64::try_from(held / baud).unwrap_or(i64::MAX))
}
