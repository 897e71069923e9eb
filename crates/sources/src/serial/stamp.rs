//! The stamps that hosts put before the lines of a serial console.

use super::own;
use crate::calendar;
use crate::text;
use crate::walltime;

const SECOND_NS: i64 = 1_000_000_000;

/// A form of stamp. A log has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// This program's: `12.345678901 12.345987654 text`, the arrival of the
    /// line's first and of its last character.
    Own,
    /// grabserial `-t`: `[12.345678 0.001234] text`, the time since the base
    /// time, and since the line before. This program prints a third number, the
    /// arrival of the line's last character.
    Elapsed,
    /// grabserial `-T`, tio and others: `[21:08:35.123456] text`, the time of
    /// day; with a date before it or not, and a difference behind it or not.
    TimeOfDay,
    /// `21:08:35.123456 text` without brackets, with a date before it or not, or seconds
    /// since 1970 in its place: `ts`, LAVA, picocom and others.
    Bare,
    /// `[12.345678] text`, as U-Boot can print and labgrid passes on.
    Seconds,
    /// `   12.345 text` without brackets, in seconds from the log's own zero: grabserial
    /// through a filter, `ts -s %.s`, and scripts.
    Plain,
    /// `[269]text` in milliseconds and `[02.316]text` in seconds, as Allwinner's loaders
    /// write them, from their own start.
    Allwinner,
    /// `B -    109678 - SBL1, Start` in microseconds since power came on, as Qualcomm's
    /// loaders write them. Their lines `D - 5887 - Image Auth, Done` are lengths, and
    /// `S - ` begins what they count.
    Qualcomm,
    /// `MESS:00:00:01.216673:0: text` and `001216.673: text` in milliseconds since power came on,
    /// as the firmware of a Raspberry Pi (`start.elf`) writes them with `uart_2ndstage=1`.
    RaspberryPi,
}

impl Form {
    /// Whether firmware or a loader stamps only its own lines, by a counter that runs from the
    /// reset.
    pub(super) const fn is_from_reset(self) -> bool {
        matches!(self, Self::Qualcomm | Self::RaspberryPi)
    }

    /// Whether the kernel follows behind the last of these stamps, with its own.
    pub(super) const fn is_until_kernel(self) -> bool {
        matches!(self, Self::Allwinner | Self::RaspberryPi)
    }
}

/// A stamp as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The arrival of the line's first character, in nanoseconds from the
    /// form's zero.
    pub first: i64,
    /// The arrival of its last character.
    pub last: Option<i64>,
    /// The time since the line before, as printed.
    pub delta: Option<i64>,
    /// How many digits the fraction has.
    pub digits: u8,
}

impl Stamp {
    /// Of one time alone.
    const fn at(first: i64, digits: u8) -> Self {
        Self {
            first,
            last: None,
            delta: None,
            digits,
        }
    }
}

impl Form {
    /// The form that most of the first lines have, if any.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(own::HEADER) {
            return Some(Self::Own);
        }
        let lines = || text::lines(head).take(500);
        let written = lines().filter(|l| !l.bytes.is_empty()).count();
        let own = lines().any(|l| l.bytes.starts_with(b"[") && ALLWINNER.is_in(l.bytes));
        if own && lines().any(|l| allwinner(l.bytes).is_some()) {
            return Some(Self::Allwinner);
        }
        let stamps = lines().filter(|l| qualcomm(l.bytes).is_some()).count();
        let is_alone = || !lines().any(|l| has_kernel_stamp(l.bytes));
        if stamps >= FEWEST_OF_QUALCOMM && is_alone() {
            return Some(Self::Qualcomm);
        }
        if lines().filter(|l| raspberry_pi(l.bytes).is_some()).count() >= FEWEST_OF_RASPBERRY_PI {
            return Some(Self::RaspberryPi);
        }
        let forms = [
            Self::Elapsed,
            Self::TimeOfDay,
            Self::Seconds,
            Self::Bare,
            Self::Plain,
        ];
        forms.into_iter().find(|form| {
            let stamped = lines().filter(|l| form.split(l.bytes).is_some()).count();
            stamped.saturating_mul(2) > written
        })
    }

    /// A line's stamp, and its text. The text begins behind one blank.
    pub(super) fn split(self, line: &[u8]) -> Option<(Stamp, &[u8])> {
        match self {
            Self::Own => own(line),
            Self::Elapsed => elapsed(line),
            Self::TimeOfDay => time_of_day(line),
            Self::Seconds => seconds(line),
            Self::Bare => bare(line),
            Self::Plain => plain(line),
            Self::Allwinner => allwinner(line),
            Self::Qualcomm => qualcomm(line),
            Self::RaspberryPi => raspberry_pi(line),
        }
    }
}

