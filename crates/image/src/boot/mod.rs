//! What a boot loader reads: kernels, initramfs archives, device trees, their
//! containers, and the environment of U-Boot.

pub mod barebox;
mod bytes;
pub mod compression;
mod edit;
pub mod environment;

pub use bytes::{Cursor, Part};
pub use compression::Compression;
pub use edit::{Edit, Patch, PatchError};
