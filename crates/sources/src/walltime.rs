//! Times of day in front of log lines.
//!
//! Zones are read over: what the clock on the wall showed is what `dmesg -T`
//! and the journal's short form give, and so the forms agree with each other.

use crate::calendar::days;
use crate::text::number;

/// The year that a form without one is put into: a leap year, so that each
/// date exists.
const UNKNOWN_YEAR: i64 = 1972;

const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

/// The short names of months in other languages, without case and the point behind them:
/// `dmesg -T` and the journal write them by the locale (`abmon` in glibc's localedata: de,
/// fr, es, it, pt, nl, sv, pl, cs, ru).
const MONTHS_ELSEWHERE: [&[&str]; 12] = [
    &[
        "jan",
        "janv",
        "ene",
        "gen",
        "sty",
        "led",
        "\u{44f}\u{43d}\u{432}",
    ],
    &[
        "feb",
        "f\u{e9}vr",
        "fev",
        "lut",
        "\u{fa}no",
        "\u{444}\u{435}\u{432}",
    ],
    &[
        "mar",
        "m\u{e4}r",
        "mars",
        "mrt",
        "b\u{159}e",
        "\u{43c}\u{430}\u{440}",
    ],
    &["apr", "avril", "abr", "kwi", "dub", "\u{430}\u{43f}\u{440}"],
    &[
        "may",
        "mai",
        "mag",
        "mei",
        "maj",
        "kv\u{11b}",
        "\u{43c}\u{430}\u{439}",
        "\u{43c}\u{430}\u{44f}",
    ],
    &[
        "jun",
        "juin",
        "giu",
        "cze",
        "\u{10d}en",
        "\u{438}\u{44e}\u{43d}",
    ],
    &[
        "jul",
        "juil",
        "lug",
        "lip",
        "\u{10d}ec",
        "\u{438}\u{44e}\u{43b}",
    ],
    &[
        "aug",
        "ao\u{fb}t",
        "ago",
        "sie",
        "srp",
        "\u{430}\u{432}\u{433}",
    ],
    &[
        "sep",
        "sept",
        "set",
        "wrz",
        "z\u{e1}\u{159}",
        "\u{441}\u{435}\u{43d}",
    ],
    &[
        "oct",
        "okt",
        "ott",
        "out",
        "pa\u{17a}",
        "\u{159}\u{ed}j",
        "\u{43e}\u{43a}\u{442}",
    ],
    &["nov", "lis", "\u{43d}\u{43e}\u{44f}"],
    &[
        "dec",
        "dez",
        "d\u{e9}c",
        "dic",
        "gru",
        "pro",
        "\u{434}\u{435}\u{43a}",
    ],
];

/// The longest name of a day or month with its point, in bytes.
const LONGEST_NAME: usize = 12;

/// `Sat Nov 21 21:02:00 2026` as nanoseconds since 1970, and what follows.
pub(crate) fn ctime(text: &[u8]) -> Option<(i64, &[u8])> {
    let rest = match text.get(3) {
        Some(b' ') => text.get(4..)?,
        // Days of other languages are shorter or longer.
        _ => word(text)?.1.strip_prefix(b" ")?,
    };
    let (month, day, rest) = month_and_day(rest)?;
    let (time_ns, _, rest) = clock(rest.strip_prefix(b" ")?)?;
    let (year, rest) = number(rest.strip_prefix(b" ")?)?;
    let ns = instant(i64::try_from(year).ok()?, month, day, time_ns)?;
    Some((ns, rest))
}

/// `Nov 21 21:02:00[.123456]`: nanoseconds, resolution, and what follows.
pub(crate) fn yearless(text: &[u8]) -> Option<(i64, u64, &[u8])> {
    let (month, day, rest) = month_and_day(text)?;
    let (time_ns, resolution_ns, rest) = clock(rest.strip_prefix(b" ")?)?;
    let ns = instant(UNKNOWN_YEAR, month, day, time_ns)?;
    Some((ns, resolution_ns, rest))
}

/// `09-21 21:02:00.123`, as Android writes it, of an unknown year: nanoseconds since 1970, the
/// step, and what follows.
pub(crate) fn month_and_day_in_digits(text: &[u8]) -> Option<(i64, u64, &[u8])> {
    let [m, n, b'-', d, e, b' ', rest @ ..] = text else {
        return None;
    };
    let two = |tens: u8, ones: u8| {
        let is_number = tens.is_ascii_digit() && ones.is_ascii_digit();
        is_number.then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
    };
    let (time_ns, resolution_ns, rest) = clock(rest)?;
    let ns = instant(UNKNOWN_YEAR, two(*m, *n)?, two(*d, *e)?, time_ns)?;
    Some((ns, resolution_ns, rest))
}

