//! Histories of boots, from their stores and from tables.

mod read;
pub mod store;

pub use read::{Read, read};
