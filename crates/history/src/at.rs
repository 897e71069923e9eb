//! When something was made: a date, or a number in a sequence.

use chrono::{DateTime, NaiveDate, NaiveDateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The place of an entry in its history. Numbers come before dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum At {
    /// A number in a sequence, such as that of a build.
    Sequence(u64),
    /// Seconds since 1970, in UTC.
    Date(i64),
}

/// A text that is neither a date nor a number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a date such as 2026-11-24 or 2026-11-24T12:00:00Z, or a number, found `{0}`")]
pub struct AtError(pub String);

impl At {
    /// From what a user writes: RFC 3339, a day, or a number. A number from 100 million on
    /// is seconds since 1970, as `git log --format=%ct` prints them.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn parse(text: &str) -> Result<Self, AtError> {
        let text = text.trim();
        if let Ok(number) = text.parse::<u64>() {
            let seconds = i64::try_from(number).unwrap_or(i64::MAX);
            return Ok(match (100_000_000..LAST).contains(&seconds) {
                true => Self::Date(seconds),
                false => Self::Sequence(number),
            });
        }
        let seconds = seconds(text).filter(|s| (FIRST..=LAST).contains(s));
        seconds
            .map(Self::Date)
            .ok_or_else(|| AtError(text.to_owned()))
    }
}

/// The seconds since 1970 of a date, in any of the forms that are understood.
fn seconds(text: &str) -> Option<i64> {
    if let Ok(date) = DateTime::parse_from_rfc3339(text) {
        return Some(date.timestamp());
    }
    // As git prints it.
    if let Ok(date) = DateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S %z") {
        return Some(date.timestamp());
    }
    // Without a zone, UTC is meant.
    for form in ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"] {
        if let Ok(date) = NaiveDateTime::parse_from_str(text, form) {
            return Some(date.and_utc().timestamp());
        }
    }
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let midnight = day.and_then(|d| d.and_hms_opt(0, 0, 0));
    midnight.map(|m| m.and_utc().timestamp())
}

/// The year 0, before which a date has a sign (RFC 3339 has none of these).
const FIRST: i64 = -62_167_219_200;
/// The year 9999, after which a date has no four digits.
const LAST: i64 = 253_402_300_799;

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sequence(number) => number.fmt(f),
            Self::Date(seconds) => match DateTime::<Utc>::from_timestamp(*seconds, 0) {
                Some(date) => f.write_str(&date.to_rfc3339_opts(SecondsFormat::Secs, true)),
                None => seconds.fmt(f),
            },
        }
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Sequence(number) => serializer.serialize_u64(*number),
            Self::Date(_) => serializer.serialize_str(&self.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(number) => Ok(Self::Sequence(number)),
            Written::Text(text) => Self::parse(&text).map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::At;

    #[test]
    fn dates_and_numbers() {
        for (text, printed) in [
            ("2026-11-24", "2026-11-24T00:00:00Z"),
            ("2026-11-24T12:00:00+02:00", "2026-11-24T10:00:00Z"),
            ("2026-11-24 12:00:00 +0200", "2026-11-24T10:00:00Z"),
            ("2026-11-24 12:00:00", "2026-11-24T12:00:00Z"),
            ("2026-11-24T12:00:00", "2026-11-24T12:00:00Z"),
            ("1764000000", "2025-11-24T16:00:00Z"),
            ("17", "17"),
        ] {
            let at = At::parse(text).unwrap();
            assert_eq!(at.to_string(), printed, "{text}");
            let json = serde_json::to_string(&at).unwrap();
            assert_eq!(serde_json::from_str::<At>(&json).unwrap(), at);
        }
        for wrong in ["", "yesterday", "-5", "2026-13-01", "24.11.2026"] {
            assert!(At::parse(wrong).is_err(), "{wrong}");
        }
        // A date that RFC 3339 cannot write could not be read back.
        for wrong in ["-6206-11-22", "+12026-11-24", "0000-01-01 00:00:00 +0100"] {
            assert!(At::parse(wrong).is_err(), "{wrong}");
        }
        for ends in ["0000-01-01", "9999-12-31T23:59:59Z"] {
            let at = At::parse(ends).unwrap();
            assert_eq!(At::parse(&at.to_string()).unwrap(), at);
        }
    }
}
