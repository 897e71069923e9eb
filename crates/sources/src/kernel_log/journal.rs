//! JSON: `journalctl -o json`, one object a line, and `dmesg --json`.

use super::notes::LONGEST_LINE;
use super::shape::Stamp;
use crate::text::number;
use memchr::{memchr, memchr3, memmem};
use serde::Deserialize;
use serde_json::Value;

/// One record of the kernel log, taken out of JSON.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    /// When.
    pub stamp: Stamp,
    /// The syslog level.
    pub level: Option<u8>,
    /// The task that printed it.
    pub caller: Option<u64>,
    /// Whether a program wrote it.
    pub by_program: bool,
    /// The words, as they would stand in `dmesg`.
    pub text: Vec<u8>,
}

/// The fields of a journal record that matter here (systemd.journal-fields).
/// Numbers are strings; a field that holds no UTF-8 is an array of bytes.
#[derive(Deserialize)]
struct Fields {
    #[serde(rename = "MESSAGE", default)]
    message: Value,
    #[serde(rename = "_SOURCE_MONOTONIC_TIMESTAMP", default)]
    source_monotonic: Value,
    #[serde(rename = "__MONOTONIC_TIMESTAMP", default)]
    monotonic: Value,
    #[serde(rename = "__REALTIME_TIMESTAMP", default)]
    realtime: Value,
    #[serde(rename = "PRIORITY", default)]
    priority: Value,
    #[serde(rename = "SYSLOG_IDENTIFIER", default)]
    identifier: Value,
    #[serde(rename = "SYSLOG_PID", default)]
    pid: Value,
    #[serde(rename = "_TRANSPORT", default)]
    transport: Value,
}

/// A message of `dmesg --json`: with `-x` the priority is a word.
#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    fac: Value,
    #[serde(default)]
    pri: Value,
    #[serde(default)]
    time: Value,
    #[serde(default)]
    caller: Value,
    #[serde(default)]
    msg: Value,
}

/// Whether a line that begins with a brace is a record of the journal.
pub(super) fn is_json(line: &[u8]) -> bool {
    let key = line.get(1..).unwrap_or_default().trim_ascii_start();
    matches!(key.first(), Some(b'"')) && memmem::find(line, b"\"__").is_some()
        || memmem::find(line, b"\"MESSAGE\"").is_some()
}

/// A line of `journalctl -o json`.
pub(super) fn entry(line: &[u8]) -> Option<Entry> {
    let fields: Fields = parse(line)?;
    let micros = |v: &Value| {
        let n = v.as_u64().or_else(|| v.as_str()?.parse().ok())?;
        i64::try_from(n).ok()?.checked_mul(1_000)
    };
    // The journal copies the kernel's own stamp of kernel records; the others
    // it takes itself, when it gets the record.
    let of_kernel = fields.transport.as_str() == Some("kernel");
    let stamp = match (
        micros(&fields.source_monotonic),
        micros(&fields.monotonic),
        micros(&fields.realtime),
    ) {
        (Some(ns), ..) if of_kernel => Stamp::Printk(ns),
        (Some(ns), ..) | (None, Some(ns), _) => Stamp::Monotonic(ns),
        (None, None, Some(ns)) => Stamp::Wall {
            ns,
            resolution_ns: 1_000,
            yearless: false,
        },
        _ => Stamp::None,
    };
    let message = bytes(&fields.message)?;
    let identifier = fields.identifier.as_str().filter(|i| *i != "kernel");
    let mut text = Vec::new();
    if let Some(identifier) = identifier {
        text.extend_from_slice(identifier.as_bytes());
        if let Some(pid) = fields.pid.as_str() {
            text.extend_from_slice(format!("[{pid}]").as_bytes());
        }
        text.extend_from_slice(b": ");
    }
    text.extend_from_slice(&message);
    Some(Entry {
        stamp,
        level: level(&fields.priority),
        caller: None,
        by_program: identifier.is_some(),
        text,
    })
}

/// An object of `dmesg --json`.
fn message(object: &[u8]) -> Option<Entry> {
    let m: Message = parse(object)?;
    // A number of seconds with six decimals: exact to the microsecond.
    let micros = m.time.as_f64().map(|s| (s * 1e6).round());
    let stamp = match micros {
        Some(us) if (0.0..9e12).contains(&us) => Stamp::Printk((us as i64).saturating_mul(1_000)),
        _ => Stamp::None,
    };
    let caller = m.caller.as_str().and_then(|c| c.trim().strip_prefix('T'));
    // Without -x or -r, `pri` may still hold the facility.
    let facility = m.pri.as_u64().map_or(0, |p| p >> 3);
    let by_program = facility > 0 || m.fac.as_str().is_some_and(|f| f != "kern");
    Some(Entry {
        stamp,
        level: level(&m.pri),
        caller: caller.and_then(|c| c.parse().ok()),
        by_program,
        text: first_record(bytes(&m.msg)?),
    })
}

/// `dmesg --file` of util-linux 2.38 lets each message run on to the end of the
/// file: what begins with another record's level and stamp is no part of it.
fn first_record(mut text: Vec<u8>) -> Vec<u8> {
    let end = memmem::find_iter(&text, b"\n<").find(|at| {
        let rest = text.get(at + 2..).and_then(number);
        matches!(rest, Some((_, [b'>', b'[', ..])))
    });
    if let Some(end) = end {
        text.truncate(end);
    }
    text
}

fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Option<T> {
    serde_json::from_slice(json).ok()
}

