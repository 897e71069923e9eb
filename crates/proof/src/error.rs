//! Why nothing can be said of boots.

use capture::accesses::RecordingError;
use capture::accesses::import::ImportError;
use capture::beside::BesideError;
use capture::cold::start::StartError;
use capture::error::FileError;
use std::io;
use std::path::PathBuf;

/// Why nothing can be said of boots. A boot that fails is no error: reports count it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The capture of a trial cannot be read.
    #[error("the trial in {}", capture.display())]
    Trial {
        /// Its folder or file.
        capture: PathBuf,
        /// Why.
        source: input::Error,
    },
    /// Another input cannot be read.
    #[error(transparent)]
    Input(#[from] input::Error),
    /// The lab cannot do it.
    #[error(transparent)]
    Lab(#[from] lab::LabError),
    /// The trials cannot be compared.
    #[error(transparent)]
    Experiment(#[from] analysis::ExperimentError),
    /// What a system boots from cannot be read.
    #[error(transparent)]
    Inspect(#[from] inspect::Error),
    /// A capture gives no access list.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A file cannot be written beside and renamed.
    #[error(transparent)]
    Beside(#[from] BesideError),
    /// What a program reads cannot be recorded.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A start of a program cannot be measured.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A file of this machine cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Files cannot be moved.
    #[error(transparent)]
    Relocate(#[from] treat::relocate::Error),
    /// Starts ended early, after files had been moved for them.
    #[error("{what}")]
    PutBack {
        /// Where the files are now.
        what: String,
        /// Why the starts ended.
        source: Box<Error>,
    },
    /// A folder or file of the user's cannot be used.
    #[error("{}: {what}", path.display())]
    Path {
        /// Which.
        path: PathBuf,
        /// What could not be done.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A run is not what the question needs.
    #[error("{0}")]
    Unfit(String),
}

/// Shorthand for what this room returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
