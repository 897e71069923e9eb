//! The files of a store.

use crate::error::{Error, On, Result, refuse};
use ::history::{Annotation, Content, ENTRIES, Entry, HEAD, HEAD_FILE, NOTES, Part};
use analysis::on_all_processors;
use record::counted;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest file of a store that is read, in bytes: 100,000 items have less.
const MAX_BYTES: u64 = 64 << 20;

/// The shortest part of a commit that names it, as in git.
const SHORTEST: usize = 4;

/// How many damaged files are named.
const NAMED: usize = 5;

/// What is in a store.
#[derive(Debug, Default)]
pub struct Store {
    /// Its entries, in no order.
    pub entries: Vec<Entry>,
    /// The file of each.
    pub files: Vec<PathBuf>,
    /// How much of each was read.
    pub part: Part,
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// What is wrong with its files, one sentence each.
    pub notes: Vec<String>,
}

impl Store {
    /// The label of the entry that is called `name`, or of the only commit that begins so.
    ///
    /// # Errors
    /// There is no such entry, or several commits begin so.
    pub fn label(&self, name: &str) -> Result<String> {
        let labels: BTreeSet<String> = self.entries.iter().map(Entry::label).collect();
        if labels.contains(name) {
            return Ok(name.to_owned());
        }
        let commits = self.entries.iter().filter_map(|e| e.commit.as_deref());
        let begin_so = commits.filter(|c| name.len() >= SHORTEST && c.starts_with(name));
        let begin_so: BTreeSet<&str> = begin_so.collect();
        match (begin_so.first(), begin_so.len()) {
            (Some(only), 1) => Ok((*only).to_owned()),
            (Some(_), several) => refuse!("{several} commits begin with {name}; give more of it"),
            (None, _) => refuse!(
                "no entry is called {name}; give its commit, release or date, as `firstlight history \
                 show --json` lists it"
            ),
        }
    }
}

/// Whether there is a store at `path`.
///
/// # Errors
/// If there is something else, or it cannot be read.
pub fn is_one(path: &Path) -> Result<bool> {
    let shown = path.display();
    let head = path.join(HEAD_FILE);
    match std::fs::read(&head) {
        Ok(bytes) if bytes == HEAD.as_bytes() => Ok(true),
        Ok(bytes) => {
            let newer = String::from_utf8_lossy(&bytes);
            match newer.starts_with("{\"firstlight_history_store\":") && newer.ends_with("}\n") {
                true => refuse!(
                    "{}: the store has a newer format than this program reads; update firstlight",
                    head.display()
                ),
                false => refuse!(
                    "{}: is damaged; expected {}, restore it from version control",
                    head.display(),
                    HEAD.trim_end()
                ),
            }
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) if path.is_file() => {
            let _ = e;
            refuse!("{shown}: is a file; expected the folder of a history, or a table (.csv, .tsv)")
        }
        Err(e) => Err(e).on(|| format!("{}: cannot be read", head.display())),
    }
}

