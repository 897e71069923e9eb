//! Reading an image and writing a result: what fails alike for every format.

use std::io;

/// Reading an image, or writing a result, failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// Reading failed.
    #[error("cannot read {length} bytes at byte {offset}: {source}")]
    Read {
        /// Byte offset in the image.
        offset: u64,
        /// Number of bytes.
        length: usize,
        /// Why.
        source: io::Error,
    },
    /// The length of the image is unknown.
    #[error("cannot determine the length of the image: {0}")]
    Length(#[source] io::Error),
    /// Writing failed.
    #[error("cannot write the output: {0}")]
    Write(#[source] io::Error),
}

/// What an image looks like, as the end of a clause; empty if that is unknown.
pub(crate) fn looks_like(found: Option<&'static str>) -> String {
    found.map_or(String::new(), |name| format!(", which look like {name}"))
}
