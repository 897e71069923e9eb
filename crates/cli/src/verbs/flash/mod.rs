//! `firstlight flash`: images of raw flash chips. One file per verb.

pub mod args;
mod check;
mod env;
mod extract;
mod list;
mod lost;
pub mod open;
mod summarize;
mod ubi;
mod verify;

use crate::out::Out;
use anyhow::Result;
use args::{Flash, FlashVerb};

pub fn run(args: &Flash, out: &mut Out) -> Result<()> {
    match &args.verb {
        FlashVerb::Check(a) => check::run(a, out),
        FlashVerb::Summarize(a) => summarize::run(a, out),
        FlashVerb::List(a) => list::run(a, out),
        FlashVerb::Extract(a) => extract::run(a, out),
        FlashVerb::Verify(a) => verify::run(a, out),
        FlashVerb::Ubi(a) => ubi::run(a, out),
        FlashVerb::Env(a) => env::run(a, out),
    }
}

/// `2026-11-21 14:05:09`, of seconds since 1970.
pub fn utc(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // From the day before 1 March of the year 0, in eras of 400 years.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}:{second:02}")
}

/// Bytes of a name as text, and as hexadecimal digits if they are not UTF-8.
pub fn text(bytes: &[u8]) -> (String, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => {
            let hex = bytes.iter().map(|b| format!("{b:02x}")).collect();
            (String::from_utf8_lossy(bytes).into_owned(), Some(hex))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_795_269_909, "2026-11-21 14:05:09"),
            (4_294_967_295, "2106-02-07 06:28:15"),
            (-1, "1969-12-31 23:59:59"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }
}
