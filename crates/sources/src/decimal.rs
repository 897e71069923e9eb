//! Times and rates as decimals, such as analyzers print them, without rounding on the way.

/// The powers of ten that a nanosecond is away from the units of time files: seconds have 9.
pub(crate) const SECONDS: i32 = 9;

/// `1.25`, `-0.5`, `3e-6` units as nanoseconds, rounded; `unit` is the power of ten of
/// nanoseconds in a unit. `None` for what is no number, saturating for what does not fit.
pub(crate) fn nanoseconds(text: &str, unit: i32) -> Option<i64> {
    let text = text.trim();
    let (text, exponent) = match text.find(['e', 'E']) {
        Some(at) => {
            let (digits, exponent) = text.split_at(at);
            (digits, exponent.get(1..)?.parse::<i32>().ok()?)
        }
        None => (text, 0),
    };
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0_i128;
    let mut power = unit.saturating_add(exponent);
    for digit in whole.chars() {
        value = value
            .saturating_mul(10)
            .saturating_add(digit.to_digit(10)?.into());
    }
    // Digits beyond the 24th of a fraction are below every resolution.
    for (at, digit) in fraction.chars().enumerate() {
        let digit = digit.to_digit(10)?;
        if at < 24 {
            value = value.saturating_mul(10).saturating_add(digit.into());
            power = power.saturating_sub(1);
        }
    }
    for _ in 0..power.clamp(0, 40) {
        value = value.saturating_mul(10);
    }
    let divisions = power.min(0).unsigned_abs().min(40);
    if divisions > 0 {
        let half = value.checked_add(5 * 10_i128.pow(divisions.min(37) - 1));
        value = half.unwrap_or(value) / 10_i128.pow(divisions.min(37));
    }
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    Some(if negative { -value } else { value })
}

/// `ns` of `100 ns`: the power of ten of nanoseconds in it.
pub(crate) fn unit(name: &str) -> Option<i32> {
    Some(match name {
        "s" | "sec" | "second" | "seconds" => SECONDS,
        "ms" | "millisecond" | "milliseconds" => 6,
        "us" | "\u{b5}s" | "\u{3bc}s" | "microsecond" | "microseconds" => 3,
        "ns" | "nanosecond" | "nanoseconds" => 0,
        "ps" | "picosecond" | "picoseconds" => -3,
        "fs" | "femtosecond" | "femtoseconds" => -6,
        _ => return None,
    })
}

/// `24 MHz` in hertz; at least 1.
pub(crate) fn hertz(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, name) = text.split_at(digits);
    let power = match name.trim().to_ascii_lowercase().as_str() {
        "hz" => 0,
        "khz" => 3,
        "mhz" => 6,
        "ghz" => 9,
        _ => return None,
    };
    let hertz = nanoseconds(number, power)?;
    u64::try_from(hertz).ok().filter(|hertz| *hertz > 0)
}

#[cfg(test)]
mod tests {
    use super::{hertz, nanoseconds};

    #[test]
    fn decimals_are_exact() {
        for (text, unit, ns) in [
            ("1.25", 9, Some(1_250_000_000)),
            ("-0.000002000", 9, Some(-2_000)),
            ("3e-6", 9, Some(3_000)),
            (".5", 0, Some(1)),
            ("0.4", 0, Some(0)),
            ("1500", -3, Some(2)),
            ("0.1234567894", 9, Some(123_456_789)),
            ("99999999999999999999", 9, Some(i64::MAX)),
            ("1e-400", 9, Some(0)),
            ("1e-99999999999", 9, None),
            ("", 9, None),
            (".", 9, None),
            ("1.2.3", 9, None),
            ("x", 9, None),
        ] {
            assert_eq!(nanoseconds(text, unit), ns, "{text}");
        }
    }

    #[test]
    fn rates_are_hertz() {
        assert_eq!(hertz(" 24 MHz"), Some(24_000_000));
        assert_eq!(hertz("1.5 kHz"), Some(1_500));
        assert_eq!(hertz("0 Hz"), None);
        assert_eq!(hertz("fast"), None);
    }
}
