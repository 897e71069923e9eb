//! JFFS2: the flash filesystem that is a log of nodes.
//!
//! - [`summarize`](fn@summarize): an image with a summary in each block.

pub mod detect;
mod endian;
mod error;
pub mod node;
mod oob;
mod pack;
mod plan;
mod summarize;
pub mod summary;
pub mod walk;

pub use endian::Endian;
pub use error::Error;
pub use oob::{Oob, Stripped};
pub use summarize::{Cleanmarkers, Loss, Lost, Mode, Options, Outcome, summarize};
