//! Histories of boots, from their stores and from tables.

mod entry;
mod read;
pub mod store;

pub use entry::entry;
pub use read::{Read, read};