/// What only Allwinner's loaders say.
struct Banners([&'static [u8]; 4]);

const ALLWINNER: Banners = Banners([
    b"BOOT0 is starting",
    b"BOOT0 commit",
    b"HELLO! BOOT0",
    b"sunxi",
]);

impl Banners {
    fn is_in(&self, line: &[u8]) -> bool {
        self.0
            .iter()
            .any(|b| memchr::memmem::find(line, b).is_some())
    }
}

/// A kernel's stamp has six digits behind its point.
fn allwinner(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let inner = text::without_indent(line.strip_prefix(b"[")?);
    let (first, rest) = match text::seconds(inner) {
        Some((ns, 3, rest)) => (ns, rest),
        Some(_) => return None,
        None => {
            let (ms, rest) = text::number(inner)?;
            (i64::try_from(ms).ok()?.checked_mul(1_000_000)?, rest)
        }
    };
    let stamp = Stamp::at(first, 3);
    Some((stamp, rest.strip_prefix(b"]")?))
}

/// Whether the kernel stamped this text: `[    1.234567] `.
pub(super) fn has_kernel_stamp(text: &[u8]) -> bool {
    let clean = text::without_controls(text);
    let Some(inner) = text::without_indent(&clean).strip_prefix(b"[") else {
        return false;
    };
    text::seconds(text::without_indent(inner)).is_some_and(|(_, _, rest)| rest.starts_with(b"]"))
}

/// So many lines of this form are no chance. A log in which a kernel stamps its own lines is
/// the kernel's: between the loaders' last stamp and its first lies another loader without any.
const FEWEST_OF_QUALCOMM: usize = 4;

fn qualcomm(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let rest = line.strip_prefix(b"B - ").or(line.strip_prefix(b"S - "))?;
    let (us, rest) = text::number(text::without_indent(rest))?;
    let stamp = Stamp::at(i64::try_from(us).ok()?.checked_mul(1_000)?, 6);
    Some((stamp, rest.strip_prefix(b" - ")?))
}

/// So many lines of this form are no chance.
const FEWEST_OF_RASPBERRY_PI: usize = 4;

fn raspberry_pi(line: &[u8]) -> Option<(Stamp, &[u8])> {
    if let Some(rest) = line.strip_prefix(b"MESS:") {
        let (hours, rest) = text::number(rest)?;
        let (minutes, rest) = text::number(rest.strip_prefix(b":")?)?;
        let (ns, digits, rest) = text::seconds(rest.strip_prefix(b":")?)?;
        // The processor that wrote it.
        let (_, rest) = text::number(rest.strip_prefix(b":")?)?;
        let text = rest.strip_prefix(b":")?;
        // Its last line has no end: what runs next writes behind it.
        let text = text.strip_prefix(b" ").unwrap_or(text);
        let whole = hours
            .checked_mul(60)?
            .checked_add(minutes)?
            .checked_mul(60)?;
        let whole = i64::try_from(whole).ok()?.checked_mul(SECOND_NS)?;
        return Some((Stamp::at(whole.checked_add(ns)?, digits), text));
    }
    // Milliseconds of six digits, and three behind the point.
    let (ms, point) = (line.get(..6)?, line.get(6..)?);
    let us = point.strip_prefix(b".")?.get(..3)?;
    let text = line.get(10..)?.strip_prefix(b": ")?;
    let number = |digits: &[u8]| {
        let (number, rest) = text::number(digits)?;
        rest.is_empty().then_some(i64::try_from(number).ok()?)
    };
    let first = number(ms)? * 1_000_000 + number(us)? * 1_000;
    Some((Stamp::at(first, 6), text))
}

fn own(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let (first, digits, rest) = text::seconds(line)?;
    let (last, _, rest) = text::seconds(rest.strip_prefix(b" ")?)?;
    let stamp = Stamp {
        first,
        last: Some(last),
        delta: None,
        digits,
    };
    Some((stamp, after_blank(rest)?))
}

fn elapsed(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let (first, digits, rest) = signed(text::without_indent(line.strip_prefix(b"[")?))?;
    let (delta, _, rest) = signed(text::without_indent(rest.strip_prefix(b" ")?))?;
    let (last, rest) = match rest.strip_prefix(b" ") {
        Some(rest) => {
            let (last, _, rest) = signed(text::without_indent(rest))?;
            (Some(last), rest)
        }
        None => (None, rest),
    };
    let stamp = Stamp {
        first,
        last,
        delta: Some(delta),
        digits,
    };
    Some((stamp, after_blank(rest.strip_prefix(b"]")?)?))
}

/// A stamp of one time, whose bracket `rest` closes.
fn closed(first: i64, digits: u8, rest: &[u8]) -> Option<(Stamp, &[u8])> {
    let stamp = Stamp::at(first, digits);
    Some((stamp, after_blank(rest.strip_prefix(b"]")?)?))
}

fn seconds(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let inner = text::without_indent(line.strip_prefix(b"[")?);
    let (first, digits, rest) = text::seconds(inner)?;
    closed(first, digits, rest)
}

/// Fewer digits have numbers of other kinds, such as versions.
const PLAIN_DIGITS: u8 = 3;

fn plain(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let (first, digits, rest) = text::seconds(text::without_indent(line))?;
    if digits < PLAIN_DIGITS || first >= EPOCH_NS {
        return None;
    }
    let stamp = Stamp::at(first, digits);
    Some((stamp, after_blank(rest)?))
}

fn time_of_day(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let inner = line.strip_prefix(b"[")?;
    if let Some(stamped) = named_day(inner) {
        return Some(stamped);
    }
    let (day, clock) = match date(inner) {
        Some((day, rest)) => (day, rest),
        None => (0, inner),
    };
    let (hour, rest) = text::number(clock)?;
    let (minute, rest) = text::number(rest.strip_prefix(b":")?)?;
    let rest = rest.strip_prefix(b":")?;
    let (of_minute, digits, rest) = match text::seconds(rest) {
        Some(read) => read,
        None => {
            let (whole, rest) = text::number(rest)?;
            let ns = i64::try_from(whole).ok()?.checked_mul(SECOND_NS)?;
            (ns, 0, rest)
        }
    };
    if hour > 23 || minute > 59 || of_minute > 61 * SECOND_NS {
        return None;
    }
    let minutes = i64::try_from(hour * 60 + minute).ok()?;
    let minutes = day.checked_mul(1_440)?.checked_add(minutes)?;
    let first = minutes
        .checked_mul(60 * SECOND_NS)?
        .checked_add(of_minute)?;
    let rest = match rest.strip_prefix(b" ").and_then(signed) {
        Some((_delta, _, rest)) => rest,
        None => rest,
    };
    closed(first, digits, rest)
}

/// `Sat Nov 21 21:08:35.123 2026] text`, as Tera Term writes it. Without a fraction
/// it would be dmesg's own.
fn named_day(inner: &[u8]) -> Option<(Stamp, &[u8])> {
    let (first, rest) = walltime::ctime(inner)?;
    let fraction = inner.get(19..)?.strip_prefix(b".")?;
    let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
    closed(first, u8::try_from(digits).ok()?, rest)
}

/// Seconds since 1970 have at least so many nanoseconds on a machine that knows the
/// year; smaller numbers are anybody's.
const EPOCH_NS: i64 = 1_000_000_000 * SECOND_NS;

fn bare(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let (first, step, rest) = match text::seconds(line) {
        Some((ns, digits, rest)) => {
            (ns >= EPOCH_NS).then_some(())?;
            (ns, 10_u64.pow(9 - u32::from(digits.min(9))), rest)
        }
        None => match walltime::iso_or_blank(line) {
            Some(iso) => (iso.ns, iso.resolution_ns, iso.rest),
            None => walltime::yearless(line).or_else(|| walltime::clock(line))?,
        },
    };
    let digits = 9_u32.saturating_sub(step.checked_ilog10()?);
    let stamp = Stamp::at(first, u8::try_from(digits).ok()?);
    let text = after_blank(rest)?;
    // LAVA has two.
    Some((stamp, text.strip_prefix(b" ").unwrap_or(text)))
}

/// `2026-11-21 ` or `2026-11-21T`: days since 1970, and what follows.
fn date(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (year, rest) = text::number(bytes)?;
    let (month, rest) = text::number(rest.strip_prefix(b"-")?)?;
    let (day, rest) = text::number(rest.strip_prefix(b"-")?)?;
    let [b' ' | b'T', rest @ ..] = rest else {
        return None;
    };
    let [year, month, day] = [year, month, day].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
    Some((calendar::days(year, month, day)?, rest))
}

/// As [`text::seconds`], with a sign or none.
fn signed(bytes: &[u8]) -> Option<(i64, u8, &[u8])> {
    let (sign, bytes) = match bytes {
        [b'-', rest @ ..] => (-1, rest),
        _ => (1, bytes),
    };
    let (ns, digits, rest) = text::seconds(bytes)?;
    Some((ns * sign, digits, rest))
}

/// What follows the blank that ends a stamp. The blank of an empty line is
/// often trimmed away, and pages that show logs make it a no-break one.
fn after_blank(rest: &[u8]) -> Option<&[u8]> {
    match rest {
        [] => Some(rest),
        [b' ' | b'\t', tail @ ..] | [0xc2, 0xa0, tail @ ..] => Some(tail),
        _ => None,
    }
}

/// Time that goes on where the stamps do not.
#[derive(Debug, Default)]
pub(super) struct Unroller {
    /// The last stamp, as it stood.
    last: Option<i64>,
    /// What is added to stamps.
    base: i64,
}

/// What a stamp did to the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It went on.
    On,
    /// The base time was set anew, at this time on the unrolled clock.
    Reset(i64),
    /// So was it, but the line at which is not in the log.
    ResetUnseen(i64),
    /// The host's clock stepped back.
    Back,
}

/// How far printed numbers of six digits may disagree: each is rounded.
const ROUNDING_NS: i64 = 2_000;

/// Times of day that go back by more than this went past midnight.
const HALF_A_DAY_NS: i64 = 43_200 * SECOND_NS;

/// The length of what came to its end, if a stamp went back by so much from `last`:
/// a day without a date, or a date without a year, which is put into a leap year.
fn turn(last: i64, went: i64) -> Option<i64> {
    let day = HALF_A_DAY_NS.saturating_mul(2);
    let (year, unknown) = (day.saturating_mul(366), day.saturating_mul(730));
    if last <= day {
        Some(day)
    } else if last >= unknown && last.saturating_sub(unknown) <= year && went < -year / 2 {
        Some(year)
    } else {
        None
    }
}

impl Unroller {
    /// Whether a stamp is earlier than the last one.
    pub(super) fn goes_back(&self, stamp: &Stamp) -> bool {
        self.last.is_some_and(|last| stamp.first < last)
    }

    /// The time of a stamp on a clock that only goes on, and what the stamp
    /// did. Zero is the stamps' own first zero; the first stamp for times of
    /// day.
    ///
    /// grabserial sets its base time to the stamp of the line that fitted its
    /// pattern. The next line's difference then equals its time.
    pub(super) fn next(&mut self, form: Form, stamp: &Stamp) -> (i64, Step) {
        let Some(last) = self.last.replace(stamp.first) else {
            if matches!(form, Form::TimeOfDay | Form::Bare) {
                self.base = stamp.first.saturating_neg();
            }
            return (stamp.first.saturating_add(self.base), Step::On);
        };
        let went = stamp.first.saturating_sub(last);
        let step = match (form, stamp.delta) {
            (Form::TimeOfDay | Form::Bare, _) if went < -HALF_A_DAY_NS => match turn(last, went) {
                Some(turn) => {
                    self.base = self.base.saturating_add(turn);
                    Step::On
                }
                None => Step::Back,
            },
            (Form::Elapsed, Some(delta)) => {
                let fits = |a: i64, b: i64| a.saturating_sub(b).saturating_abs() <= ROUNDING_NS;
                if fits(went, delta) {
                    if went < 0 { Step::Back } else { Step::On }
                } else if stamp.last.is_some() {
                    // This program's difference holds over a reset.
                    let at = last.saturating_add(self.base).saturating_add(delta);
                    self.base = at.saturating_sub(stamp.first);
                    Step::Reset(at)
                } else if fits(stamp.first, delta) {
                    self.base = self.base.saturating_add(last);
                    Step::Reset(self.base)
                } else if went < 0 {
                    self.base = self.base.saturating_add(last);
                    Step::ResetUnseen(self.base)
                } else {
                    // Lines between were cut out.
                    Step::On
                }
            }
            _ if went < 0 => Step::Back,
            _ => Step::On,
        };
        (stamp.first.saturating_add(self.base), step)
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, Stamp, Step, Unroller};

    #[test]
    fn every_form_gives_its_stamp_and_text() {
        for (form, line, first, text) in [
            (
                Form::Elapsed,
                "[0.000647 0.000100] U-Boot SPL",
                647_000,
                "U-Boot SPL",
            ),
            (Form::Elapsed, "[0.000001 0.000001]", 1_000, ""),
            (Form::Elapsed, "[10.5 -0.2]\u{a0}x", 10_500_000_000, "x"),
            (
                Form::Elapsed,
                "[  -0.500000  0.001234    0.000009] x",
                -500_000_000,
                "x",
            ),
            (Form::TimeOfDay, "[00:00:01.500000] x", 1_500_000_000, "x"),
            (
                Form::TimeOfDay,
                "[00:01:01.500000 0.000100] x",
                61_500_000_000,
                "x",
            ),
            (
                Form::TimeOfDay,
                "[1970-01-02T00:00:01] x",
                86_401_000_000_000,
                "x",
            ),
            (
                Form::Seconds,
                "[    1.500000] [    0.1] x",
                1_500_000_000,
                "[    0.1] x",
            ),
            (Form::Plain, "   3.797 U-Boot x", 3_797_000_000, "U-Boot x"),
            (Form::Own, "1.000000001 1.000000002 x", 1_000_000_001, "x"),
            (Form::Allwinner, "[269]x", 269_000_000, "x"),
            (Form::Allwinner, "[02.316]x", 2_316_000_000, "x"),
            (Form::Qualcomm, "B -      1500 - x - y", 1_500_000, "x - y"),
            (
                Form::Qualcomm,
                "S -      1500 - PBL, End",
                1_500_000,
                "PBL, End",
            ),
            (Form::Bare, "00:01:01.500000 x", 61_500_000_000, "x"),
            (
                Form::Bare,
                "1970-01-02T00:00:01.5Z  x",
                86_401_500_000_000,
                "x",
            ),
            (
                Form::Bare,
                "1970-01-02 00:00:01.5 x",
                86_401_500_000_000,
                "x",
            ),
            (
                Form::Bare,
                "Jan  1 00:00:01 [    0.1] x",
                63_072_001_000_000_000,
                "[    0.1] x",
            ),
            (
                Form::Bare,
                "1795294920.500000 x",
                1_795_294_920_500_000_000,
                "x",
            ),
            (
                Form::TimeOfDay,
                "[Fri Jan  2 00:00:01.500 1970] x",
                86_401_500_000_000,
                "x",
            ),
        ] {
            let split = form.split(line.as_bytes()).map(|(s, rest)| (s.first, rest));
            assert_eq!(split, Some((first, text.as_bytes())), "{line}");
        }
        for (form, line) in [
            (Form::Elapsed, "[    0.1] x"),
            (Form::Elapsed, "[0.1 0.1]x"),
            (Form::TimeOfDay, "[25:00:00.0] x"),
            (Form::TimeOfDay, "[Sat Nov 21 21:19:18 2026] x"),
            (Form::Seconds, "[    0.1][    T1] x"),
            (Form::Allwinner, "[    0.123456] x"),
            (Form::Own, "1.0 x"),
            (Form::Bare, "1.0 x"),
            (Form::Plain, "1.0 x"),
            (Form::Plain, "1795294920.500000 x"),
            (Form::Plain, "1.000x"),
            (Form::Bare, "00:00 x"),
            (Form::Bare, "00:00:01x"),
        ] {
            assert_eq!(form.split(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn resets_are_undone_and_told_from_steps() {
        let mut time = Unroller::default();
        let mut next = |first: i64, delta: i64| {
            let stamp = Stamp {
                first,
                last: None,
                delta: Some(delta),
                digits: 6,
            };
            time.next(Form::Elapsed, &stamp)
        };
        assert_eq!(next(1_000_000, 1_000_000), (1_000_000, Step::On));
        assert_eq!(next(9_000_000, 8_000_000), (9_000_000, Step::On));
        // The line before fitted the pattern.
        assert_eq!(next(500_000, 500_000), (9_500_000, Step::Reset(9_000_000)));
        // A reset to a later time than the last stamp.
        assert_eq!(next(800_000, 800_000), (10_300_000, Step::Reset(9_500_000)));
        // The host's clock went back.
        assert_eq!(next(700_000, -100_000), (10_200_000, Step::Back));
        // Lines were cut out: forwards, and with a reset in them.
        assert_eq!(next(5_000_000, 10_000), (14_500_000, Step::On));
        assert_eq!(
            next(4_000_000, 10_000),
            (18_500_000, Step::ResetUnseen(14_500_000))
        );
    }

    #[test]
    fn this_programs_differences_hold_over_a_reset() {
        let mut time = Unroller::default();
        let mut next = |first: i64, delta: i64| {
            let stamp = Stamp {
                first,
                last: Some(first),
                delta: Some(delta),
                digits: 6,
            };
            time.next(Form::Elapsed, &stamp)
        };
        assert_eq!(next(5_000_000, 5_000_000), (5_000_000, Step::On));
        // The line itself is the new zero.
        assert_eq!(next(0, 700_000), (5_700_000, Step::Reset(5_700_000)));
        assert_eq!(next(200_000, 200_000), (5_900_000, Step::On));
    }

    #[test]
    fn midnight_is_passed() {
        let mut time = Unroller::default();
        let mut next = |text: &str| {
            let stamp = Form::TimeOfDay.split(text.as_bytes()).map(|(s, _)| s);
            stamp.map(|s| time.next(Form::TimeOfDay, &s))
        };
        assert_eq!(next("[23:59:59.500] x"), Some((0, Step::On)));
        assert_eq!(next("[00:00:00.500] x"), Some((1_000_000_000, Step::On)));
        assert_eq!(next("[00:00:00.400] x"), Some((900_000_000, Step::Back)));
    }

    #[test]
    fn a_year_ends_and_a_clock_set_back_is_told() {
        let bare = |first: &str, second: &str| {
            let mut time = Unroller::default();
            let mut next = |text: &str| {
                let stamp = Form::Bare.split(text.as_bytes()).map(|(s, _)| s);
                stamp.map(|s| time.next(Form::Bare, &s))
            };
            assert_eq!(next(first), Some((0, Step::On)));
            next(second).unwrap()
        };
        let second = 1_000_000_000;
        assert_eq!(
            bare("Dec 31 23:59:59 x", "Jan  1 00:00:00 x"),
            (second, Step::On)
        );
        let (_, step) = bare("2026-11-22 13:00:00 x", "2026-11-21 12:00:00 x");
        assert_eq!(step, Step::Back);
        let (_, step) = bare("Nov 22 13:00:00 x", "Nov 21 12:00:00 x");
        assert_eq!(step, Step::Back);
    }
}
