//! The variables, as they lie in the data of an environment.
//!
//! `name=value`, each ended by a NUL; an empty one ends the list; what follows
//! is padding. Sources: U-Boot's `env/common.c` and `lib/hashtable.c`.

use super::error::Error;

/// One variable, with its value as it is stored.
///
/// U-Boot takes a backslash away when it reads a value, and puts it before each
/// backslash when it writes one; `fw_printenv` shows what is stored, and so does
/// this.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable {
    /// The name.
    pub name: Vec<u8>,
    /// The value.
    pub value: Vec<u8>,
}

/// A change to a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The variable gets this value.
    Set(Vec<u8>, Vec<u8>),
    /// The variable goes.
    Unset(Vec<u8>),
}

impl Change {
    /// The variable's name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        match self {
            Self::Set(name, _) | Self::Unset(name) => name,
        }
    }

    /// Reads `NAME=VALUE`.
    ///
    /// # Errors
    /// There is no `=`, the name is not one, or the value is empty, which is
    /// how U-Boot writes that a variable goes.
    pub fn parse_set(text: &str) -> Result<Self, Error> {
        let Some((name, value)) = text.split_once('=') else {
            return Err(Error::NoEquals(text.to_owned()));
        };
        check_name(name)?;
        if value.is_empty() {
            return Err(Error::EmptyValue(name.to_owned()));
        }
        if value.contains('\0') {
            return Err(Error::Nul(name.to_owned()));
        }
        Ok(Self::Set(name.into(), value.into()))
    }

    /// Reads `NAME`.
    ///
    /// # Errors
    /// The name is not one.
    pub fn parse_unset(text: &str) -> Result<Self, Error> {
        check_name(text)?;
        Ok(Self::Unset(text.into()))
    }
}

/// A name that U-Boot keeps as it is: it cuts blanks off the front, takes `#`
/// for a comment, and ends it at `=`.
fn check_name(name: &str) -> Result<(), Error> {
    let graphic = name.chars().all(|c| !c.is_control() && c != ' ');
    if name.is_empty() || !graphic || name.contains('=') || name.starts_with('#') {
        return Err(Error::Name(name.to_owned()));
    }
    Ok(())
}

/// The data of an environment: what its checksum is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    bytes: Vec<u8>,
    /// Where the list ends: behind the NUL of its empty entry.
    used: usize,
}

