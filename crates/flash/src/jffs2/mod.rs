//! JFFS2: the flash filesystem that is a log of nodes.
//!
//! - [`check`](fn@check): one character per erase block, strict classes, what is
//!   wrong, and how long a mount takes;
//! - [`Filesystem`]: the files that the kernel would see;
//!   [`files::extract`](crate::files::extract()) hands them out,
//!   [`verify`](fn@verify) reads all of them;
//! - [`summarize`](fn@summarize): an image with a summary in each block.

mod check;
mod content;
pub mod decompress;
pub mod detect;
mod dump;
mod erase_size;
mod error;
mod examine;
mod filesystem;
mod index;
mod loss;
pub mod mount;
pub mod node;
pub(crate) mod oob;
mod options;
mod pack;
mod plan;
mod problem;
mod summarize;
pub mod summary;
mod verify;
pub mod walk;

pub use check::{Bytes, CheckOptions, Class, Report, Spare, check, refuse_foreign};
pub use error::Error;
pub use filesystem::{Filesystem, OpenOptions, ROOT, Write};
pub use loss::{Loss, Lost};
pub use oob::{Oob, Stripped, has_cleanmarker};
pub use options::{Cleanmarkers, Mode, Options};
pub use problem::{Problem, What};
pub use rawimage::Endian;
pub use summarize::{Outcome, summarize};
pub use verify::{Compressed, Verification, verify};
