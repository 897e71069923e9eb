//! What a boot loader reads: kernels, initramfs archives, device trees, their
//! containers, and the environment of U-Boot.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use firstlight_bootimage::{Part, info};
//!
//! let image: &[u8] = b"not a boot image";
//! let items = info::inspect(&Part::whole(&image)?, 1 << 20)?;
//! assert_eq!(items[0].kind.name(), "other");
//! # Ok(())
//! # }
//! ```

pub mod barebox;
pub mod branches;
pub mod cpio;
pub mod device_tree;
mod edit;
pub mod environment;
pub mod fdt;
pub mod firmware;
pub mod fit;
pub mod info;
pub mod initramfs;
pub mod kernel;
pub mod signature;
pub mod treatment;
pub mod uimage;
pub mod uki;

pub use edit::{Edit, Patch, PatchError};
pub use rawimage::{Compression, Endian, Foreign, Part, ReadAt, compression};