impl Data {
    /// Takes the data of an environment; `None` if the list does not end.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        let used = list_end(&bytes)?;
        Some(Self { bytes, used })
    }

    /// All bytes, with the padding.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes the list takes, with its end.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// The entries as they are stored, each without its NUL.
    pub fn entries(&self) -> impl Iterator<Item = &[u8]> {
        let list = self.bytes.get(..self.used).unwrap_or_default();
        list.split(|b| *b == 0).take_while(|e| !e.is_empty())
    }

    /// What U-Boot would know, in the order of the entries: of several of one
    /// name the last counts, and one without a value takes the variable away.
    #[must_use]
    pub fn variables(&self) -> Vec<Variable> {
        let mut known: Vec<Variable> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for entry in self.entries() {
            let Some((name, value)) = split(entry) else {
                continue;
            };
            let place = *places.entry(name).or_insert_with(|| {
                known.push(Variable {
                    name: name.to_vec(),
                    value: Vec::new(),
                });
                known.len() - 1
            });
            if let Some(variable) = known.get_mut(place) {
                variable.value = value.to_vec();
            }
        }
        known.retain(|v| !v.value.is_empty());
        known
    }

    /// The names of entries without a value, `name=`, whose variable U-Boot takes away
    /// when it reads them: of several of one name the last counts.
    #[must_use]
    pub fn emptied(&self) -> Vec<Vec<u8>> {
        let mut last = std::collections::BTreeMap::new();
        for (name, value) in self.entries().filter_map(split) {
            last.insert(name, value.is_empty());
        }
        let empty = last.into_iter().filter(|(_, is_empty)| *is_empty);
        empty.map(|(name, _)| name.to_vec()).collect()
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &[u8]) -> Option<Vec<u8>> {
        let entries = self.entries().filter_map(split);
        let last = entries.filter(|(n, _)| *n == name).last();
        last.map(|(_, value)| value.to_vec())
            .filter(|value| !value.is_empty())
    }

    /// The value of a variable, as text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        let value = self.get(name.as_bytes())?;
        Some(String::from_utf8_lossy(&value).into_owned())
    }

    /// The same data with changes. A variable that is there keeps its place; a
    /// new one comes at the end; every other entry stays as it is to the byte,
    /// and so does what lies behind the list as far as it is not needed.
    ///
    /// # Errors
    /// [`Error::TooLong`] where the list does not fit any more.
    pub fn with(&self, changes: &[Change]) -> Result<Self, Error> {
        let mut entries: Vec<Vec<u8>> = self.entries().map(<[u8]>::to_vec).collect();
        for change in changes {
            let is_it = |entry: &Vec<u8>| split(entry).is_some_and(|(n, _)| n == change.name());
            match change {
                Change::Unset(_) => entries.retain(|e| !is_it(e)),
                Change::Set(name, value) => {
                    let new = [name.as_slice(), b"=", value].concat();
                    match entries.iter_mut().rev().find(|e| is_it(e)) {
                        Some(entry) => *entry = new,
                        None => entries.push(new),
                    }
                }
            }
        }
        let mut list = Vec::with_capacity(self.used);
        for entry in &entries {
            list.extend_from_slice(entry);
            list.push(0);
        }
        // An empty list is two NULs: U-Boot asks for the second.
        if list.is_empty() {
            list.push(0);
        }
        list.push(0);
        if list.len() > self.bytes.len() {
            return Err(Error::TooLong {
                needed: list.len(),
                room: self.bytes.len(),
            });
        }
        let mut bytes = self.bytes.clone();
        let pad = self.padding();
        if let Some(old) = bytes.get_mut(..self.used) {
            old.fill(pad);
        }
        if let Some(new) = bytes.get_mut(..list.len()) {
            new.copy_from_slice(&list);
        }
        let used = list.len();
        Ok(Self { bytes, used })
    }

    /// The byte that fills what the list leaves: the one behind it.
    fn padding(&self) -> u8 {
        self.bytes.get(self.used).copied().unwrap_or(0)
    }
}

/// Behind the NUL of the empty entry that ends a list.
pub(super) fn list_end(bytes: &[u8]) -> Option<usize> {
    if bytes.starts_with(&[0]) {
        return Some(if bytes.starts_with(&[0, 0]) { 2 } else { 1 });
    }
    memchr::memmem::find(bytes, &[0, 0]).map(|at| at + 2)
}

/// Name and value, as U-Boot reads an entry; `None` for a comment.
fn split(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    let front = entry.iter().take_while(|b| matches!(b, b' ' | b'\t'));
    let entry = entry.get(front.count()..).unwrap_or_default();
    if entry.starts_with(b"#") {
        return None;
    }
    let at = memchr::memchr(b'=', entry).unwrap_or(entry.len());
    let (name, rest) = entry.split_at_checked(at)?;
    Some((name, rest.get(1..).unwrap_or_default()))
}

/// The difference of one variable in two environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The name.
    pub name: Vec<u8>,
    /// The value in the first; `None` if it is not there.
    pub before: Option<Vec<u8>>,
    /// The value in the second; `None` if it is not there.
    pub after: Option<Vec<u8>>,
}

