//! A journal: an object of JSON a line, written as each thing ends. It can be cut anywhere.

use crate::error::{LabError, io_error};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;

/// What a line holds.
pub trait Line: Serialize + DeserializeOwned {
    /// The version that this program writes.
    const VERSION: u32;

    /// The version of this line.
    fn version(&self) -> u32;
}

/// A journal in use: no other run writes to it.
#[derive(Debug)]
pub struct Journal<T> {
    path: PathBuf,
    file: File,
    lines: Vec<T>,
}

impl<T: Line> Journal<T> {
    /// Opens or makes it; its folder is there. What is torn at its end is cut off.
    ///
    /// # Errors
    /// If it cannot be used, another run uses it, or it has lines of another version.
    pub fn open(path: PathBuf) -> Result<Self, LabError> {
        let file = File::options()
            .create(true)
            .read(true)
            .append(true)
            .open(&path);
        let mut file = file.map_err(io_error(&path, "cannot be opened for writing"))?;
        // Before it is read: what another run writes meanwhile would be cut off.
        if file.try_lock().is_err() {
            let why = "another run writes to it; wait until that run ends or name another folder";
            let why = why.into();
            return Err(LabError::Output { path, why });
        }
        let mut old = Vec::new();
        file.read_to_end(&mut old)
            .map_err(io_error(&path, "cannot be read"))?;
        let (mut lines, mut good) = (Vec::new(), 0);
        for line in old.split_inclusive(|b| *b == b'\n') {
            let whole = line.strip_suffix(b"\n");
            match whole.and_then(|l| serde_json::from_slice::<T>(l).ok()) {
                Some(line) if line.version() == T::VERSION => lines.push(line),
                Some(line) => {
                    let why = format!(
                        "it has lines of version {}, but this program writes version {}; name \
                         another folder",
                        line.version(),
                        T::VERSION
                    );
                    return Err(LabError::Output { path, why });
                }
                // The rest was being written when the last run ended.
                None => break,
            }
            good += line.len() as u64;
        }
        file.set_len(good)
            .map_err(io_error(&path, "cannot be repaired"))?;
        Ok(Self { path, file, lines })
    }

    /// Its lines, oldest first.
    pub fn lines(&self) -> &[T] {
        &self.lines
    }

    /// Adds a line, which is on the disk when this returns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, line: T) -> Result<(), LabError> {
        self.add_all(vec![line])
    }

    /// Adds lines, which are all on the disk when this returns.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn add_all(&mut self, lines: Vec<T>) -> Result<(), LabError> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        for line in &lines {
            let written = serde_json::to_writer(&mut text, line);
            written.map_err(|e| LabError::Bug { why: e.to_string() })?;
            text.push(b'\n');
        }
        self.file
            .write_all(&text)
            .and_then(|()| self.file.sync_all())
            .map_err(io_error(&self.path, "cannot be written"))?;
        self.lines.extend(lines);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Journal, Line};
    use serde::{Deserialize, Serialize};
    use std::fs;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Number {
        version: u32,
        number: u32,
    }

    impl Line for Number {
        const VERSION: u32 = 1;

        fn version(&self) -> u32 {
            self.version
        }
    }

    fn one(number: u32) -> Number {
        Number { version: 1, number }
    }

    #[test]
    fn one_run_at_a_time_adds_to_what_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers.jsonl");
        let mut journal = Journal::open(path.clone()).unwrap();
        journal.add(one(1)).unwrap();
        let said = Journal::<Number>::open(path.clone()).unwrap_err();
        assert!(said.to_string().contains("another run"), "{said}");
        drop(journal);
        let torn = [fs::read(&path).unwrap().as_slice(), b"{\"version\":1,"].concat();
        fs::write(&path, torn).unwrap();
        let mut journal = Journal::open(path.clone()).unwrap();
        journal.add(one(2)).unwrap();
        assert_eq!(journal.lines(), [one(1), one(2)]);
        drop(journal);
        let journal = Journal::<Number>::open(path).unwrap();
        assert_eq!(journal.lines(), [one(1), one(2)]);
    }
}
