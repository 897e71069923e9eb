//! Where shared results lie.

use std::fmt::Debug;
use std::time::SystemTime;

/// An entry that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its name in the place.
    pub key: String,
    /// Its size.
    pub bytes: u64,
    /// When it was written.
    pub written: SystemTime,
}

/// What came of looking for an entry: its content, if it is there, or a clause that says
/// why this one is of no use.
pub type Answer = Result<Option<Vec<u8>>, String>;

/// Why an entry of more than `most` bytes is of no use.
pub fn too_large(most: u64) -> String {
    format!("the shared result is larger than {} MiB", most >> 20)
}

/// A place in which entries lie, each with a key; keys have slashes in them. Errors are
/// clauses that name what they are about.
pub trait Place: Debug + Send + Sync {
    /// The entry of this key, as people write it.
    fn name(&self, key: &str) -> String;

    /// The entries of these keys, in their order; none of more than `most` bytes is read.
    ///
    /// # Errors
    /// If the place as a whole does not answer.
    fn get(&self, keys: &[String], most: u64) -> Result<Vec<Answer>, String>;

    /// Writes an entry whole or not at all, whoever else writes it. An entry
    /// that exists is kept, unless `replaced` is set.
    ///
    /// # Errors
    /// If it cannot be written.
    fn put(&self, key: &str, bytes: Vec<u8>, replaced: bool) -> Result<(), String>;

    /// All entries.
    ///
    /// # Errors
    /// If they are not known.
    fn list(&self) -> Result<Vec<Item>, String>;

    /// Removes an entry. That it is gone already is no error.
    ///
    /// # Errors
    /// If it cannot be removed.
    fn remove(&self, key: &str) -> Result<(), String>;
}
