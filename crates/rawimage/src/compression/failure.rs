//! Why something cannot be unpacked.

use std::io;

/// A stream whose reader needs more memory than this is refused: 192 MiB. The
/// largest window that Linux takes is 128 MiB.
pub const MEMORY: u64 = 192 << 20;

/// Why something cannot be unpacked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The data contradicts itself.
    #[error("the compressed data is damaged: {0}")]
    Corrupt(String),
    /// The data ends in the middle of the stream.
    #[error("the compressed data is truncated")]
    Truncated,
    /// It unpacks to more than was allowed.
    #[error("the data decompresses to more than the limit of {limit} bytes")]
    TooLong {
        /// The bound.
        limit: u64,
    },
    /// Its reader would need too much memory.
    #[error("decompression needs more than the limit of {MEMORY} bytes of memory")]
    TooMuchMemory,
    /// The container may hold this, but it is not read here.
    #[error("{0} is not supported")]
    Unsupported(&'static str),
    /// The image could not be read.
    #[error("cannot read the image: {0}")]
    Read(#[source] io::Error),
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        Self::other(failure)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Self::Truncated;
        }
        match error.downcast::<Self>() {
            Ok(failure) => failure,
            Err(error) if error.raw_os_error().is_some() => Self::Read(error),
            Err(error) => {
                let memory = error
                    .get_ref()
                    .and_then(|e| e.downcast_ref::<liblzma::stream::Error>());
                if matches!(
                    memory,
                    Some(liblzma::stream::Error::MemLimit | liblzma::stream::Error::Mem)
                ) {
                    return Self::TooMuchMemory;
                }
                let text = error.to_string();
                // The library's words for a window over its limit.
                if text.contains("requires too much memory") {
                    return Self::TooMuchMemory;
                }
                Self::Corrupt(text)
            }
        }
    }
}
