//! Kernel images, and what they hold.
//!
//! - [`zimage`]: 32-bit ARM, unpacks itself;
//! - [`bzimage`]: x86, unpacks itself;
//! - [`flat`]: arm64 and RISC-V, not packed, or packed as a whole;
//! - [`zboot`]: an EFI program that unpacks an arm64, RISC-V or LoongArch kernel;
//! - [`elf`]: the kernel proper;
//! - [`symbols`]: the names in it;
//! - [`built_in`]: a compressed initramfs in it.

pub mod built_in;
pub mod bzimage;
pub mod content;
pub mod elf;
mod fields;
pub mod flat;
pub mod symbols;
pub mod zboot;
pub mod zimage;

pub use content::{Content, Inner};

use rawimage::Part;
use rawimage::compression::{Compression, Decoder, Failure};

/// The packed kernel in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Where it begins, bytes from the start of the kernel image.
    pub offset: u64,
    /// How many bytes its stream takes.
    pub packed: u64,
    /// How it is packed.
    pub compression: Compression,
    /// How long it should be unpacked, as the image says.
    pub stated: Option<u64>,
    /// How long it is unpacked; `None` if it cannot be unpacked.
    pub unpacked: Option<u64>,
    /// Why it cannot be unpacked.
    pub failure: Option<String>,
    /// What is in it.
    pub content: Content,
}

/// Unpacks a payload to see what is in it. What is wrong with it is told, not
/// returned.
///
/// # Errors
/// Only that reading failed.
pub fn payload(
    image: &Part<'_>,
    (offset, length): (u64, u64),
    compression: Compression,
    stated: Option<u64>,
    limit: u64,
) -> std::io::Result<Payload> {
    let part = image.part(offset, length);
    let mut payload = Payload {
        offset,
        packed: part.len(),
        compression,
        stated,
        unpacked: None,
        failure: None,
        content: Content::default(),
    };
    let mut decoder = match Decoder::new(compression, &part, limit) {
        Ok(decoder) => decoder,
        Err(failure) => return told(payload, failure),
    };
    match content::scan(&mut decoder) {
        Ok(content) => {
            payload.content = content;
            payload.packed = decoder.consumed();
            payload.unpacked = Some(decoder.produced());
            Ok(payload)
        }
        Err(error) => told(payload, error.into()),
    }
}

fn told(mut payload: Payload, failure: Failure) -> std::io::Result<Payload> {
    match failure {
        Failure::Read(error) => Err(error),
        failure => {
            payload.failure = Some(failure.to_string());
            Ok(payload)
        }
    }
}
