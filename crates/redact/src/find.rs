//! Finds what identifies, by its form and by the names learned.

use crate::kind::Kind;
use crate::names::Names;
use crate::quote::{QUOTE, START, between_escapes, is_escape};
use regex::bytes::Regex;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::sync::LazyLock;

/// A place to be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub at: Range<usize>,
    pub kind: Kind,
}

/// A form: what it is, its pattern, and what a match must also be. If the pattern
/// has a group, that is replaced.
/// `QUOTE` in it is a quotation mark, `START` the begin of a word, `SECRET` the name of a
/// secret parameter.
type Form = (Kind, &'static str, fn(&Around<'_>) -> bool);

/// The name of a parameter whose value is a secret.
const SECRET: &str =
    r"[\w.-]*(?:passwo?r?d|passphrase|secret|token|psk|api_?key|credentials?|private_?key)[\w.-]*";

/// A match, with the text around it.
struct Around<'a> {
    text: &'a [u8],
    at: Range<usize>,
}

impl Around<'_> {
    fn secret(&self) -> &[u8] {
        self.text.get(self.at.clone()).unwrap_or_default()
    }

    /// The byte before it; none that ends an escape.
    fn before(&self) -> Option<u8> {
        let at = self.at.start.checked_sub(1)?;
        let byte = self.text.get(at).copied()?;
        (!is_escape(self.text, at)).then_some(byte)
    }

    fn after(&self) -> Option<u8> {
        self.text.get(self.at.end).copied()
    }

    /// The `n` bytes before it.
    fn back(&self, n: usize) -> &[u8] {
        let from = self.at.start.saturating_sub(n);
        self.text.get(from..self.at.start).unwrap_or_default()
    }

    /// Whether it stands alone, and is no part of a longer word.
    fn alone(&self) -> bool {
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        !self.before().is_some_and(word) && !self.after().is_some_and(word)
    }
}

