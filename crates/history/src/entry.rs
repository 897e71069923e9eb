//! The files of a store.

use crate::at::At;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// The file that makes a folder a store, and what is in it: the same in every store.
pub const HEAD_FILE: &str = "firstlight-history.json";
/// What is in [`HEAD_FILE`].
pub const HEAD: &str = "{\"firstlight_history_store\":1}\n";
/// The folder of entries; below it, one folder for the first two characters of a name.
pub const ENTRIES: &str = "entries";
/// The folder of annotations.
pub const NOTES: &str = "notes";

/// The version of both formats.
const VERSION: u64 = 1;

/// How many hexadecimal digits of the hash are in a name.
const DIGITS: usize = 32;

/// The words of times that are not of an item.
const OF_BOOT: [&str; 4] = ["total", "phase", "column", "work"];

/// A boot of a history.
pub type Entry = EntryOf<Vec<Time>>;

/// The same, with its times in another form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryOf<T> {
    /// The version of the format; the key names the kind.
    #[serde(rename = "firstlight_history")]
    version: u64,
    /// The commit that was booted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
    /// The release that was booted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub release: Option<String>,
    /// Its place in the history.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at: Option<At>,
    /// What it ran on, and with what.
    #[serde(default)]
    pub environment: Environment,
    /// What the clock counts: `virtual`, `monotonic`, ...; none of tables.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<String>,
    /// The mark at time zero.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub zero: Option<String>,
    /// First light.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_light: Option<FirstLight>,
    /// All other times: phases, milestones, items.
    #[serde(default)]
    pub times: T,
}

/// What a boot ran on, and with what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// The version of the kernel.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kernel: Option<String>,
    /// The machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub machine: Option<String>,
    /// A digest of the configuration.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub config: Option<String>,
}

/// The end of a boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstLight {
    /// The mark that ends it.
    pub mark: String,
    /// Its time.
    pub ns: i64,
}

/// A time: kind, name, nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time(pub String, pub String, pub i64);

/// A remark on an entry of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// The version of the format; the key names the kind.
    #[serde(rename = "firstlight_history_note")]
    version: u64,
    /// The commit, release or date.
    pub label: String,
    /// The time that it is about; none for all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub item: Option<String>,
    /// Whether the change there is accepted.
    pub accepted: bool,
    /// Whether it is only a remark: it neither accepts the change nor withdraws that.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub remark: bool,
    /// The remark.
    pub text: String,
    /// When it was written: of several remarks the last one counts.
    pub written: At,
}

impl<T: Default> EntryOf<T> {
    /// One in the version that is written today, with nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self {
            version: VERSION,
            ..Self::default()
        }
    }

    /// What an entry is called: its commit, its release, or its place.
    #[must_use]
    pub fn label(&self) -> String {
        let named = self.commit.clone().or_else(|| self.release.clone());
        named.unwrap_or_else(|| self.at.map_or_else(String::new, |at| at.to_string()))
    }
}

/// The times of an entry without those of milestones and items, which are nearly all.
#[derive(Default)]
struct OfBoot(Vec<Time>);

/// A [`Time`] in the bytes that it is read from, so that those left out cost no memory.
#[derive(Deserialize)]
struct Borrowed<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    i64,
);

impl<'de> Deserialize<'de> for OfBoot {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let all = Vec::<Borrowed<'de>>::deserialize(from)?;
        let of_boot = all.into_iter().filter(|t| OF_BOOT.contains(&&*t.0));
        let owned = of_boot.map(|t| Time(t.0.into_owned(), t.1.into_owned(), t.2));
        let mut owned: Vec<Time> = owned.collect();
        // They lie where all times lay: those left out would keep their place.
        owned.shrink_to_fit();
        Ok(Self(owned))
    }
}

impl From<EntryOf<OfBoot>> for Entry {
    fn from(entry: EntryOf<OfBoot>) -> Self {
        Self {
            version: entry.version,
            commit: entry.commit,
            release: entry.release,
            at: entry.at,
            environment: entry.environment,
            clock: entry.clock,
            zero: entry.zero,
            first_light: entry.first_light,
            times: entry.times.0,
        }
    }
}

