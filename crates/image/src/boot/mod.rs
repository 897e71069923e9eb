//! What a boot loader reads: kernels, initramfs archives, device trees, their
//! containers, and the environment of U-Boot.

pub mod barebox;
pub(crate) mod bytes;
pub mod compression;
pub mod cpio;
pub mod device_tree;
mod edit;
pub mod environment;
pub mod fdt;
pub mod fit;
pub mod info;
pub mod initramfs;
pub mod kernel;
pub mod signature;
pub mod treatment;
pub mod uimage;

pub use bytes::{Cursor, Part};
pub use compression::Compression;
pub use edit::{Edit, Patch, PatchError};
