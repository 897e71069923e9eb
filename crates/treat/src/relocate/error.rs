//! Why files cannot be put elsewhere.

use std::io;

/// Why files cannot be put elsewhere. The error's source says the rest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What the user named, and why it cannot be used.
    #[error("{path}: {why}")]
    Unusable {
        /// What the user named.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// The system refused something.
    #[error("{path}: {what}")]
    Io {
        /// What the user named.
        path: String,
        /// What could not be done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    pub(super) fn unusable(path: &str, why: impl Into<String>) -> Self {
        Self::Unusable {
            path: path.to_owned(),
            why: why.into(),
        }
    }

    /// The error of something that the system refused.
    pub(super) fn io<E: Into<io::Error>, W: Into<String>>(
        path: &str,
        what: W,
    ) -> impl FnOnce(E) -> Self + use<E, W> {
        let (path, what) = (path.to_owned(), what.into());
        |source| Self::Io {
            path,
            what,
            source: source.into(),
        }
    }
}