/// A level as a number, a number in a string, or a word.
fn level(value: &Value) -> Option<u8> {
    if let Some(n) = value.as_u64() {
        return u8::try_from(n & 7).ok();
    }
    let word = value.as_str()?;
    if let Ok(n) = word.parse::<u8>() {
        return Some(n & 7);
    }
    let words = [
        "emerg", "alert", "crit", "err", "warn", "notice", "info", "debug",
    ];
    let level = words.iter().position(|w| *w == word)?;
    u8::try_from(level).ok()
}

/// A text: a string, or an array of bytes.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        Value::Array(bytes) => bytes
            .iter()
            .map(|b| u8::try_from(b.as_u64()?).ok())
            .collect(),
        _ => None,
    }
}

/// Where the objects of `dmesg --json` begin: past the bracket that follows
/// the key `dmesg`; `None` if this is something else.
pub(super) fn dmesg_array(input: &[u8]) -> Option<usize> {
    let head = input.get(..4096).unwrap_or(input);
    if head.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    let key = memmem::find(head, b"\"dmesg\"")?;
    let bracket = memchr(b'[', head.get(key..)?)?;
    key.checked_add(bracket)?.checked_add(1)
}

/// A piece of the array of `dmesg --json`.
#[derive(Debug, PartialEq)]
pub(super) struct Piece {
    /// Where it begins in the input.
    pub offset: usize,
    /// The message, or `None` if it is no whole object.
    pub entry: Option<Entry>,
}

/// The pieces of `dmesg --json` from `at` on. Each object is one; so is each
/// stretch that is none, to its line's end.
pub(super) fn pieces(input: &[u8], at: usize) -> impl Iterator<Item = Piece> {
    let mut at = at;
    std::iter::from_fn(move || {
        let rest = input.get(at..)?;
        let structure = |b: &&u8| b" \t\r\n,[]}".contains(b);
        at += rest.iter().take_while(structure).count();
        let rest = input.get(at..)?;
        let offset = at;
        let (length, whole) = match rest.first()? {
            b'{' => object(rest),
            _ => {
                let end = memchr::memchr2(b'{', b'\n', rest).unwrap_or(rest.len());
                (end.max(1), false)
            }
        };
        at += length;
        // One line or one object: neither the kernel nor dmesg makes a longer one.
        let whole = whole && length <= LONGEST_LINE;
        let entry = whole.then(|| message(rest.get(..length)?)).flatten();
        Some(Piece { offset, entry })
    })
}

/// The length of the object that `bytes` begin with, and whether it is whole.
/// These objects are flat, and strings hold no raw line end, so a second brace
/// or a line end in a string shows that the rest was lost.
fn object(bytes: &[u8]) -> (usize, bool) {
    let mut at = 1;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(found) = memchr3(b'"', b'{', b'}', rest) else {
            return (bytes.len(), false);
        };
        at += found;
        match bytes.get(at) {
            Some(b'}') => return (at + 1, true),
            Some(b'"') => match string(bytes, at + 1) {
                Ok(end) => at = end,
                Err(end) => return (end, false),
            },
            _ => return (at, false),
        }
    }
}

/// The end of the string whose text begins at `at`; or where it is cut.
fn string(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(found) = memchr3(b'"', b'\\', b'\n', rest) else {
            return Err(bytes.len());
        };
        at += found;
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = (at + 2).min(bytes.len()),
            _ => return Err(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Stamp, dmesg_array, entry, pieces};

    #[test]
    fn journal_records() {
        let line = br#"{"__REALTIME_TIMESTAMP":"5","__MONOTONIC_TIMESTAMP":"7","_SOURCE_MONOTONIC_TIMESTAMP":"6","_TRANSPORT":"kernel","PRIORITY":"6","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"a b"}"#;
        let e = entry(line).unwrap();
        assert_eq!(
            (e.stamp, e.level, &e.text[..]),
            (Stamp::Printk(6_000), Some(6), &b"a b"[..])
        );
        let line = br#"{"__MONOTONIC_TIMESTAMP":"7","SYSLOG_IDENTIFIER":"systemd","SYSLOG_PID":"1","MESSAGE":[104,255]}"#;
        let e = entry(line).unwrap();
        assert_eq!(
            (e.stamp, e.by_program, &e.text[..]),
            (Stamp::Monotonic(7_000), true, &b"systemd[1]: h\xff"[..])
        );
        assert!(entry(br#"{"MESSAGE":"cut"#).is_none());
        assert!(entry(br#"{"MESSAGE":null}"#).is_none());
    }

    #[test]
    fn dmesg_objects_and_what_is_left_of_torn_ones() {
        let input = br#"{ "dmesg": [ { "pri": 6, "time":     0.123456, "msg": "a {b} \"c\"" },{
            "fac":"daemon","pri": "warn", "time": 1.000001, "caller": "T12", "msg": "d\n<7>[    1.2] e" }, {"pri": 5, "msg": "cut
            {"pri":5,"time":2.0,"msg":"e"}, rubbish
        ] }"#;
        let at = dmesg_array(input).unwrap();
        let seen: Vec<_> = pieces(input, at)
            .map(|p| {
                p.entry.map(|e| {
                    (
                        e.stamp,
                        e.level,
                        e.caller,
                        String::from_utf8(e.text).unwrap(),
                    )
                })
            })
            .collect();
        let row = |ns, level, caller, text: &str| {
            Some((Stamp::Printk(ns), Some(level), caller, text.to_owned()))
        };
        assert_eq!(
            seen,
            [
                row(123_456_000, 6, None, "a {b} \"c\""),
                row(1_000_001_000, 4, Some(12), "d"),
                None,
                row(2_000_000_000, 5, None, "e"),
                None,
            ]
        );
    }
}