impl Default for At {
    fn default() -> Self {
        Self::Date(0)
    }
}

impl Annotation {
    /// A remark on the entry called `label`.
    #[must_use]
    pub fn new(label: String, text: String, written: At) -> Self {
        Self {
            version: VERSION,
            label,
            text,
            written,
            ..Self::default()
        }
    }
}

/// What a file of a store holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A boot.
    Entry(Box<Entry>),
    /// A remark.
    Annotation(Annotation),
}

/// Why a file of a store was not read. Each is a clause about the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// The bytes are not what the name was made of.
    #[error(
        "is truncated or was changed: its content does not match its name; restore it from version \
         control"
    )]
    Changed,
    /// A file of another kind.
    #[error("is not an entry of a history; move it out of the store")]
    Foreign,
    /// A later version.
    #[error("is in version {0} of the format, and this program reads version {VERSION}; update it")]
    Newer(u64),
    /// An entry that does not hold what an entry holds.
    #[error("is damaged at line {line}, column {column}: {why}; restore it from version control")]
    Damaged {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What the parser expected.
        why: String,
    },
}

/// The name of a file with these bytes, without its folder: `ab/abcd....json`.
#[must_use]
pub fn name_of(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex: String = digest.iter().map(|b| format!("{b:02x}")).collect();
    let hex = hex.get(..DIGITS).unwrap_or(&hex);
    format!("{}/{hex}.json", hex.get(..2).unwrap_or_default())
}

/// The bytes of an entry or an annotation.
#[must_use]
pub fn text_of(content: &impl Serialize) -> Vec<u8> {
    // Structs of strings and numbers cannot fail to become JSON.
    let mut bytes = serde_json::to_vec(content).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The first key of a file, which names its kind.
#[derive(Deserialize)]
struct Kind {
    #[serde(default)]
    firstlight_history: Option<u64>,
    #[serde(default)]
    firstlight_history_note: Option<u64>,
}

/// How much of an entry is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// All but the times of milestones and items, which are nearly all of its bytes.
    OfBoot,
}

/// The beginning of an entry as it is written today.
const BEGIN: &[u8] = b"{\"firstlight_history\":1,";

