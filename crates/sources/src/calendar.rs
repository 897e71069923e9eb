//! Dates.

/// Days since 1970-01-01 in the Gregorian calendar; `None` for what is no date
/// from then up to the year 2261, the last one that nanoseconds in 64 bits reach.
/// A 31st of any month is let through: logs are not wrong there.
pub(crate) fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let fits =
        (1970..=2261).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !fits {
        return None;
    }
    // Years begin in March here, so that the leap day is the last of a year.
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    // 153 days in each five months from March on; 719,468 days from 0000-03-01.
    let of_year = (153 * month + 2) / 5 + day - 1;
    Some(year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::days;

    #[test]
    fn days_count_from_1970() {
        for (year, month, day, count) in [
            (1970, 1, 1, Some(0)),
            (1970, 1, 2, Some(1)),
            (2000, 2, 29, Some(11_016)),
            (2024, 3, 1, Some(19_783)),
            (2026, 11, 21, Some(20_778)),
            (1969, 12, 31, None),
            (2026, 13, 1, None),
            (2026, 1, 0, None),
        ] {
            assert_eq!(days(year, month, day), count, "{year}-{month}-{day}");
        }
    }
}