/// In the order of rank: of two that begin at one place the first counts.
const FORMS: &[Form] = &[
    // In quotation marks it may have spaces.
    (
        Kind::Secret,
        r#"(?i-u)SECRET(?:QUOTE)?[ \t]*[:=][ \t]*(?:\\*"|&quot;)([^"\\\n&]+)"#,
        |a| !is_switch(a.secret()),
    ),
    (Kind::Secret, r"(?i-u)SECRET='([^'\n]+)'", |a| {
        !is_switch(a.secret())
    }),
    (Kind::Secret, r#"(?i-u)SECRET=([^\s"',;&\\]+)"#, |a| {
        !is_switch(a.secret())
    }),
    // An option of a program, and its value as the next word.
    (
        Kind::Secret,
        r#"(?i-u)[\s\x00"'\[]--SECRET(?:[ \x00]|QUOTE, ?QUOTE)([^\s\x00"'\\,;-][^\s\x00"'\\,;]*)"#,
        |_| true,
    ),
    (
        Kind::Credentials,
        r#"(?-u)\b[a-z][a-z0-9+.-]*://([^\s/@:"']+:[^\s/@"']+)@"#,
        |_| true,
    ),
    (
        Kind::Email,
        r"(?-u)[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}",
        |a| !is_unit(a.secret()),
    ),
    (
        Kind::Uuid,
        r"(?-u)[[:xdigit:]]{8}(?:(?:-|\\x2d)[[:xdigit:]]{4}){3}(?:-|\\x2d)[[:xdigit:]]{12}",
        |a| a.alone(),
    ),
    // FAT has two words, NTFS 16 digits, a partition of an MBR its disk's and a number.
    (
        Kind::Uuid,
        r"(?-u)(?:UUID=|by-uuid/|by-partuuid/|by\\x2duuid-|by\\x2dpartuuid-)([[:xdigit:]]{4}(?:-|\\x2d)[[:xdigit:]]{4}|[[:xdigit:]]{8}(?:-|\\x2d)[[:xdigit:]]{2}|[[:xdigit:]]{16})",
        |a| a.alone(),
    ),
    (Kind::Id, r"(?-u)[[:xdigit:]]{32}", |a| {
        a.alone() && !is_message_kind(a)
    }),
    (
        Kind::Mac,
        r"(?i-u)(?:[[:xdigit:]]{2}:){5,7}[[:xdigit:]]{2}",
        |a| is_address(a) && a.after() != Some(b':') && a.before() != Some(b':'),
    ),
    (
        Kind::Mac,
        r"(?i-u)(?:[[:xdigit:]]{2}-){5,7}[[:xdigit:]]{2}",
        // Dates joined by `-` have digits only.
        |a| is_address(a) && a.secret().iter().any(u8::is_ascii_alphabetic),
    ),
    (
        Kind::Mac,
        r"(?-u)START(?:enx|wlx|wwx)([[:xdigit:]]{12})",
        |a| !a.after().is_some_and(|b| b.is_ascii_alphanumeric()),
    ),
    (
        Kind::Ipv6,
        r"(?-u)[[:xdigit:]]{0,4}(?::[[:xdigit:]]{0,4}){2,7}(?:\d+\.\d+\.\d+\.\d+)?",
        is_ipv6,
    ),
    (Kind::Ipv4, r"(?-u)\d{1,3}(?:\.\d{1,3}){3}", is_ipv4),
    (
        Kind::Serial,
        r"(?i-u)(?:START|_)serial(?: ?number|_?no|#)?(?:QUOTE)?[ \t]*[:=][ \t]*(?:QUOTE)?([0-9a-z][\w.-]{3,})",
        |a| !is_plain_serial(a.secret()),
    ),
    (
        Kind::Serial,
        r#"(?i-u)STARTid_serial(?:_short)?=([^\s"',;]+)"#,
        |_| true,
    ),
    // What udev names a disk by: bus, model and serial number.
    (
        Kind::Serial,
        r"(?-u)by(?:-|\\x2d)id[/-]([\w.:\\+-]*?\w)(?:(?:-|\\x2d)part\d+)?(?:\.device|\.swap|[^\w.:\\+-]|$)",
        |_| true,
    ),
    (
        Kind::Path,
        r#"(?-u)/(?:home|Users)/[^\s/'"<>:;,)\]}\\]+/([^\s'"<>:;,)\]}\\]+)"#,
        |_| true,
    ),
    (
        Kind::Path,
        r#"(?-u)/(?:run/)?media/[a-z_][\w-]*/([^\s'"<>:;,)\]}\\]+)"#,
        |_| true,
    ),
    // The same in the name of a unit
    (
        Kind::Path,
        r#"(?-u)STARThome-\w+?(?:-|\\x2d)([^\s'"<>]+)\.(?:auto)?mount\b"#,
        |_| true,
    ),
];

static PATTERNS: LazyLock<Vec<(&'static Form, Regex)>> = LazyLock::new(|| {
    // A test compiles them all.
    let all = FORMS.iter();
    all.filter_map(|form| {
        let pattern = form
            .1
            .replace("SECRET", SECRET)
            .replace("QUOTE", QUOTE)
            .replace("START", START);
        Some((form, Regex::new(&pattern).ok()?))
    })
    .collect()
});

/// All places in `text`, in order; none overlaps another.
pub(crate) fn all(text: &[u8], names: &Names) -> Vec<Found> {
    let mut found = Vec::new();
    for ((kind, _, also), pattern) in PATTERNS.iter() {
        for m in pattern.captures_iter(text) {
            let Some(place) = m.get(1).or_else(|| m.get(0)) else {
                continue;
            };
            let at = between_escapes(text, place.range());
            let around = Around {
                text,
                at: at.clone(),
            };
            if also(&around) {
                found.push(Found { at, kind: *kind });
            }
        }
    }
    named(text, names, &mut found);
    // Stable: of two that begin at one place the form of higher rank stays first.
    found.sort_by_key(|f| f.at.start);
    let mut end = 0;
    found.retain(|f| {
        let free = f.at.start >= end;
        if free {
            end = f.at.end;
        }
        free
    });
    found
}

