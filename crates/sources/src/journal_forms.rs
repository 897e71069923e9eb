//! The forms in which `journalctl -o` prints whole records: `json`, `json-pretty`,
//! `json-sse`, `json-seq`, `export` and `verbose`. All are made one: an object of JSON a record.
//!
//! <https://systemd.io/JOURNAL_EXPORT_FORMATS/>

use crate::text;
use memchr::{memchr, memmem};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A record separator, RFC 7464.
const SEPARATOR: u8 = 0x1e;

/// What begins a line of server-sent events that holds something.
const EVENT: &[u8] = b"data: ";

/// The first field of a record in the export format.
const CURSOR: &[u8] = b"__CURSOR=";

/// The longest field that is kept; longer ones are core dumps and the like.
const LONGEST_FIELD: usize = 64 << 10;

/// No more of a record is kept: readers pass over what is longer than their lines.
const LONGEST_RECORD: usize = 1 << 20;

/// A form that is not one object a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// An object over several lines.
    Pretty,
    /// An object behind [`EVENT`].
    Events,
    /// An object behind a [`SEPARATOR`].
    Sequence,
    /// A field a line, and an empty line behind the last one.
    Export,
    /// A line with the time and the cursor in brackets, and a field in each indented line.
    Verbose,
}

impl Form {
    /// The form of a journal's records, where it is not one object a line.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(CURSOR) {
            return Some(Self::Export);
        }
        if cursor(&line(head).1).is_some() {
            return Some(Self::Verbose);
        }
        let fields = || memmem::find(head, b"\"__").is_some();
        let form = match head {
            [SEPARATOR, b'{', ..] => Self::Sequence,
            [b'{', b'\n', ..] | [b'{', b'\r', b'\n', ..] => Self::Pretty,
            _ if head.starts_with(b"data: {") => Self::Events,
            _ => return None,
        };
        fields().then_some(form)
    }
}

/// A piece of a journal: a record, or a line that is none.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    /// Where it begins in the input.
    pub offset: u64,
    /// The record as an object of JSON, or the bytes as they stand.
    pub bytes: Cow<'a, [u8]>,
}

/// The pieces of a journal, whatever its form. All bytes are in one.
pub(crate) fn pieces(journal: &[u8]) -> Pieces<'_> {
    Pieces {
        form: Form::of(journal.get(..crate::source::SNIFF_BYTES).unwrap_or(journal)),
        journal,
        at: 0,
    }
}

/// The same, if it is a journal in a form that it has itself; `None` for a log of lines.
pub(crate) fn pieces_of_a_form(journal: &[u8]) -> Option<Pieces<'_>> {
    Some(pieces(journal)).filter(|p| p.form.is_some())
}

/// An iterator over [`pieces`].
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    form: Option<Form>,
    journal: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let rest = self.journal.get(self.at..).filter(|r| !r.is_empty())?;
        let offset = self.at as u64;
        let (length, bytes) = match self.form {
            None => line(rest),
            Some(Form::Events) => {
                let (length, line) = line(rest);
                let object = match line {
                    Cow::Borrowed(l) => l.strip_prefix(EVENT).unwrap_or(l).into(),
                    owned @ Cow::Owned(_) => owned,
                };
                (length, object)
            }
            Some(Form::Sequence) => {
                let skip = usize::from(rest.first() == Some(&SEPARATOR));
                let inner = rest.get(skip..).unwrap_or_default();
                let length = memchr(SEPARATOR, inner).unwrap_or(inner.len());
                let object = inner.get(..length).unwrap_or_default();
                (skip + length, object.trim_ascii_end().into())
            }
            Some(Form::Pretty) => object(rest),
            Some(Form::Export) => exported(rest),
            Some(Form::Verbose) => verbose(rest),
        };
        // At least a byte, so that this ends.
        self.at = self.at.saturating_add(length.max(1));
        Some(Piece { offset, bytes })
    }
}

/// The length of the line that `bytes` begin with, and the line without its end.
fn line(bytes: &[u8]) -> (usize, Cow<'_, [u8]>) {
    let end = memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
    let line = bytes.get(..end).unwrap_or(bytes);
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    (end, text::without_cr(line).into())
}

