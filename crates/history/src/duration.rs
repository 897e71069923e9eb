//! Durations as people write them in tables: `2.031`, `2.031s`, `1 min 2 s`.

/// Words for units, in nanoseconds.
const UNITS: [(&str, f64); 28] = [
    ("ns", 1.0),
    ("nsec", 1.0),
    ("nanosecond", 1.0),
    ("nanoseconds", 1.0),
    ("us", 1e3),
    ("\u{b5}s", 1e3),
    ("\u{3bc}s", 1e3),
    ("usec", 1e3),
    ("usecs", 1e3),
    ("microsecond", 1e3),
    ("microseconds", 1e3),
    ("ms", 1e6),
    ("msec", 1e6),
    ("msecs", 1e6),
    ("millis", 1e6),
    ("millisecond", 1e6),
    ("milliseconds", 1e6),
    ("s", 1e9),
    ("sec", 1e9),
    ("secs", 1e9),
    ("second", 1e9),
    ("seconds", 1e9),
    ("min", 60e9),
    ("mins", 60e9),
    ("minute", 60e9),
    ("minutes", 60e9),
    ("h", 3600e9),
    ("hours", 3600e9),
];

/// The unit that `word` means, in nanoseconds.
fn unit(word: &str) -> Option<f64> {
    let word = word.to_lowercase();
    Some(UNITS.iter().find(|(known, _)| *known == word)?.1)
}

/// The unit of the column `name` in nanoseconds, if its name ends in one: `boot_s`, `boot (ms)`,
/// `boot [s]`, `boot ms`. `boot_min` is a minimum.
pub(crate) fn unit_of_name(name: &str) -> Option<f64> {
    let name = name.trim();
    for (open, close) in [('(', ')'), ('[', ']')] {
        let inner = name.strip_suffix(close).and_then(|n| n.rsplit_once(open));
        let Some((before, word)) = inner else {
            continue;
        };
        // `error(s)` is no time.
        let is_plural = open == '(' && word.len() == 1 && before.ends_with(char::is_alphanumeric);
        return unit(word.trim()).filter(|_| !is_plural);
    }
    let (before, word) = name.rsplit_once(['_', '-', '.', ' ']).unwrap_or(("", name));
    let is_short = before.is_empty() && word.len() == 1;
    let is_known = !is_short && !["min", "mins", "h"].contains(&&*word.to_lowercase());
    unit(word).filter(|_| is_known)
}

/// How numbers are written, by what parts the columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    /// What parts the columns.
    pub(crate) separator: u8,
}

impl Number {
    /// The number that is all of `text`.
    pub(crate) fn of(self, text: &str) -> Option<f64> {
        match self.separator {
            b',' => text.parse().ok(),
            // Where commas part no columns they may part decimals.
            _ => text.replace(',', ".").parse().ok(),
        }
    }

    /// Whether a comma may part thousands as well as decimals.
    pub(crate) fn is_ambiguous(self, text: &str) -> bool {
        let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let is_three = |(_, part): (&str, &str)| part.len() == 3;
        self.separator != b',' && number.rsplit_once(',').is_some_and(is_three)
    }
}

/// The nanoseconds that `text` says in numbers with units: `2.031s`, `1 min 2 s`, `1h 2m 3.5s`.
/// `None` if it is anything else. `m` are minutes only before seconds, because it may be mega.
pub(crate) fn with_units(text: &str, number: Number) -> Option<f64> {
    let mut rest = text.trim();
    let (mut sum, mut least) = (0.0, f64::INFINITY);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',')))?;
        let (digits, behind) = rest.split_at_checked(end)?;
        let behind = behind.trim_start();
        let end = behind.find(|c: char| !c.is_alphabetic());
        let (word, behind) = behind.split_at_checked(end.unwrap_or(behind.len()))?;
        rest = behind.trim_start();
        let unit = match word {
            "m" if !rest.is_empty() => 60e9,
            word => unit(word)?,
        };
        // From larger to smaller units, as in `1 min 2 s`.
        if unit >= least {
            return None;
        }
        least = unit;
        sum += number.of(digits)? * unit;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::{Number, unit_of_name, with_units};

    #[test]
    fn names_end_in_units() {
        for (name, unit) in [
            ("boot_s", Some(1e9)),
            ("Kernel_Sec", Some(1e9)),
            ("boot (s)", Some(1e9)),
            ("boot [ms]", Some(1e6)),
            ("boot(ms)", Some(1e6)),
            ("first-light-ms", Some(1e6)),
            ("kernel ms", Some(1e6)),
            ("duration (seconds)", Some(1e9)),
            ("ms", Some(1e6)),
            ("total (min)", Some(60e9)),
            ("error(s)", None),
            ("boot_min", None),
            ("s", None),
            ("units", None),
            ("commit", None),
            ("", None),
            ("()", None),
        ] {
            assert_eq!(unit_of_name(name), unit, "{name}");
        }
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        let of = |text: &str| with_units(text, Number { separator: b',' });
        for (text, ns) in [
            ("2.031s", 2.031e9),
            ("2.031 s", 2.031e9),
            ("1 min 2 s", 62e9),
            ("1min 2.031s", 62.031e9),
            ("1m2.5s", 62.5e9),
            ("1h 2min 3s", 3723e9),
            ("850ms", 850e6),
            ("12.5 \u{b5}s", 12.5e3),
            ("3 Seconds", 3e9),
            ("2\u{a0}s", 2e9),
        ] {
            let read = of(text).unwrap_or(f64::NAN);
            assert!((read - ns).abs() < 1e-3, "{text}: {read}");
        }
        for text in [
            "2.031",
            "",
            "s",
            "10m",
            "10M",
            "2 s 1 min",
            "2s 3s",
            "5d",
            "-2s",
            "2s later",
            "1:02",
            "2..3s",
            "in 2s",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
        let european = Number { separator: b';' };
        assert_eq!(with_units("2,5 s", european), Some(2.5e9));
        assert!(european.is_ambiguous("1,250 ms") && !european.is_ambiguous("1,25 ms"));
    }
}