/// What differs between two environments, by name.
#[must_use]
pub fn diff(before: &Data, after: &Data) -> Vec<Difference> {
    let mut all = std::collections::BTreeMap::new();
    for Variable { name, value } in before.variables() {
        all.entry(name).or_insert((None, None)).0 = Some(value);
    }
    for Variable { name, value } in after.variables() {
        all.entry(name).or_insert((None, None)).1 = Some(value);
    }
    let differing = all.into_iter().filter(|(_, (a, b))| a != b);
    differing
        .map(|(name, (before, after))| Difference {
            name,
            before,
            after,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn data(text: &[u8], size: usize, pad: u8) -> Data {
        let mut bytes = text.to_vec();
        bytes.resize(size, pad);
        Data::new(bytes).unwrap()
    }

    fn set(text: &str) -> Change {
        Change::parse_set(text).unwrap()
    }

    #[test]
    fn entries_are_read_as_uboot_does() {
        let d = data(b"a=1\0 b=x=y\0#c=3\0a=2\0gone=0\0gone=\0bare\0\0", 64, 0xff);
        let known: Vec<_> = d
            .variables()
            .into_iter()
            .map(|v| (v.name, v.value))
            .collect();
        let wanted = [(&b"a"[..], &b"2"[..]), (b"b", b"x=y")];
        assert_eq!(known, wanted.map(|(n, v)| (n.to_vec(), v.to_vec())));
        assert_eq!(d.get(b"a"), Some(b"2".to_vec()));
        assert_eq!(d.get(b"gone"), None);
        assert_eq!(d.used(), 39);
        assert_eq!(Data::new(b"a=1\0b=2".to_vec()), None);
        assert!(data(b"\0\0", 8, 0xff).variables().is_empty());
    }

    #[test]
    fn all_else_stays_to_the_byte() {
        let d = data(b"a=1\0#c\0b=2\0a=3\0\0", 20, 0xff);
        let changed = d.with(&[set("a=44"), set("n=1")]);
        assert_eq!(
            changed.unwrap_err().to_string(),
            "the variables need 21 bytes, but the environment has room for 20; shorten or remove a variable"
        );
        let changed = d.with(&[set("a=44")]).unwrap();
        assert_eq!(changed.bytes(), b"a=1\0#c\0b=2\0a=44\0\0\xff\xff\xff");
        let gone = d.with(&[Change::Unset(b"a".to_vec())]).unwrap();
        assert_eq!(
            gone.bytes(),
            b"#c\0b=2\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
        );
        let none = data(b"a=1\0\0", 6, 0).with(&[Change::Unset(b"a".to_vec())]);
        assert_eq!(none.unwrap().bytes(), [0; 6]);
    }

    #[test]
    fn what_uboot_would_read_otherwise_is_refused() {
        for text in [
            "novalue", "=x", " a=b", "a b=c", "#a=b", "a=", "a\0=b", "a=\0",
        ] {
            assert!(Change::parse_set(text).is_err(), "{text:?}");
        }
        assert!(Change::parse_unset("a=b").is_err());
        assert_eq!(set("a=b=c"), Change::Set(b"a".to_vec(), b"b=c".to_vec()));
    }

    #[test]
    fn a_difference_names_both_sides() {
        let a = data(b"a=1\0b=2\0c=3\0\0", 32, 0);
        let b = data(b"c=3\0b=22\0d=4\0\0", 99, 0xff);
        let found: Vec<_> = diff(&a, &b)
            .into_iter()
            .map(|d| (d.name[0], d.before.is_some(), d.after.is_some()))
            .collect();
        assert_eq!(
            found,
            [(b'a', true, false), (b'b', true, true), (b'd', false, true)]
        );
        assert!(diff(&a, &a).is_empty());
    }

    proptest! {
        #[test]
        fn changes_do_what_they_say_and_nothing_else(
            start in proptest::collection::btree_map("[a-z]{1,4}", "[ -~]{1,12}", 0..12),
            changes in proptest::collection::vec(("[a-z]{1,3}", proptest::option::of("[!-~]{1,20}")), 0..6),
            pad in any::<u8>(),
        ) {
            let mut wanted = start.clone();
            let list: Vec<u8> = start.iter().flat_map(|(k, v)| format!("{k}={v}\0").into_bytes()).collect();
            let mut bytes = list;
            if bytes.is_empty() { bytes.push(0); }
            bytes.push(0);
            let d = data(&bytes, 1000, pad);
            let changes: Vec<Change> = changes.into_iter().map(|(k, v)| match v {
                Some(v) => { wanted.insert(k.clone(), v.clone()); Change::Set(k.into(), v.into()) }
                None => { wanted.remove(&k); Change::Unset(k.into()) }
            }).collect();
            let changed = d.with(&changes).unwrap();
            prop_assert_eq!(changed.bytes().len(), 1000);
            let again = Data::new(changed.bytes().to_vec()).unwrap();
            prop_assert_eq!(&again, &changed);
            let mut known: Vec<_> = again.variables().into_iter()
                .map(|v| (String::from_utf8(v.name).unwrap(), String::from_utf8(v.value).unwrap()))
                .collect();
            known.sort();
            prop_assert_eq!(known, wanted.into_iter().collect::<Vec<_>>());
            prop_assert!(changed.bytes()[changed.used()..].iter().all(|b| *b == pad));
        }
    }
}
