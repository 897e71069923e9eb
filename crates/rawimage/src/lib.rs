//! What every reader of images needs: bytes at an offset, numbers in either byte
//! order, what some bytes look like, and decompression with a limit.
//!
//! A hostile image is normal input: arithmetic is checked and sizes are bounded.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use firstlight_rawimage::{Foreign, Part};
//!
//! let image: &[u8] = b"hsqs and more";
//! let part = Part::whole(&image)?;
//! assert_eq!(Foreign::recognise(&part.read(0, 4)?), Foreign::Squashfs);
//! # Ok(())
//! # }
//! ```

pub mod bytes;
pub mod compression;
pub mod endian;
mod file_type;
pub mod foreign;
mod mount_state;
pub mod read;

pub use bytes::{Cursor, Part};
pub use compression::Compression;
pub use endian::Endian;
pub use file_type::FileType;
pub use foreign::Foreign;
pub use mount_state::MountState;
pub use read::ReadAt;
