//! JFFS2: the flash filesystem that is a log of nodes.
//!
//! - [`check`](fn@check): one character per erase block, strict classes, what is
//!   wrong, and how long a mount takes;
//! - [`Filesystem`]: the files that the kernel would see;
//!   [`files::extract`](crate::files::extract()) hands them out,
//!   [`verify`](fn@verify) reads all of them;
//! - [`summarize`](fn@summarize): an image with a summary in each block.

use crate::endian;

mod check;
mod content;
pub mod decompress;
pub mod detect;
mod error;
mod examine;
mod filesystem;
mod index;
pub mod mount;
pub mod node;
pub(crate) mod oob;
mod pack;
mod plan;
mod problem;
mod summarize;
pub mod summary;
mod verify;
pub mod walk;

pub use crate::endian::Endian;
pub use check::{Bytes, CheckOptions, Class, Report, Spare, check, refuse_foreign};
pub use error::Error;
pub use filesystem::{Filesystem, OpenOptions, ROOT, Write};
pub use oob::{Oob, Stripped, has_cleanmarker};
pub use problem::{Problem, What};
pub use summarize::{Cleanmarkers, Loss, Lost, Mode, Options, Outcome, summarize};
pub use verify::{Compressed, Verification, verify};
