//! Who owns block N: which file, which part of it, or which metadata lies
//! where in a filesystem, and the other way round.
//!
//! A [`Map`] is built once, by reading an image's metadata, and then answers
//! any number of questions. It never writes. Damage in an image costs the
//! part that is damaged and leaves a note; it is never a panic and never
//! unbounded work.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use firstlight_disk::{Part, partitions};
//!
//! let image: &[u8] = &[0; 4096];
//! assert!(partitions(&Part::whole(&image)?)?.is_none());
//! # Ok(())
//! # }
//! ```

mod build;
pub mod cramfs;
mod disk;
mod edited;
pub mod erofs;
mod error;
pub mod ext;
mod facts;
pub mod fat;
mod file;
mod map;
pub mod mount;
mod mounted;
mod names;
mod partitions;
mod score;
pub mod squashfs;
mod statistics;
#[cfg(test)]
mod testing;

pub use disk::{Disk, Piece, Volume, facts, partitions};
pub use edited::Edited;
pub use error::Error;
pub use facts::{Facts, State};
pub use file::File;
pub use map::{Extent, Inode, Kind, Map};
pub use mounted::Mounted;
pub use partitions::{Partition, Table};
pub use rawimage::{FileType, Foreign, Part, ReadAt};
pub use score::{Score, score};
pub use statistics::{Check, SizeClass, Statistics, statistics};
