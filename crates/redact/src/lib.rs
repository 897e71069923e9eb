//! Replaces what identifies a machine or a person in boot logs and traces.
//!
//! ```
//! use firstlight_redact::Redactor;
//!
//! let log = b"[    1.250000] eth0: link up, 52:54:00:12:34:56\n\
//!             [    2.000000] systemd[1]: Hostname set to <merlin>.\n\
//!             [    2.100000] merlin: ready\n";
//! let mut redactor = Redactor::default();
//! redactor.learn(log);
//! let sent = redactor.redact(log);
//! assert_eq!(
//!     String::from_utf8_lossy(&sent),
//!     "[    1.250000] eth0: link up, 02:00:00:00:00:01\n\
//!      [    2.000000] systemd[1]: Hostname set to <host1>.\n\
//!      [    2.100000] host1: ready\n"
//! );
//! ```
//!
//! Two passes: [`Redactor::learn`] finds names that only their context gives away,
//! [`Redactor::redact`] replaces them and all that has the form of an identifier.
//! Learn all files of a boot before the first is redacted.

mod find;
mod kind;
mod names;
mod quote;
mod replace;

pub use kind::Kind;

use std::collections::BTreeMap;

/// What was replaced so far, and by what: equal secrets become equal replacements.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    names: names::Names,
    replaced: BTreeMap<(Kind, Vec<u8>), Replaced>,
}

/// One secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Replaced {
    /// Which of its kind, from 1.
    number: u32,
    /// How often it was replaced.
    times: u64,
}

/// How much of one kind was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// What it was.
    pub kind: Kind,
    /// How many different ones there were.
    pub distinct: u32,
    /// How many places were replaced.
    pub places: u64,
}

impl Redactor {
    /// Learns the names that the context in `input` gives away: hosts, users and
    /// wireless networks.
    pub fn learn(&mut self, input: &[u8]) {
        self.names.learn(&text_of(input));
    }

    /// `input` without what identifies. Text of UTF-16 becomes UTF-8. Input with a
    /// zero byte is taken as binary: its length, and every offset in it, stays.
    pub fn redact(&mut self, input: &[u8]) -> Vec<u8> {
        let text = text_of(input);
        let binary = text.contains(&0);
        let mut out = Vec::with_capacity(text.len());
        let mut done = 0;
        for found in find::all(&text, &self.names) {
            let Some(secret) = text.get(found.at.clone()) else {
                continue;
            };
            out.extend_from_slice(text.get(done..found.at.start).unwrap_or_default());
            let number = self.number(found.kind, secret);
            match binary {
                true => out.extend(replace::of_length(found.kind, number, secret)),
                false => out.extend(replace::readable(found.kind, number, secret)),
            }
            done = found.at.end;
        }
        out.extend_from_slice(text.get(done..).unwrap_or_default());
        out
    }

    /// What was replaced so far, by kind; kinds of which there was nothing are left
    /// out.
    #[must_use]
    pub fn counts(&self) -> Vec<Count> {
        let mut counts: Vec<Count> = Vec::new();
        for ((kind, _), replaced) in &self.replaced {
            match counts.last_mut().filter(|c| c.kind == *kind) {
                Some(count) => {
                    count.distinct += 1;
                    count.places += replaced.times;
                }
                None => counts.push(Count {
                    kind: *kind,
                    distinct: 1,
                    places: replaced.times,
                }),
            }
        }
        counts
    }

    /// Host and user names that were kept because they are defaults of distributions,
    /// or words that logs are full of: `debian`, `pi`.
    #[must_use]
    pub fn kept(&self) -> Vec<String> {
        self.names.kept()
    }

    /// The number of a secret, counted once more.
    fn number(&mut self, kind: Kind, secret: &[u8]) -> u32 {
        let key = (kind, kind.canonical(secret));
        if let Some(known) = self.replaced.get_mut(&key) {
            known.times += 1;
            return known.number;
        }
        let others = self.replaced.keys().filter(|(k, _)| *k == kind).count();
        let number = u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1);
        self.replaced.insert(key, Replaced { number, times: 1 });
        number
    }
}

/// The bytes, or, of UTF-16 with a byte order mark, the same text as UTF-8.
fn text_of(input: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    let (units, rest): (fn([u8; 2]) -> u16, _) = match input {
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return input.into(),
    };
    let (pairs, _) = rest.as_chunks::<2>();
    let units = pairs.iter().map(|pair| units(*pair));
    let text: String = char::decode_utf16(units)
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    text.into_bytes().into()
}
