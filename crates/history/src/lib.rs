//! The formats of a history of boots.
//!
//! A store is a folder with one small file for each boot and for each annotation. A file
//! is never changed, and its name is the hash of its content: two branches that both add
//! entries merge without a conflict, and the same entry added twice is one file. All here
//! is from bytes to structs and back; who reads and writes the files is not of concern.

mod at;
mod duration;
mod entry;
mod order;
mod table;

pub use at::{At, AtError};
pub use entry::{
    Annotation, Content, ContentError, ENTRIES, Entry, EntryOf, Environment, FirstLight, HEAD,
    HEAD_FILE, NOTES, Part, Time, name_of, read, text_of,
};
pub use order::{Order, ordered, release_order};
pub use table::{Row, Table, TableError, table};
