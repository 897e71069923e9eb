//! From paths to boots: a folder of folders holds a boot in each.

use super::archive;
use super::format::{self, Format, Judge};
use super::unit::{Give, Unit};
use crate::error::{On, Result};
use crate::folder::MOST_FILES;
use crate::history::store;
use ::history::HEAD_FILE;
use agent::capture;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Folders deeper than this are a loop of mounts, or no archive of logs.
const MOST_DEPTH: usize = 64;

/// Gives the boots of each path.
pub fn each(path: &Path, give: &mut Give<'_>) -> Result<()> {
    below(path, 0, give)
}

/// Gives the boots of an archive (tar, also packed), or of each path in a list, whichever a
/// stream is. A list is read as it comes.
pub fn each_of_stream(mut stream: impl BufRead + 'static, give: &mut Give<'_>) -> Result<()> {
    let head = stream
        .fill_buf()
        .on(|| "standard input cannot be read".to_owned())?;
    match archive::may_be_one(head) {
        true => archive::each_of_stream(stream, give),
        false => each_of_list(stream, give),
    }
}

/// Gives the boots of each path in a list, one per line. Bytes that are not UTF-8 stay.
pub fn each_of_list(list: impl BufRead, give: &mut Give<'_>) -> Result<()> {
    use std::os::unix::ffi::OsStringExt;
    for line in list.split(b'\n') {
        let mut line = line.on(|| "the list of inputs cannot be read".to_owned())?;
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if !line.is_empty() {
            each(&PathBuf::from(std::ffi::OsString::from_vec(line)), give)?;
        }
    }
    Ok(())
}

fn below(path: &Path, depth: usize, give: &mut Give<'_>) -> Result<()> {
    if !path.is_dir() {
        return file(path, give);
    }
    if path.join(capture::MANIFEST).is_file() {
        return give(Unit::of_path(path.to_owned()));
    }
    if path.join(HEAD_FILE).is_file() {
        let store = path.to_owned();
        let unit = |path| Unit::Entry {
            store: store.clone(),
            path,
        };
        return store::entries(path)?
            .into_iter()
            .try_for_each(|path| give(unit(path)));
    }
    let bad = |reason: String| Unit::Bad {
        name: path.display().to_string(),
        reason,
    };
    if depth >= MOST_DEPTH {
        return give(bad(format!("more than {MOST_DEPTH} folders deep")));
    }
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) => return give(bad(format!("the folder cannot be read: {e}"))),
    };
    let (mut folders, mut files) = (Vec::new(), Vec::new());
    for entry in entries.flatten() {
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // A link to a folder may lead in a circle.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !hidden => folders.push(entry.path()),
            Ok(_) if !hidden && entry.path().is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    folders.sort();
    files.sort();
    if folders.is_empty() {
        return of_files(path, files, give);
    }
    for path in files {
        file(&path, give)?;
    }
    folders
        .iter()
        .try_for_each(|folder| below(folder, depth + 1, give))
}

/// The files of a folder without folders.
fn of_files(folder: &Path, files: Vec<PathBuf>, give: &mut Give<'_>) -> Result<()> {
    let mut judge = Judge::default();
    let mut known = Vec::new();
    for path in &files {
        let format = format::of_path(path);
        if judge.add(format) || known.len() >= MOST_FILES {
            return files.iter().try_for_each(|path| file(path, give));
        }
        if format != Format::Unknown {
            known.push(path.clone());
        }
    }
    if known.is_empty() {
        return files.iter().try_for_each(|path| file(path, give));
    }
    give(Unit::Paths {
        name: folder.display().to_string(),
        left_out: (files.len() - known.len()) as u64,
        paths: known,
    })
}

fn file(path: &Path, give: &mut Give<'_>) -> Result<()> {
    match archive::open(path) {
        Some(archive) => archive::each(path, archive, give),
        None => give(Unit::of_path(path.to_owned())),
    }
}
