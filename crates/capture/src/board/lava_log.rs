//! The log of a LAVA job: a list in YAML, an object a line, with `dt` (UTC), `lvl` and `msg`.
//!
//! `lava_common.log` writes it in flow style with quoted scalars, one object in one line, which
//! is all that is read here.

use super::adapter::Recorded;
use std::rc::Rc;

/// Actions of LAVA after which the board has power.
const POWER: &[&str] = &["pdu-reboot", "power-on", "reset-device", "execute-qemu"];

/// Reads a job's log. Times count from its first line.
///
/// # Errors
/// A clause, if it is none, or does not say when power came on.
pub fn read(log: &[u8]) -> Result<Recorded, String> {
    let text = String::from_utf8_lossy(log);
    let mut zero = None;
    let (mut began, mut power) = (None, None);
    let mut recorded = Recorded::default();
    for line in text.lines() {
        let fields = scalars(line);
        let field = |name: &str| {
            let mut found = fields.iter().filter(|(key, _)| &**key == name);
            found.next().map(|(_, value)| value.as_str())
        };
        let (Some(at), Some(level)) = (field("dt").and_then(nanoseconds), field("lvl")) else {
            continue;
        };
        let zero = *zero.get_or_insert(at);
        // A host's clock that is set back must not be worse than that.
        let at = u64::try_from(at.saturating_sub(zero)).unwrap_or(0);
        let message = field("msg").unwrap_or_default();
        match level {
            "target" => recorded
                .lines
                .push((at, format!("{message}\n").into_bytes())),
            "results" if field("case") == Some("job") && field("result") != Some("pass") => {
                let why = field("error_msg").unwrap_or("it gives no reason");
                recorded.failure = Some(why.to_owned());
            }
            _ => {
                let mut words = message.split_whitespace();
                let (Some(verb), Some(_), Some(name)) = (words.next(), words.next(), words.next())
                else {
                    continue;
                };
                if !POWER.contains(&name) {
                    continue;
                }
                match verb {
                    "start:" => began = Some(at),
                    // The innermost action is the switch; those around it end later.
                    "end:" if began.is_some() => power = began.take().map(|b| (b, at)),
                    _ => {}
                }
            }
        }
    }
    if zero.is_none() {
        return Err(
            "the log is not that of a LAVA job (`- {\"dt\": ..., \"lvl\": ..., \"msg\": \
                    ...}`); use `lavacli jobs logs --raw`"
                .to_owned(),
        );
    }
    recorded.power = power.ok_or_else(|| {
        let why = recorded
            .failure
            .as_deref()
            .unwrap_or("no action for it ran");
        format!("the log does not say when power came on: {why}")
    })?;
    if recorded.power.0 > recorded.power.1 {
        return Err(
            "the clock of the log was set back while power was switched on, so no time in it can \
             be relied on; run the job again"
                .to_owned(),
        );
    }
    Ok(recorded)
}

/// The scalars of a flow mapping with the keys that they belong to, inner ones too. Those of a
/// list share their key, however long both are.
fn scalars(line: &str) -> Vec<(Rc<str>, String)> {
    let mut rest = line.trim_start().strip_prefix("- ").unwrap_or_default();
    let mut found = Vec::new();
    let mut key: Rc<str> = "".into();
    while let Some(first) = rest.chars().next() {
        if matches!(first, '{' | '}' | '[' | ']' | ',' | ' ') {
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        if first == '!' {
            rest = rest.split_once(' ').map_or("", |(_, after)| after);
            continue;
        }
        let (scalar, after) = match first {
            '"' => quoted(rest.get(1..).unwrap_or_default()),
            _ => plain(rest),
        };
        rest = after;
        match rest.strip_prefix(':') {
            Some(after) => {
                key = scalar.into();
                rest = after;
            }
            None => found.push((key.clone(), scalar)),
        }
    }
    found
}

/// A scalar without quotes, and what follows it.
fn plain(text: &str) -> (String, &str) {
    let ends = |(i, c): &(usize, char)| match c {
        ',' | '}' | ']' => true,
        ':' => text
            .get(i + 1..)
            .is_none_or(|t| t.is_empty() || t.starts_with(' ')),
        _ => false,
    };
    let end = text.char_indices().find(ends).map(|(i, _)| i);
    // Never empty, so that the rest always gets shorter.
    let end = end
        .unwrap_or(text.len())
        .max(text.chars().next().map_or(0, char::len_utf8));
    let (scalar, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    (scalar.trim().to_owned(), rest)
}

/// The content of a scalar behind its opening quote, and what follows the closing one.
fn quoted(text: &str) -> (String, &str) {
    let mut content = String::new();
    let mut chars = text.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return (content, text.get(i + 1..).unwrap_or_default()),
            '\\' => {
                let Some((_, escape)) = chars.next() else {
                    break;
                };
                let digits = match escape {
                    'x' => 2,
                    'u' => 4,
                    'U' => 8,
                    _ => 0,
                };
                let code: String = chars.by_ref().take(digits).map(|(_, c)| c).collect();
                content.push(match escape {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'v' => '\u{b}',
                    'f' => '\u{c}',
                    'e' => '\u{1b}',
                    '0' => '\0',
                    '_' => '\u{a0}',
                    'N' => '\u{85}',
                    'L' => '\u{2028}',
                    'P' => '\u{2029}',
                    'x' | 'u' | 'U' => {
                        let code = u32::from_str_radix(&code, 16).ok();
                        code.and_then(char::from_u32).unwrap_or('\u{fffd}')
                    }
                    other => other,
                });
            }
            c => content.push(c),
        }
    }
    (content, "")
}

