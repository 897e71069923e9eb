//! JFFS2: the flash filesystem that is a log of nodes.
//!
//! - [`check`](fn@check): one character per erase block, strict classes, what is
//!   wrong, and how long a mount takes;
//! - [`summarize`](fn@summarize): an image with a summary in each block.

mod check;
pub mod detect;
mod endian;
mod error;
mod examine;
pub mod mount;
pub mod node;
mod oob;
mod pack;
mod plan;
mod problem;
mod summarize;
pub mod summary;
pub mod walk;

pub use check::{Bytes, CheckOptions, Class, Report, Spare, check};
pub use endian::Endian;
pub use error::Error;
pub use oob::{Oob, Stripped};
pub use problem::{Problem, What};
pub use summarize::{Cleanmarkers, Loss, Lost, Mode, Options, Outcome, summarize};