/// What `bytes` hold, from a file called `name`.
///
/// # Errors
/// If the bytes are truncated, changed, of another kind, or of a later version.
pub fn read(name: &str, bytes: &[u8], part: Part) -> Result<Content, ContentError> {
    let is_whole = {
        let wanted = name_of(bytes);
        let wanted = wanted.rsplit('/').next().unwrap_or_default();
        name.rsplit('/').next() == Some(wanted)
    };
    // The hash says that all of it is as it was written, and the beginning what it is.
    let known = (is_whole && bytes.starts_with(BEGIN)).then_some(Kind {
        firstlight_history: Some(VERSION),
        firstlight_history_note: None,
    });
    let kind = match known.map_or_else(|| serde_json::from_slice::<Kind>(bytes), Ok) {
        Ok(kind) => kind,
        Err(_) if !is_whole => {
            let ours = bytes.starts_with(b"{\"firstlight_history") || bytes.is_empty();
            return Err(if ours {
                ContentError::Changed
            } else {
                ContentError::Foreign
            });
        }
        Err(_) => return Err(ContentError::Foreign),
    };
    let version = match (kind.firstlight_history, kind.firstlight_history_note) {
        (Some(version), None) | (None, Some(version)) => version,
        _ => return Err(ContentError::Foreign),
    };
    if version > VERSION || version == 0 {
        return Err(ContentError::Newer(version));
    }
    if !is_whole {
        return Err(ContentError::Changed);
    }
    let damaged = |e: serde_json::Error| ContentError::Damaged {
        line: e.line(),
        column: e.column(),
        why: {
            let text = e.to_string();
            let why = text.split(" at line ").next().unwrap_or_default();
            why.to_owned()
        },
    };
    match kind.firstlight_history {
        Some(_) => {
            let entry = match part {
                Part::Whole => serde_json::from_slice(bytes),
                Part::OfBoot => serde_json::from_slice::<EntryOf<OfBoot>>(bytes).map(Entry::from),
            };
            entry.map(Box::new).map(Content::Entry).map_err(damaged)
        }
        None => serde_json::from_slice(bytes)
            .map(Content::Annotation)
            .map_err(damaged),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::{Annotation, At, Content, ContentError, Entry, Part, Time, name_of, read, text_of};
    use proptest::prelude::*;

    fn entry() -> Entry {
        let mut entry = Entry::new();
        entry.commit = Some("abc123".into());
        entry.at = Some(At::Sequence(7));
        entry.times = vec![Time("unit".into(), "ssh.service".into(), 310_600_000)];
        entry
    }

    #[test]
    fn entries_are_read_as_written_and_their_kind_comes_first() {
        let bytes = text_of(&entry());
        assert!(bytes.starts_with(b"{\"firstlight_history\":1,"));
        let content = read(&name_of(&bytes), &bytes, Part::Whole).unwrap();
        assert_eq!(content, Content::Entry(Box::new(entry())));
        let note = Annotation::new("abc".into(), "new display".into(), At::Date(5));
        let bytes = text_of(&note);
        assert!(bytes.starts_with(b"{\"firstlight_history_note\":1,"));
        let content = read(&name_of(&bytes), &bytes, Part::Whole).unwrap();
        assert_eq!(content, Content::Annotation(note));
    }

    #[test]
    fn what_is_no_entry_is_told() {
        let bytes = text_of(&entry());
        let name = name_of(&bytes);
        assert_eq!(
            read(&name, &bytes[..40], Part::Whole),
            Err(ContentError::Changed)
        );
        assert_eq!(read(&name, b"", Part::Whole), Err(ContentError::Changed));
        assert_eq!(
            read(&name, b"GIF89a", Part::Whole),
            Err(ContentError::Foreign)
        );
        assert_eq!(
            read("x.json", b"{\"a\":1}", Part::Whole),
            Err(ContentError::Foreign)
        );
        let newer = b"{\"firstlight_history\":9,\"shape\":[]}\n";
        assert_eq!(
            read(&name_of(newer), newer, Part::Whole),
            Err(ContentError::Newer(9))
        );
        let odd = b"{\"firstlight_history\":1,\"times\":7}\n";
        let error = read(&name_of(odd), odd, Part::Whole)
            .unwrap_err()
            .to_string();
        assert!(error.contains("line 1, column 33"), "{error}");
    }

    #[test]
    fn the_times_of_a_boot_are_read_without_its_items() {
        let mut whole = entry();
        let of_boot = ["phase", "work", "total", "column"].map(|kind| {
            let name = format!("the \"{kind}\"");
            Time(kind.into(), name, 5)
        });
        whole.times.extend(of_boot.clone());
        whole.times.push(Time("milestone".into(), "run".into(), 7));
        whole
            .times
            .push(Time("from \"later\"".into(), "x".into(), 7));
        let bytes = text_of(&whole);
        let name = name_of(&bytes);
        let mut wanted = whole.clone();
        wanted.times = of_boot.into();
        let content = read(&name, &bytes, Part::OfBoot);
        assert_eq!(content, Ok(Content::Entry(Box::new(wanted))));
        let content = read(&name, &bytes, Part::Whole);
        assert_eq!(content, Ok(Content::Entry(Box::new(whole))));
        for odd in ["[7]", "[[\"unit\"]]", "[[\"phase\",\"kernel\",\"x\"]]"] {
            let odd = format!("{{\"firstlight_history\":1,\"times\":{odd}}}\n");
            let name = name_of(odd.as_bytes());
            for part in [Part::Whole, Part::OfBoot] {
                let read = read(&name, odd.as_bytes(), part);
                assert!(matches!(read, Err(ContentError::Damaged { .. })), "{odd}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&name_of(&bytes), &bytes, Part::Whole);
        }

        /// Any one byte that is changed is noticed.
        #[test]
        fn a_changed_byte_is_noticed(at in 0_usize..200, to in any::<u8>()) {
            let mut bytes = text_of(&entry());
            let name = name_of(&bytes);
            let at = at % bytes.len();
            let same = bytes[at] == to;
            bytes[at] = to;
            prop_assert_eq!(read(&name, &bytes, Part::Whole).is_ok(), same);
        }
    }
}