/// The names learned, wherever they stand as a word.
fn named(text: &[u8], names: &Names, found: &mut Vec<Found>) {
    let known = names.known();
    if known.is_empty() {
        return;
    }
    let words: Vec<String> = known
        .iter()
        .filter_map(|(name, _)| Some(regex::escape(std::str::from_utf8(name).ok()?)))
        .collect();
    let Ok(pattern) = Regex::new(&format!("(?-u)(?:{})", words.join("|"))) else {
        return;
    };
    for m in pattern.find_iter(text) {
        let around = Around {
            text,
            at: m.range(),
        };
        // `host.local` is the host; `my-host2` is another word.
        let joined = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let apart = !around.before().is_some_and(joined) && !around.after().is_some_and(joined);
        if let Some(kind) = names.kind(m.as_bytes()).filter(|_| apart) {
            found.push(Found {
                at: m.range(),
                kind,
            });
        }
    }
}

/// Values that switch something: they tell nothing.
fn is_switch(value: &[u8]) -> bool {
    let value = value.to_ascii_lowercase();
    let words: [&[u8]; 8] = [b"0", b"1", b"on", b"off", b"yes", b"no", b"true", b"false"];
    words.contains(&value.as_slice())
}

/// `getty@tty1.service` has the form of an address.
fn is_unit(word: &[u8]) -> bool {
    const KINDS: &[&str] = &[
        "service",
        "socket",
        "target",
        "device",
        "mount",
        "timer",
        "slice",
        "path",
        "scope",
        "swap",
        "automount",
    ];
    let last = word.rsplit(|b| *b == b'.').next().unwrap_or_default();
    KINDS.iter().any(|k| k.as_bytes() == last)
}

/// The kinds of messages have fixed identifiers, which readers of journals know.
fn is_message_kind(around: &Around<'_>) -> bool {
    let back = String::from_utf8_lossy(around.back(24)).into_owned();
    back.contains("MESSAGE_ID")
}

/// No address at all, or one that all share.
fn is_address(around: &Around<'_>) -> bool {
    let digits = around.secret().iter().filter(|b| b.is_ascii_hexdigit());
    let digits: Vec<u8> = digits.map(u8::to_ascii_lowercase).collect();
    let same = |b: u8| digits.iter().all(|d| *d == b);
    around.alone() && !same(b'0') && !same(b'f')
}

fn is_ipv4(around: &Around<'_>) -> bool {
    let Ok(text) = std::str::from_utf8(around.secret()) else {
        return false;
    };
    let Ok(address) = text.parse::<Ipv4Addr>() else {
        return false;
    };
    let part = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.';
    // `5.15.0.91-generic` and `version 1.2.3.4` are versions.
    let version = around.after() == Some(b'-')
        || String::from_utf8_lossy(around.back(8))
            .to_ascii_lowercase()
            .ends_with("version ");
    let shared = address.is_loopback() || address.is_unspecified() || address.is_broadcast();
    let mask = address.octets()[0] == 255;
    let ends_a_sentence = around.after() == Some(b'.')
        && !around
            .text
            .get(around.at.end + 1)
            .is_some_and(u8::is_ascii_alphanumeric);
    let joined =
        around.before().is_some_and(part) || (around.after().is_some_and(part) && !ends_a_sentence);
    !joined && !version && !shared && !mask
}

fn is_ipv6(around: &Around<'_>) -> bool {
    let Ok(text) = std::str::from_utf8(around.secret()) else {
        return false;
    };
    let Ok(address) = text.parse::<Ipv6Addr>() else {
        return false;
    };
    let joined = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b':';
    let alone = !around.before().is_some_and(joined) && !around.after().is_some_and(joined);
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
    alone && digits >= 3 && !address.is_loopback() && !address.is_unspecified()
}

/// Words that follow `serial:` and are no numbers: `serial: ttyS0`, `Serial: 8250/16550`.
fn is_plain_serial(word: &[u8]) -> bool {
    let text = String::from_utf8_lossy(word).to_ascii_lowercase();
    let device = text.starts_with("tty") || text.starts_with("8250") || text == "0000";
    device || !text.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{FORMS, PATTERNS};

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(PATTERNS.len(), FORMS.len());
    }
}
