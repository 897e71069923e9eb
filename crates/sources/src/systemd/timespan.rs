//! Lengths of time as systemd prints them: `1min 2.3s`, `821ms`.
//!
//! The form is that of `format_timespan()` in systemd: one or more numbers,
//! each followed by its unit without a blank, joined by blanks. A length of
//! zero is printed as `0`.

/// A year and a month as systemd counts them: 365.25 days, and a twelfth of it.
const YEAR_NS: i128 = 31_557_600_000_000_000;
const MONTH_NS: i128 = YEAR_NS / 12;

/// Units, and their nanoseconds.
const UNITS: [(&str, i128); 10] = [
    ("y", YEAR_NS),
    ("month", MONTH_NS),
    ("w", 604_800_000_000_000),
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("μs", 1_000),
];

/// A length of time in nanoseconds, if all of `text` is one.
pub(super) fn parse(text: &str) -> Option<i64> {
    let (ns, rest) = prefix(text)?;
    rest.is_empty().then_some(ns)
}

/// The length of time at the start of `text`, in nanoseconds, and what follows
/// it, both without blanks around.
pub(super) fn prefix(text: &str) -> Option<(i64, &str)> {
    let mut rest = text.trim();
    let mut total: Option<i128> = None;
    while !rest.is_empty() {
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        let Some((ns, after)) = part(word)
            .map(|ns| (ns, after))
            .or_else(|| by_hand(word, after))
        else {
            break;
        };
        total = Some(total.unwrap_or(0).checked_add(ns)?);
        rest = after.trim_start();
    }
    Some((i64::try_from(total?).ok()?, rest))
}

/// The length of time at the start of a word that a page joined to what follows it, in
/// nanoseconds, and what follows: `30.852siscsi.service`. systemd prints the thousandths of
/// all that it gives in seconds, so a number with a point or with another unit begins one; a
/// name of a unit may begin with a digit, too.
pub(super) fn joined(word: &str) -> Option<(i64, &str)> {
    /// What systemd prints of a boot, the longer names first.
    const JOINED: [&str; 5] = ["min", "ms", "us", "μs", "s"];
    let mut rest = word;
    let mut total: Option<i128> = None;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, behind) = rest.split_at(end.unwrap_or(rest.len()));
        let unit = JOINED.iter().find(|u| behind.starts_with(**u));
        let is_sure = |u: &&&str| **u != "s" || number.contains('.');
        let Some(unit) = unit.filter(is_sure).filter(|_| !number.is_empty()) else {
            break;
        };
        let (time, after) = rest.split_at_checked(number.len() + unit.len())?;
        let Some(ns) = part(time) else {
            break;
        };
        total = Some(total.unwrap_or(0).checked_add(ns)?);
        rest = after;
        // Only behind minutes there is more of one time.
        if *unit != "min" {
            break;
        }
    }
    Some((i64::try_from(total?).ok()?, rest))
}

/// Units as people write them, behind a blank or joined.
const BY_HAND: [(&str, &str); 11] = [
    ("s", "s"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("ms", "ms"),
    ("msec", "ms"),
    ("min", "min"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
];

/// A time as people write it, and what follows it: `2.5 s`, `2,5s`, `2.5sec`, `1m2.5s`.
fn by_hand<'a>(word: &str, after: &'a str) -> Option<(i128, &'a str)> {
    if let Some((minutes, seconds)) = word.split_once('m')
        && seconds.ends_with('s')
        && let Some(minutes) = part(&format!("{minutes}min"))
    {
        return Some((minutes.checked_add(part(seconds)?)?, after));
    }
    let unit = |name: &str| BY_HAND.iter().find(|u| u.0 == name).map(|u| u.1);
    let digits = word.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    let (number, name) = word.split_at(digits.unwrap_or(word.len()));
    // A comma may be one between thousands, but not of seconds.
    let (number, name, after) = match name {
        "" => {
            let (name, after) = after.split_once(' ').unwrap_or((after, ""));
            (number, name, after)
        }
        _ => (number, name, after),
    };
    let name = unit(name).filter(|n| *n == "s" || !number.contains(','))?;
    let ns = part(&format!("{}{name}", number.replacen(',', ".", 1)))?;
    Some((ns, after))
}

/// One number with its unit: `2.764s`.
fn part(word: &str) -> Option<i128> {
    if word == "0" {
        return Some(0);
    }
    let digits = word.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = word.split_at(digits);
    let scale = UNITS.iter().find(|u| u.0 == unit)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    // Thirteen digits of a unit are 300,000 years in seconds; no boot is longer.
    if whole.is_empty() || whole.len() > 13 || fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let whole: i128 = whole.parse().ok()?;
    let ten = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let fraction: i128 = fraction.parse().ok()?;
    whole
        .checked_mul(scale)?
        .checked_add(fraction.checked_mul(scale)? / ten)
}

#[cfg(test)]
mod tests {
    use super::{joined, parse, prefix};

    #[test]
    fn every_printed_form_is_exact() {
        for (text, ns) in [
            ("1.588s", Some(1_588_000_000)),
            ("2.020ms", Some(2_020_000)),
            ("821ms", Some(821_000_000)),
            ("35us", Some(35_000)),
            ("0", Some(0)),
            ("1min", Some(60_000_000_000)),
            ("1min 2.3s", Some(62_300_000_000)),
            ("2h 3min 4s", Some(7_384_000_000_000)),
            ("1d 1ms", Some(86_400_001_000_000)),
            ("1month", Some(2_629_800_000_000_000)),
            ("", None),
            ("s", None),
            ("1", None),
            ("1.s", None),
            (".5s", None),
            ("1.2.3s", None),
            ("1s x", None),
            ("2.5 s", Some(2_500_000_000)),
            ("1min 2,5 s", Some(62_500_000_000)),
            ("2,5s", Some(2_500_000_000)),
            ("2.5 seconds", Some(2_500_000_000)),
            ("1m2.5s", Some(62_500_000_000)),
            ("1,234ms", None),
            ("1m", None),
            ("3 x", None),
            ("999999999999999s", None),
            ("9999999999999y", None),
        ] {
            assert_eq!(parse(text), ns, "{text:?}");
        }
    }

    #[test]
    fn a_time_that_is_joined_to_a_name_is_found() {
        for (word, found) in [
            (
                "30.852siscsi.service",
                Some((30_852_000_000, "iscsi.service")),
            ),
            ("821msssh.service", Some((821_000_000, "ssh.service"))),
            ("12.5sms.service", Some((12_500_000_000, "ms.service"))),
            ("1min2.5sfoo.service", Some((62_500_000_000, "foo.service"))),
            ("1minfoo.service", Some((60_000_000_000, "foo.service"))),
            ("7smart.service", None),
            ("foo.service", None),
            ("12.5", None),
            ("", None),
        ] {
            assert_eq!(joined(word), found, "{word}");
        }
    }

    #[test]
    fn what_follows_is_left() {
        assert_eq!(
            prefix(" 1min 2.3s foo.service"),
            Some((62_300_000_000, "foo.service"))
        );
        assert_eq!(prefix("12ms 5.service"), Some((12_000_000, "5.service")));
        assert_eq!(prefix("foo.service"), None);
    }
}
