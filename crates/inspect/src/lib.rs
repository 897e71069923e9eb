//! What a Linux system boots from: images, root trees and kernel configurations. Which
//! file a block belongs to, and facts that findings use.
//!
//! Nothing here prints or writes. Long work reports its progress through a callback.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use rawimage::{Part, compression::LIMIT};
//!
//! let image: &[u8] = &[0; 4096];
//! let items = firstlight_inspect::whole::inspect(&Part::whole(&image)?, LIMIT)?;
//! assert_eq!(items.len(), 1);
//! # Ok(())
//! # }
//! ```

pub mod ahead;
pub mod board_run;
mod boot_partition;
pub mod contents;
pub mod disk;
mod error;
pub mod experiment;
mod followers;
mod item;
pub mod kernel_image;
pub mod kernel_tree;
pub mod map;
pub mod mounting;
pub mod open;
pub mod owners;
pub mod paths;
pub mod published;
pub mod reads;
pub mod requests;
mod result;
pub mod system;
pub mod table;
pub mod whole;

pub use error::{Content, Error};
