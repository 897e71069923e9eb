//! The rate of a console's line, as the best source has it.

use super::arrived::{Line, lines};
use super::cmdline::{Told, serial_console};
use super::flush::flushed;
use super::line::{BITS_PER_BYTE, FEWEST_BYTES, RATES, line_time, plain_line_time};
use record::{Nanos, Record};

/// Lines that come later than this wait for the line: it is busy.
const WAITS: Nanos = Nanos(50_000_000);

/// A host that listens is seldom kept from it for longer.
const HOST_STALLS: Nanos = Nanos(300_000_000);

/// The rate of a serial line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Bits in a second.
    pub baud: i64,
    /// Bits that a byte takes.
    pub bits_per_byte: i64,
    /// Who says so.
    pub from: RateSource,
    /// Whether bytes came no faster than that. If not, the line is an
    /// emulator's and takes no time, or has another rate.
    pub kept: bool,
}

/// Who says what the rate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateSource {
    /// The host that listened set its port so.
    Capture,
    /// The kernel's command line.
    CommandLine,
    /// How fast bytes came while lines waited.
    Arrivals,
    /// How long the flush took when the console was enabled.
    Flush,
}

impl RateSource {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::CommandLine => "command_line",
            Self::Arrivals => "arrivals",
            Self::Flush => "flush",
        }
    }
}

impl Rate {
    pub(super) fn time(&self, bytes: i64) -> Option<Nanos> {
        let time = line_time(bytes, self.bits_per_byte, self.baud);
        self.kept.then_some(time)
    }
}

/// The rate of the console's line, as the best source has it.
pub(crate) fn line_rate(record: &Record) -> Option<Rate> {
    let cmdline = record.fact("kernel.cmdline").unwrap_or("");
    rate(record, serial_console(cmdline).as_ref(), &lines(record))
}

/// The rate: as the host set its port, as the kernel was told, or as fast as
/// bytes came while lines waited.
pub(super) fn rate(record: &Record, told: Option<&Told<'_>>, lines: &[Line<'_>]) -> Option<Rate> {
    let number = |key| record.fact(key).and_then(|v| v.parse::<i64>().ok());
    let set = |baud, from| Rate {
        baud,
        bits_per_byte: number("serial.bits_per_byte").unwrap_or(BITS_PER_BYTE),
        from,
        kept: from != RateSource::CommandLine || keeps(lines, baud),
    };
    let captured = number("serial.baud").filter(|b| *b > 0);
    captured
        .map(|baud| set(baud, RateSource::Capture))
        .or_else(|| Some(set(told?.baud?, RateSource::CommandLine)))
        .or_else(|| Some(set(busy_rate(lines)?, RateSource::Arrivals)))
        .or_else(|| Some(set(flushed(record)?.baud?, RateSource::Flush)))
}

/// Whether lines came no faster than a rate lets them, but for what a host that
/// was busy elsewhere stamps too late.
fn keeps(lines: &[Line<'_>], baud: i64) -> bool {
    let mut ahead = Nanos::ZERO;
    for pair in lines.windows(2) {
        let [a, b] = pair else { continue };
        let needs = plain_line_time(i64::from(a.arrival.bytes), baud);
        ahead = (ahead + needs - (b.arrival.first - a.arrival.first)).max(Nanos::ZERO);
        if ahead > HOST_STALLS {
            return false;
        }
    }
    true
}

/// The rate of the longest stretch of lines that all waited: the line was busy.
fn busy_rate(lines: &[Line<'_>]) -> Option<i64> {
    let waits = |l: &Line<'_>| l.stamped.is_some_and(|s| l.arrival.first - s > WAITS);
    let mut longest: Option<(Nanos, i64)> = None;
    for stretch in lines.chunk_by(|a, b| waits(a) && waits(b)) {
        let [before @ .., last] = stretch else {
            continue;
        };
        let Some(first) = before.first() else {
            continue;
        };
        let bytes = before
            .iter()
            .fold(0, |sum, l| sum + i64::from(l.arrival.bytes));
        let time = last.arrival.first - first.arrival.first;
        if bytes >= FEWEST_BYTES && longest.is_none_or(|l| l.0 < time) {
            longest = Some((time, bytes));
        }
    }
    let (time, bytes) = longest.filter(|l| l.0 > Nanos::ZERO)?;
    let bits = i128::from(bytes) * i128::from(BITS_PER_BYTE) * 1_000_000_000;
    let bits = i64::try_from(bits / i128::from(time.get())).ok()?;
    // The nearest rate that is not slower, but for the stamps' error: a line is
    // never faster than its rate. One that is half idle was not busy.
    let rate = RATES.into_iter().find(|r| *r + r / 33 >= bits)?;
    (bits * 10 >= rate * 7).then_some(rate)
}