/// An ISO 8601 stamp.
pub(crate) struct Iso<'a> {
    /// Nanoseconds since 1970, on the wall of its zone.
    pub ns: i64,
    /// The step that its number of digits allows.
    pub resolution_ns: u64,
    /// Whether a comma stands before the fraction, as dmesg writes it.
    pub comma: bool,
    /// What follows the zone.
    pub rest: &'a [u8],
}

/// `2026-11-21T21:02:00[.,123456][Z|+0000|+00:00]`.
pub(crate) fn iso(text: &[u8]) -> Option<Iso<'_>> {
    date_and_clock(text, b"T")
}

/// The same with a blank for the `T`, too: many programs that are no kernel write
/// it so.
pub(crate) fn iso_or_blank(text: &[u8]) -> Option<Iso<'_>> {
    date_and_clock(text, b"T ")
}

fn date_and_clock<'a>(text: &'a [u8], between: &[u8]) -> Option<Iso<'a>> {
    let (year, rest) = number(text)?;
    let (month, rest) = number(rest.strip_prefix(b"-")?)?;
    let (day, rest) = number(rest.strip_prefix(b"-")?)?;
    let (mark, rest) = rest.split_first()?;
    let (time_ns, resolution_ns, rest) = clock(between.contains(mark).then_some(rest)?)?;
    let comma = text.get(19) == Some(&b',');
    let month = i64::try_from(month).ok().filter(|m| (1..=12).contains(m))?;
    let ns = instant(
        i64::try_from(year).ok()?,
        month,
        i64::try_from(day).ok()?,
        time_ns,
    )?;
    let rest = match rest {
        [b'Z', rest @ ..] => rest,
        [b'+' | b'-', zone @ ..] => {
            let digits = zone
                .iter()
                .take_while(|b| b.is_ascii_digit() || **b == b':');
            zone.get(digits.count()..)?
        }
        _ => rest,
    };
    Some(Iso {
        ns,
        resolution_ns,
        comma,
        rest,
    })
}

/// `Nov`: the month from 1, and what follows.
fn month(text: &[u8]) -> Option<(i64, &[u8])> {
    let (name, rest) = text.split_at_checked(3)?;
    let (month, rest) = match MONTHS.chunks_exact(3).position(|m| m == name) {
        Some(month) => (month, rest),
        None => month_elsewhere(text)?,
    };
    Some((i64::try_from(month).ok()?.checked_add(1)?, rest))
}

/// What stands before the first blank, if it can be the name of a day or month.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = text.get(..=LONGEST_NAME).unwrap_or(text);
    let end = memchr::memchr(b' ', start).filter(|end| *end > 0)?;
    text.split_at_checked(end)
}

/// `Okt`, `oct.`, `10` and the sign for a month: the month from 0, and what follows.
#[cold]
fn month_elsewhere(text: &[u8]) -> Option<(usize, &[u8])> {
    // East Asia numbers months, and pads them.
    let unpadded = text.strip_prefix(b" ").unwrap_or(text);
    if let Some((month @ 1..=12, rest)) = number(unpadded) {
        let sign = ["\u{6708}", "\u{c6d4}"];
        let rest = sign.iter().find_map(|s| rest.strip_prefix(s.as_bytes()))?;
        return Some((usize::try_from(month).ok()?.checked_sub(1)?, rest));
    }
    let (name, rest) = word(text)?;
    // A day follows, so that most text is done with here.
    if !matches!(
        rest,
        [b' ', b'0'..=b'9', ..] | [b' ', b' ', b'0'..=b'9', ..]
    ) {
        return None;
    }
    let name = name.strip_suffix(b".").unwrap_or(name);
    let name = std::str::from_utf8(name).ok()?.to_lowercase();
    let month = MONTHS_ELSEWHERE
        .iter()
        .position(|names| names.contains(&name.as_str()))?;
    Some((month, rest))
}

/// `Nov 21` or `Nov  1`: month from 1, day, and what follows.
fn month_and_day(text: &[u8]) -> Option<(i64, i64, &[u8])> {
    let (month, rest) = month(text)?;
    let rest = rest.strip_prefix(b" ")?;
    let (day, rest) = number(rest.strip_prefix(b" ").unwrap_or(rest))?;
    Some((month, i64::try_from(day).ok()?, rest))
}