/// A time such as `2023-11-14T22:13:20.123456`, in nanoseconds since 1970.
fn nanoseconds(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut parts = date.split('-').map(|p| p.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let time = time.trim_end_matches('Z').split('+').next()?;
    let mut parts = time.split(':');
    let (hour, minute) = (
        parts.next()?.parse::<i64>().ok()?,
        parts.next()?.parse::<i64>().ok()?,
    );
    let (second, fraction) = parts
        .next()
        .map(|s| s.split_once('.').unwrap_or((s, "0")))?;
    let second = second.parse::<i64>().ok()?;
    let nanos = format!("{fraction:0<9}").get(..9)?.parse::<i64>().ok()?;
    let is_date =
        (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    // A leap second is the sixty-first of its minute.
    let is_time = (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second)
        && fraction.bytes().all(|b| b.is_ascii_digit());
    if !is_date || !is_time {
        return None;
    }
    // Days from the civil date, with years that begin in March.
    let (y, m) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 719_469;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

#[cfg(test)]
mod tests {
    use super::{nanoseconds, read, scalars};

    #[test]
    fn a_line_is_taken_apart() {
        let line = r#"- {"dt": "2023-11-14T22:13:20.5", "lvl": "results", "msg": {"case": "job", "duration": !!float "1.5", "error_msg": "a \"b\", c: \x41\e", result: fail}}"#;
        let fields = scalars(line);
        let of = |k: &str| fields.iter().find(|f| &*f.0 == k).map(|f| f.1.as_str());
        assert_eq!(of("case"), Some("job"));
        assert_eq!(of("duration"), Some("1.5"));
        assert_eq!(of("error_msg"), Some("a \"b\", c: A\u{1b}"));
        assert_eq!(of("result"), Some("fail"));
        assert_eq!(
            nanoseconds(of("dt").unwrap()),
            Some(1_700_000_000_500_000_000)
        );
        assert_eq!(
            nanoseconds("2024-02-29T00:00:00"),
            Some(1_709_164_800_000_000_000)
        );
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "2023-11-14T221111111111111111:13:22",
            "2023-11-14T24:00:00",
            "2023-11-14T-1:00:00",
            "2023-11-14T00:60:00",
            "2023-11-14T00:00:61",
            "2023-11-14T00:00:00.-5",
            "2023-13-14T00:00:00",
            "1969-12-31T23:59:59",
            "2023-11-14",
        ] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
        // At the end of June 1972 a second was put in.
        let leap = nanoseconds("1972-06-30T23:59:60.25Z");
        assert_eq!(leap, Some(78_796_800_250_000_000));
    }

    #[test]
    fn a_clock_that_is_set_back_while_power_comes_is_told() {
        let log = |ended: &str| {
            let line = |at: &str, message: &str| {
                format!("- {{\"dt\": \"{at}\", \"lvl\": \"info\", \"msg\": \"{message}\"}}\n")
            };
            let begin = line("2024-01-01T00:00:00", "job begins");
            let start = line("2024-01-01T00:00:09", "start: 3.1 power-on (timeout 1)");
            begin + &start + &line(ended, "end: 3.1 power-on (duration 1)")
        };
        let read_log = |ended| read(log(ended).as_bytes());
        let recorded = read_log("2024-01-01T00:00:10").unwrap();
        assert_eq!(recorded.power, (9_000_000_000, 10_000_000_000));
        let why = read_log("2024-01-01T00:00:08").unwrap_err();
        assert!(
            why.contains("set back while power was switched on"),
            "{why}"
        );
    }

    /// With a key for each of its scalars, this line of 3 MB would take a terabyte.
    #[test]
    fn a_long_list_behind_a_long_key_takes_no_more_than_itself() {
        let line = format!("- {{{}: [{}]}}", "k".repeat(1 << 20), "a,".repeat(1 << 20));
        let fields = scalars(&line);
        assert_eq!(fields.len(), 1 << 20);
        assert!(fields.iter().all(|(key, _)| key.len() == 1 << 20));
        assert!(read(line.as_bytes()).is_err());
    }

    #[test]
    fn no_text_is_a_panic_or_endless() {
        for text in [
            "",
            "- ",
            "- {",
            "- :::",
            "- {\"a",
            "- {\"\\",
            "- é: é",
            "- !x",
            "- {a: \"\\u12",
        ] {
            scalars(text);
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
