//! Dates.

use chrono::NaiveDate;

/// Days since 1970-01-01 in the Gregorian calendar; `None` for what is no date
/// from then up to the year 2261, the last one that nanoseconds in 64 bits reach.
/// A 31st of any month is let through: logs are not wrong there.
pub(crate) fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1970..=2261).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    let (year, month) = (i32::try_from(year).ok()?, u32::try_from(month).ok()?);
    let first = NaiveDate::from_ymd_opt(year, month, 1)?;
    Some(i64::from(first.to_epoch_days()) + day - 1)
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
            (2026, 2, 31, Some(20_515)),
            (2261, 12, 31, Some(106_650)),
            (2262, 1, 1, None),
            (1969, 12, 31, None),
            (2026, 13, 1, None),
            (2026, 1, 0, None),
        ] {
            assert_eq!(days(year, month, day), count, "{year}-{month}-{day}");
        }
    }
}
