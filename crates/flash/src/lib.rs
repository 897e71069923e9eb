//! Images of flash chips: JFFS2, UBI and UBIFS. What lies where, what is wrong, and
//! how long the kernel takes to mount them.
//!
//! A hostile image is normal input: arithmetic is checked, sizes are bounded,
//! and *corrupt* is distinguished from *not supported*.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use firstlight_flash::ubi;
//!
//! let image: &[u8] = &[0xff; 4096];
//! assert!(ubi::check(&image, &ubi::Options::default()).is_err());
//! # Ok(())
//! # }
//! ```

pub mod attached;
pub mod files;
mod inflate;
pub mod jffs2;
pub mod listing;
pub mod mount;
pub mod problem;
mod transfer;
pub mod ubi;
pub mod ubifs;
pub mod verified;

pub use rawimage::{Endian, Foreign, ReadAt};
pub use transfer::TransferError;