/// What is in the store at `path`. If it has more than `most` files, the entries have no items.
///
/// # Errors
/// There is no store, or its folders cannot be read. Damaged files are notes.
pub fn read(path: &Path, most: usize) -> Result<Store> {
    if !path.exists() {
        refuse!("{}: no such file or folder", path.display());
    }
    if !is_one(path)? {
        refuse!(
            "{}: is no history, because it has no {HEAD_FILE}; `firstlight history add` makes one",
            path.display()
        );
    }
    let mut files = Vec::new();
    let mut strangers = 0;
    for folder in [ENTRIES, NOTES] {
        listed(&path.join(folder), 1, &mut files, &mut strangers)?;
    }
    files.sort();
    let part = match files.len() <= most {
        true => Part::Whole,
        false => Part::OfBoot,
    };
    let mut store = Store {
        part,
        ..Store::default()
    };
    let mut damaged = Vec::new();
    for (file, content) in files.iter().zip(of_files(&files, part)) {
        match content {
            // A copy in another folder is the same boot.
            Ok(Content::Entry(_))
                if store
                    .files
                    .last()
                    .is_some_and(|f| f.file_name() == file.file_name()) =>
            {
                damaged.push(format!("{}: is a copy of another entry", file.display()));
            }
            Ok(Content::Entry(entry)) => {
                store.entries.push(*entry);
                store.files.push(file.clone());
            }
            Ok(Content::Annotation(annotation)) => store.annotations.push(annotation),
            Err(e) => damaged.push(crate::sentence(&e)),
        }
    }
    let more = damaged.len().saturating_sub(NAMED);
    store.notes.extend(damaged.into_iter().take(NAMED));
    if more > 0 {
        store.notes.push(format!("{more} more files were not read"));
    }
    if strangers > 0 {
        store.notes.push(format!(
            "ignored, because it is no entry of a history: {}",
            counted(strangers, "file")
        ));
    }
    store.annotations.sort_by_key(|a| a.written);
    Ok(store)
}

/// The files of the entries of the store at `path`, in the order of their names.
///
/// # Errors
/// There is something else, or its folders cannot be read.
pub fn entries(path: &Path) -> Result<Vec<PathBuf>> {
    is_one(path)?;
    let mut files = Vec::new();
    listed(&path.join(ENTRIES), 1, &mut files, &mut 0)?;
    files.sort();
    Ok(files)
}

/// The entries below `folder`, and how many other files there are.
fn listed(
    folder: &Path,
    depth: usize,
    found: &mut Vec<PathBuf>,
    strangers: &mut usize,
) -> Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => {
            let shown = folder.display();
            return Err(e).on(|| format!("{shown}: cannot be read"));
        }
    };
    for entry in entries {
        let entry = entry.on(|| format!("{}: cannot be read", folder.display()))?;
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|t| t.is_dir());
        let is_json = path.extension().is_some_and(|e| e == "json");
        match is_folder {
            true if depth > 0 => listed(&path, depth - 1, found, strangers)?,
            false if is_json => found.push(path),
            _ => *strangers += 1,
        }
    }
    Ok(())
}

/// What the files of a store hold.
pub(super) fn of_files(files: &[PathBuf], part: Part) -> Vec<Result<Content>> {
    on_all_processors(files, |file| of_file(file, part))
}

/// What a file of a store holds.
pub(crate) fn of_file(path: &Path, part: Part) -> Result<Content> {
    let shown = path.display();
    let file = File::open(path).on(|| format!("{shown}: cannot be opened"))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .on(|| format!("{shown}: cannot be read"))?;
    if bytes.len() as u64 > MAX_BYTES {
        refuse!("{shown}: is larger than an entry may be ({MAX_BYTES} bytes)");
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let content = ::history::read(&name, &bytes, part);
    content.map_err(|e| Error::Unusable(format!("{shown}: {e}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::{Entry, Store};

    #[test]
    fn an_entry_is_named_by_the_beginning_of_its_commit() {
        let entry = |commit: &str| {
            let mut entry = Entry::new();
            entry.commit = Some(commit.into());
            entry
        };
        let commits = ["4f1c2d9aa", "4f1c2d9aa", "4f1c77003", "1.1", "1.10"];
        let store = Store {
            entries: commits.map(entry).into(),
            ..Store::default()
        };
        assert_eq!(store.label("4f1c2d").unwrap(), "4f1c2d9aa");
        assert_eq!(store.label("1.1").unwrap(), "1.1");
        let said = |name: &str| store.label(name).unwrap_err().to_string();
        assert!(said("4f1c").starts_with("2 commits begin with 4f1c"));
        assert!(said("4f1").starts_with("no entry is called 4f1;"));
        assert!(said("4f1c2e").starts_with("no entry is called 4f1c2e;"));
    }
}
