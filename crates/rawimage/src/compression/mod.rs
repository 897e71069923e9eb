//! The compressions of kernels and initramfs archives.
//!
//! Reading is bounded in output and in memory, and knows how many bytes the
//! stream took: what follows a stream is often the next part of the image.

mod block;
mod decode;
mod encode;
mod failure;
mod kind;

pub use decode::{Decoder, LIMIT, Unpacked, measure, unpack};
pub use encode::encode;
pub use failure::{Failure, MEMORY};
pub use kind::Compression;
