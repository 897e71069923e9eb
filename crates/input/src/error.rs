//! Why an input cannot be read.

use std::error::Error as StdError;

/// Why an input cannot be read. The sentence says where, what is wrong and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What the user named cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// Something could not be done with what the user named.
    #[error("{what}")]
    Failed {
        /// Where, and what could not be done.
        what: String,
        /// Why.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A table of boots, or an image, cannot be read.
    #[error(transparent)]
    Inspect(#[from] inspect::Error),
    /// What took the boots failed.
    #[error(transparent)]
    Taken(Box<dyn StdError + Send + Sync>),
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A manifest cannot be written or read as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Shorthand for what this room returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Returns [`Error::Unusable`] with a formatted sentence.
macro_rules! refuse {
    ($($sentence:tt)*) => {
        return Err($crate::Error::Unusable(format!($($sentence)*)))
    };
}
pub(crate) use refuse;

/// Says what an error is about.
pub(crate) trait On<T> {
    /// The error, with what could not be done.
    fn on(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: StdError + Send + Sync + 'static> On<T> for Result<T, E> {
    fn on(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::Failed {
            what: what(),
            source: Box::new(source),
        })
    }
}

/// An error and its causes, in one line; a cause that the error already says is not said
/// twice.
#[must_use]
pub fn sentence(error: &(dyn StdError + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&said);
        }
        next = cause.source();
    }
    text
}