/// An object over several lines: each of its fields is indented.
fn object(bytes: &[u8]) -> (usize, Cow<'_, [u8]>) {
    let (first, text) = line(bytes);
    if &*text != b"{" {
        return (first, text);
    }
    let mut end = first;
    loop {
        let rest = bytes.get(end..).unwrap_or_default();
        // What begins another object says that this one is torn.
        if rest.is_empty() || rest.starts_with(b"{") {
            break;
        }
        let (length, text) = line(rest);
        end += length;
        if &*text == b"}" {
            break;
        }
    }
    let object = bytes.get(..end).unwrap_or(bytes);
    (end, object.trim_ascii_end().into())
}

/// A record of the export format: `KEY=text` a line; or the key, and in the next
/// line the length in eight bytes, little endian, and so many bytes.
fn exported(bytes: &[u8]) -> (usize, Cow<'_, [u8]>) {
    let mut fields = Map::new();
    let mut kept = 0;
    let mut at = 0;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let (length, text) = line(rest);
        if text.is_empty() {
            // An empty line without a record before it is a piece of its own.
            if at == 0 {
                return (length, text);
            }
            at += length;
            break;
        }
        at += length;
        let (key, value) = match memchr(b'=', &text) {
            Some(end) => (text.get(..end), text.get(end + 1..).unwrap_or_default()),
            None => {
                let rest = bytes.get(at..).unwrap_or_default();
                let Some((value, taken)) = binary(rest) else {
                    at = bytes.len();
                    break;
                };
                at += taken;
                (Some(&*text), value)
            }
        };
        let value = value.get(..LONGEST_FIELD).unwrap_or(value);
        let key = key.and_then(|k| std::str::from_utf8(k).ok());
        // What is longer than any record is told as that, and not kept whole.
        if let Some(key) = key.filter(|_| kept <= LONGEST_RECORD) {
            kept += key.len() + value.len() + 1;
            let value = match std::str::from_utf8(value) {
                Ok(text) => Value::from(text),
                Err(_) => Value::from(value),
            };
            fields.insert(key.to_owned(), value);
        }
    }
    (at, Value::from(fields).to_string().into_bytes().into())
}

/// What stands in the brackets of `Sun 2026-11-22 10:00:00.123456 UTC [s=1;i=2;b=3;m=4;t=5;x=6]`.
fn cursor(line: &[u8]) -> Option<&[u8]> {
    let open = memmem::find(line, b" [s=")?;
    let cursor = line.get(open + 2..)?.trim_ascii_end().strip_suffix(b"]")?;
    memmem::find(cursor, b";m=").map(|_| cursor)
}

/// A record of the form `verbose`, whose times stand in the cursor, in hexadecimal
/// microseconds.
fn verbose(bytes: &[u8]) -> (usize, Cow<'_, [u8]>) {
    let (mut at, first) = line(bytes);
    let Some(cursor) = cursor(&first) else {
        return (at, first);
    };
    let mut fields = Map::new();
    let mut add = |key: &[u8], value: &[u8]| {
        let key = String::from_utf8_lossy(key).into_owned();
        let value = value.get(..LONGEST_FIELD).unwrap_or(value);
        fields.insert(
            key,
            Value::from(String::from_utf8_lossy(value).into_owned()),
        );
    };
    add(b"__CURSOR", cursor);
    for part in cursor.split(|b| *b == b';') {
        let hex = |digits: &[u8]| {
            let digits = std::str::from_utf8(digits).ok()?;
            u64::from_str_radix(digits, 16)
                .ok()
                .map(|us| us.to_string())
        };
        match part {
            [b'b', b'=', id @ ..] => add(b"_BOOT_ID", id),
            [b'm', b'=', us @ ..] => {
                if let Some(us) = hex(us) {
                    add(b"__MONOTONIC_TIMESTAMP", us.as_bytes());
                }
            }
            [b't', b'=', us @ ..] => {
                if let Some(us) = hex(us) {
                    add(b"__REALTIME_TIMESTAMP", us.as_bytes());
                }
            }
            _ => {}
        }
    }
    let mut kept = 0;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let (length, text) = line(rest);
        let Some(field) = text.strip_prefix(b"    ").filter(|_| !rest.is_empty()) else {
            break;
        };
        at += length;
        if let Some(end) = memchr(b'=', field).filter(|_| kept <= LONGEST_RECORD) {
            kept += field.len();
            add(
                field.get(..end).unwrap_or_default(),
                field.get(end + 1..).unwrap_or_default(),
            );
        }
    }
    (at, Value::from(fields).to_string().into_bytes().into())
}

