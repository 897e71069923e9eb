//! What lies where in disk, flash and boot images, and what reading it costs.
//!
//! A hostile image is normal input: arithmetic is checked, sizes are bounded,
//! and *corrupt* is told apart from *not supported*.

pub mod boot;
pub mod foreign;
pub mod jffs2;
pub mod read;

pub use read::ReadAt;