/// `Nov21 21:02` or `Nov 1 21:02`: the minute in nanoseconds, and what follows.
pub(crate) fn minute(text: &[u8]) -> Option<(i64, &[u8])> {
    let (month, day) = month(text)?;
    let (day, rest) = number(day.strip_prefix(b" ").unwrap_or(day))?;
    let (hours, rest) = number(rest.strip_prefix(b" ")?)?;
    let (minutes, rest) = number(rest.strip_prefix(b":")?)?;
    if hours > 23 || minutes > 59 {
        return None;
    }
    let time_ns = i64::try_from(hours * 60 + minutes).ok()? * 60_000_000_000;
    let ns = instant(UNKNOWN_YEAR, month, i64::try_from(day).ok()?, time_ns)?;
    Some((ns, rest))
}

/// `21:02:00[.123456]` as nanoseconds of the day, the step, and what follows.
pub(crate) fn clock(text: &[u8]) -> Option<(i64, u64, &[u8])> {
    let (hours, rest) = number(text)?;
    let (minutes, rest) = number(rest.strip_prefix(b":")?)?;
    let (seconds, rest) = number(rest.strip_prefix(b":")?)?;
    // 60 is a leap second.
    if hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let whole = i64::try_from(hours * 3600 + minutes * 60 + seconds).ok()?;
    let mut ns = whole.checked_mul(1_000_000_000)?;
    let mut step = 1_000_000_000_i64;
    let mut rest = rest;
    if let [b'.' | b',', fraction @ ..] = rest {
        rest = fraction;
        while let [digit @ b'0'..=b'9', tail @ ..] = rest {
            step /= 10;
            ns = ns.checked_add(step * i64::from(digit - b'0'))?;
            rest = tail;
        }
    }
    Some((ns, u64::try_from(step).unwrap_or(0).max(1), rest))
}

/// Nanoseconds since 1970 of a date of the Gregorian calendar and a time.
fn instant(year: i64, month: i64, day: i64, time_ns: i64) -> Option<i64> {
    (days(year, month, day)? * 86_400)
        .checked_mul(1_000_000_000)?
        .checked_add(time_ns)
}

#[cfg(test)]
mod tests {
    use super::{ctime, iso, iso_or_blank, yearless};

    #[test]
    fn dates_are_those_of_the_calendar() {
        let day = 86_400_000_000_000_i64;
        assert_eq!(ctime(b"Thu Jan  1 00:00:00 1970"), Some((0, &b""[..])));
        let english = ctime(b"Sun Oct 25 19:37:04 2026");
        assert!(english.is_some());
        for other in [
            "So Okt 25 19:37:04 2026",
            "dim. oct. 25 19:37:04 2026",
            "dom ott 25 19:37:04 2026",
            "nie pa\u{17a} 25 19:37:04 2026",
            "\u{412}\u{441} \u{43e}\u{43a}\u{442} 25 19:37:04 2026",
            "\u{65e5} 10\u{6708} 25 19:37:04 2026",
            "\u{c77c} 10\u{c6d4} 25 19:37:04 2026",
        ] {
            assert_eq!(ctime(other.as_bytes()), english, "{other}");
        }
        for no in [
            "So Oktober 25 19:37:04 2026",
            "So 13\u{6708} 25 19:37:04 2026",
            "x y",
        ] {
            assert_eq!(ctime(no.as_bytes()), None, "{no}");
        }
        assert_eq!(
            ctime(b"Thu Mar  1 00:00:00 1972"),
            Some((790 * day, &b""[..]))
        );
        assert_eq!(
            ctime(b"Sat Nov 21 21:02:00 2026").map(|t| t.0 / 1_000_000_000),
            Some(1_795_294_920)
        );
        assert_eq!(
            yearless(b"Feb 29 00:00:00.5 x").map(|t| (t.0 - 789 * day, t.1)),
            Some((500_000_000, 100_000_000))
        );
        assert_eq!(
            iso(b"2026-11-21T21:02:00-0700 x").map(|t| (t.ns / 1_000_000_000, t.rest)),
            Some((1_795_294_920, &b" x"[..]))
        );
        assert!(ctime(b"Sat Nov 21 25:02:00 2026").is_none());
        assert!(iso(b"2026-13-21T21:02:00 x").is_none());
        assert!(iso(b"2026-11-21 21:02:00 x").is_none());
        assert!(iso_or_blank(b"2026-11-21 21:02:00 x").is_some());
        assert!(iso(b"99999-11-21T21:02:00 x").is_none());
    }
}