/// The bytes of a field, and how many it takes with its length and its line end.
fn binary(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let value = rest.get(..length)?;
    rest.get(length..)?.starts_with(b"\n").then_some(())?;
    Some((value, length.checked_add(9)?))
}

#[cfg(test)]
mod tests {
    use super::{Form, pieces};

    fn all(journal: &[u8]) -> Vec<(u64, String)> {
        pieces(journal)
            .map(|p| (p.offset, String::from_utf8_lossy(&p.bytes).into_owned()))
            .collect()
    }

    #[test]
    fn every_form_is_an_object_a_record() {
        let a = r#"{"__CURSOR":"s=1","MESSAGE":"a"}"#;
        let lines = format!("{a}\n{a}\n");
        assert_eq!(all(lines.as_bytes()), [(0, a.into()), (33, a.into())]);
        let events = format!("data: {a}\n\ndata: {a}\n");
        assert_eq!(Form::of(events.as_bytes()), Some(Form::Events));
        assert_eq!(
            all(events.as_bytes()),
            [(0, a.into()), (39, String::new()), (40, a.into())]
        );
        let sequence = format!("\x1e{a}\n\x1e{a}\n");
        assert_eq!(all(sequence.as_bytes()), [(0, a.into()), (34, a.into())]);
        let pretty = "{\n\t\"__CURSOR\" : \"s=1\"\n}\n{\n\t\"torn\" : 1\n{\n}\n";
        let found = all(pretty.as_bytes());
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0].1, "{\n\t\"__CURSOR\" : \"s=1\"\n}");
        assert_eq!(found[2], (38, "{\n}".into()));
    }

    #[test]
    fn exported_records_may_hold_bytes() {
        let mut journal = b"__CURSOR=s=1\nMESSAGE=a=b\n\n__CURSOR=s=2\nMESSAGE\n".to_vec();
        journal.extend_from_slice(&3_u64.to_le_bytes());
        journal.extend_from_slice(b"c\nd\nPRIORITY=6\n\n");
        let found = all(&journal);
        assert_eq!(
            found,
            [
                (0, r#"{"MESSAGE":"a=b","__CURSOR":"s=1"}"#.into()),
                (
                    26,
                    r#"{"MESSAGE":"c\nd","PRIORITY":"6","__CURSOR":"s=2"}"#.into()
                ),
            ]
        );
    }

    #[test]
    fn a_verbose_record_has_its_times_in_the_cursor() {
        let journal = "Sun 2026-11-22 10:00:00.1 UTC [s=1;i=2;b=b0;m=f4240;t=64;x=6]\n\
                       \x20   _PID=1\n    MESSAGE=a=b\nSun 2026-11-22 10:00:01.1 UTC \
                       [s=1;i=3;b=b0;m=1e8480;t=c8;x=7]\n    MESSAGE=c\n";
        assert_eq!(Form::of(journal.as_bytes()), Some(Form::Verbose));
        let found = all(journal.as_bytes());
        assert_eq!(found.len(), 2, "{found:?}");
        for words in [
            r#""__MONOTONIC_TIMESTAMP":"1000000""#,
            r#""__REALTIME_TIMESTAMP":"100""#,
            r#""_BOOT_ID":"b0""#,
            r#""MESSAGE":"a=b""#,
            r#""_PID":"1""#,
        ] {
            assert!(found[0].1.contains(words), "{words} in {}", found[0].1);
        }
        for cut in 0..=journal.len() {
            assert!(all(&journal.as_bytes()[..cut]).len() <= cut);
        }
    }

    #[test]
    fn cut_and_absurd_records_end() {
        let mut journal = b"__CURSOR=s=1\nMESSAGE\n".to_vec();
        journal.extend_from_slice(&u64::MAX.to_le_bytes());
        journal.extend_from_slice(b"c\n");
        for cut in 0..=journal.len() {
            let found = all(&journal[..cut]);
            assert!(found.len() <= cut);
        }
        let pretty = b"{\n\t\"__CURSOR\" : \"s=1\"\n}\n";
        for cut in 0..=pretty.len() {
            assert!(all(&pretty[..cut]).len() <= cut);
        }
    }
}
