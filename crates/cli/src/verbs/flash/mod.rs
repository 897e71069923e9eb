//! `firstlight flash`: images of raw flash chips. One file per verb.

pub mod args;
mod check;
mod env;
mod extract;
mod list;
mod lost;
mod problems;
mod summarize;
mod ubi;
mod verify;

use crate::out::Out;
use anyhow::Result;
use args::{Flash, FlashVerb};
use chrono::DateTime;

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

/// `2026-11-21 14:05:09`, of seconds since 1970; the seconds where no calendar
/// reaches.
pub fn utc(seconds: i64) -> String {
    match DateTime::from_timestamp(seconds, 0) {
        Some(time) => time.format("%Y-%m-%d %H:%M:%S").to_string(),
        None => seconds.to_string(),
    }
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

/// The schemas of what is printed here.
#[cfg(test)]
pub fn schema_files() -> Vec<views::json::SchemaFile> {
    use views::json::schema_file;
    let mut files = vec![
        schema_file::<check::Json<'_>>(),
        schema_file::<extract::Json>(),
        schema_file::<list::Json>(),
        schema_file::<summarize::Json>(),
        schema_file::<verify::Json>(),
    ];
    files.extend(env::schema_files());
    files.extend(ubi::schema_files());
    files
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
            (i64::MAX, "9223372036854775807"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }
}
