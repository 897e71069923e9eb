//! Sizes on the command line.

/// Reads a number of bytes: `128KiB`, `128K`, `1MiB`, `0x20000`, `131072`.
///
/// # Errors
/// What is expected.
pub fn parse(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let (digits, radix) = match lower.strip_prefix("0x") {
        Some(hex) => (hex, 16),
        None => (lower.as_str(), 10),
    };
    // In decimal only: `0x1b` is a number.
    let units: &[(&str, u64)] = match radix {
        10 => &[
            ("kib", 1 << 10),
            ("mib", 1 << 20),
            ("gib", 1 << 30),
            ("k", 1 << 10),
            ("m", 1 << 20),
            ("g", 1 << 30),
        ],
        _ => &[],
    };
    let found = units.iter().find_map(|(unit, factor)| {
        let digits = digits.strip_suffix(unit)?.trim_end();
        Some((digits, *factor))
    });
    let (digits, factor) = found.unwrap_or((digits, 1));
    // A sign is no digit, though the library's parser takes one.
    let plain = digits.bytes().all(|b| b.is_ascii_alphanumeric());
    let number = u64::from_str_radix(digits, radix)
        .ok()
        .filter(|_| plain)
        .and_then(|n| n.checked_mul(factor));
    number.ok_or_else(|| "expected a size such as 128KiB, 1MiB, 0x20000 or 131072".to_owned())
}

/// The size of an erase block: as [`parse`]; a bare number below 4096 is in KiB,
/// as mtd-utils take it.
///
/// # Errors
/// What is expected.
pub fn erase_size(text: &str) -> Result<u32, String> {
    let bare = text.bytes().all(|b| b.is_ascii_digit());
    let bytes = match parse(text)? {
        n if bare && n < 4096 => n * 1024,
        n => n,
    };
    u32::try_from(bytes).map_err(|_| "expected a size of at most 8MiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("131072", 131_072),
            ("128KiB", 131_072),
            ("128k", 131_072),
            ("128 KiB", 131_072),
            ("0x20000", 131_072),
            ("1M", 1 << 20),
            ("2GiB", 2 << 30),
            ("0x1b", 27),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "KiB",
            "128KB",
            "-1",
            "+1",
            "0x",
            "12 34",
            "99999999999GiB",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_small_erase_size_is_in_kib() {
        assert_eq!(erase_size("128"), Ok(131_072));
        assert_eq!(erase_size("131072"), Ok(131_072));
        assert_eq!(erase_size("0x80"), Ok(0x80));
        assert!(erase_size("8GiB").is_err());
    }
}
