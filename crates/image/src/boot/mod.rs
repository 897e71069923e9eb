//! What a boot loader reads: kernels, initramfs archives, device trees, their
//! containers, and the environment of U-Boot.

mod bytes;
pub mod compression;

pub use bytes::{Cursor, Part};
pub use compression::Compression;
