//! The virtual time of a machine that says nothing on its console.
//!
//! A machine's real-time clock runs on virtual time, from the date that it was
//! switched on with. QEMU's monitor reads it: the processor is not asked, and
//! executes no other instruction for it.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// 2026-01-01, which every machine is switched on at, in seconds since 1970.
const EPOCH_S: u64 = 1_767_225_600;

/// How long QEMU may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which real-time clock a machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// That of a PC, which QEMU shows as a date.
    Pc,
    /// A PL031, whose first register counts seconds, at this address.
    Pl031(u64),
}

impl Clock {
    /// Whole seconds of virtual time since reset, as QEMU's monitor on `socket`
    /// says it; `None`: it does not answer.
    #[must_use]
    pub fn seconds(self, socket: &Path) -> Option<u64> {
        let stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
        let mut ask = |question: Value| {
            let mut text = question.to_string();
            text.push('\n');
            (&stream).write_all(text.as_bytes()).ok()?;
            loop {
                let line = lines.next()?.ok()?;
                let answer: Value = serde_json::from_str(&line).ok()?;
                if let Some(returned) = answer.get("return") {
                    return Some(returned.clone());
                }
                // Greetings and events come in between.
                answer.get("error").is_none().then_some(())?;
            }
        };
        ask(json!({"execute": "qmp_capabilities"}))?;
        let now = match self {
            Self::Pc => {
                let at = json!({"path": "/machine", "property": "rtc-time"});
                of_date(&ask(json!({"execute": "qom-get", "arguments": at}))?)?
            }
            Self::Pl031(address) => {
                let line = json!({"command-line": format!("xp /1wx {address:#x}")});
                let question = json!({"execute": "human-monitor-command", "arguments": line});
                of_word(ask(question)?.as_str()?)?
            }
        };
        now.checked_sub(EPOCH_S)
    }
}

/// Seconds since 1970 of a date in C's form: years from 1900, months from 0.
fn of_date(date: &Value) -> Option<u64> {
    let field = |name: &str| u32::try_from(date.get(name)?.as_u64()?).ok();
    let year = i32::try_from(field("tm_year")?.checked_add(1900)?).ok()?;
    let month = field("tm_mon")?.checked_add(1)?;
    let day = NaiveDate::from_ymd_opt(year, month, field("tm_mday")?)?;
    let time = day.and_hms_opt(field("tm_hour")?, field("tm_min")?, field("tm_sec")?)?;
    u64::try_from(time.and_utc().timestamp()).ok()
}

/// The word of `0000000009010000: 0x6955b901`, as QEMU's monitor shows it.
pub fn of_word(line: &str) -> Option<u64> {
    let (_, word) = line.trim().split_once(": 0x")?;
    u64::from_str_radix(word, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::{EPOCH_S, of_date, of_word};
    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        #[test]
        fn any_date_is_seconds_or_none(fields in any::<[i64; 6]>(), line in "\\PC{0,24}") {
            let [year, month, day, hour, minute, second] = fields;
            let date = json!({"tm_year": year, "tm_mon": month, "tm_mday": day,
                              "tm_hour": hour, "tm_min": minute, "tm_sec": second});
            let is_date = (0..12).contains(&month) && (1..32).contains(&day);
            prop_assert!(of_date(&date).is_none() || is_date);
            prop_assert!(of_word(&line).is_none() || line.contains(": 0x"));
        }
    }

    #[test]
    fn dates_and_words_are_seconds() {
        let date = |year: u64, month: u64, day: u64, second: u64| {
            of_date(&json!({"tm_year": year, "tm_mon": month, "tm_mday": day,
                            "tm_hour": 0, "tm_min": 0, "tm_sec": second}))
        };
        assert_eq!(date(126, 0, 1, 7), Some(EPOCH_S + 7));
        assert_eq!(date(70, 0, 1, 0), Some(0));
        // `date -ud 2000-02-29 +%s`, and of the day after it.
        assert_eq!(date(100, 1, 29, 0), Some(951_782_400));
        assert_eq!(date(100, 2, 1, 0), Some(951_868_800));
        assert_eq!(date(0, 0, 0, 0), None);
        assert_eq!(of_date(&json!({})), None);
        assert_eq!(
            of_word("0000000009010000: 0x6955b901\r\n"),
            Some(EPOCH_S + 1)
        );
        assert_eq!(of_word("Cannot access memory"), None);
    }
}
