//! Histories of boots, from their stores and from tables.

mod entry;
mod read;
pub mod store;

pub use entry::entry;
pub(crate) use read::times;
pub use read::{Read, read};
