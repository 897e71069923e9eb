//! What lies where in disk, flash and boot images, and what reading it costs.
//!
//! A hostile image is normal input: arithmetic is checked, sizes are bounded,
//! and *corrupt* is told apart from *not supported*.

pub mod blocks;
pub mod boot;
pub mod cramfs;
mod endian;
pub mod files;
pub mod foreign;
pub mod jffs2;
pub mod mount;
pub mod problem;
pub mod read;
pub mod ubi;
pub mod ubifs;

pub use endian::Endian;
pub use read::ReadAt;
