//! Why something cannot be looked into.

use std::io;

/// Why something cannot be looked into. The error's sources say the rest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What the user named, and why it cannot be used.
    #[error("{path}: {why}")]
    Unusable {
        /// What the user named.
        path: String,
        /// What is wrong, and what is expected.
        why: String,
    },
    /// The system refused to open or read something.
    #[error("{path}: {what}")]
    Io {
        /// What the user named.
        path: String,
        /// What could not be done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The content of an image, or of a part of it, cannot be read.
    #[error("{place}")]
    Content {
        /// The image or its part.
        place: String,
        /// What is wrong with it.
        source: Box<Content>,
    },
    /// Choices that do not fit each other or the boot.
    #[error("{0}")]
    Choice(String),
}

/// What is wrong with the content of an image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Content {
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// As a boot image.
    #[error(transparent)]
    Boot(#[from] bootimage::info::Error),
    /// As a disk or a filesystem.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// As JFFS2.
    #[error(transparent)]
    Jffs2(#[from] flash::jffs2::Error),
    /// As UBI.
    #[error(transparent)]
    Ubi(#[from] flash::ubi::Error),
    /// As UBIFS.
    #[error(transparent)]
    Ubifs(#[from] flash::ubifs::Error),
    /// A volume of UBI.
    #[error(transparent)]
    Volume(Box<Error>),
    /// It lacks what was asked for.
    #[error("{0}")]
    Lacks(String),
}

impl Error {
    pub(crate) fn unusable(path: &str, why: impl Into<String>) -> Self {
        Self::Unusable {
            path: path.to_owned(),
            why: why.into(),
        }
    }

    pub(crate) fn io(path: &str, what: impl Into<String>, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            what: what.into(),
            source,
        }
    }
}

/// Says of which image an error is.
pub(crate) trait Of<T> {
    /// The error, of the content of `place`.
    fn of(self, place: &str) -> Result<T, Error>;
}

impl<T, E: Into<Content>> Of<T> for Result<T, E> {
    fn of(self, place: &str) -> Result<T, Error> {
        self.map_err(|source| Error::Content {
            place: place.to_owned(),
            source: Box::new(source.into()),
        })
    }
}
