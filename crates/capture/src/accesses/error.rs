//! Why nothing was recorded.

use crate::error::FileError;
use std::io;
use std::path::{Path, PathBuf};

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The caller is not root.
    #[error("only root can read the kernel's trace buffers; run it with sudo")]
    NotRoot,
    /// This process cannot be told from a later one.
    #[error("/proc is not mounted; mount it for a recording")]
    Nobody,
    /// Another recording runs.
    #[error(
        "another recording is running on this machine and changes the same settings; wait until it \
         ends"
    )]
    Busy,
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file of the kernel does not take a value.
    #[error("{}: cannot write `{value}`: {why}", .path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The value.
        value: String,
        /// What the system says.
        why: io::Error,
    },
    /// The kernel's tracing cannot be used.
    #[error("cannot use tracefs: {why}; run as root on a kernel with CONFIG_FTRACE")]
    Tracefs {
        /// What the system says.
        why: io::Error,
    },
    /// The kernel has no events of the page cache.
    #[error(
        "{}: the event mm_filemap_add_to_page_cache is missing; use a kernel with \
         CONFIG_EVENT_TRACING",
        .folder.display()
    )]
    Events {
        /// Where they would be.
        folder: PathBuf,
    },
    /// The process that restores settings cannot be started.
    #[error("cannot start the process that restores settings: {why}")]
    Guard {
        /// What the system says.
        why: io::Error,
    },
    /// The program cannot be started.
    #[error("{program}: cannot start: {why}")]
    Start {
        /// The program.
        program: String,
        /// What the system says.
        why: io::Error,
    },
    /// The program cannot be waited for.
    #[error("waiting for the program failed: {why}")]
    Wait {
        /// What the system says.
        why: io::Error,
    },
    /// The trace cannot be read.
    #[error("cannot read the trace: {why}")]
    Trace {
        /// What the system says.
        why: io::Error,
    },
    /// The thread that reads the trace failed.
    #[error("the trace reader stopped unexpectedly")]
    Reader,
    /// A file does not say what was changed.
    #[error(
        "{}: not a list of changed settings (its first line is not `{kind}`); delete it",
        .file.display()
    )]
    Kind {
        /// The file.
        file: PathBuf,
        /// What was expected.
        kind: &'static str,
    },
    /// Not all settings could be restored.
    #[error("{why}")]
    Restore {
        /// Which, and why.
        why: String,
    },
}

impl RecordingError {
    /// For `map_err`: `path` does not take `value`.
    pub(super) fn refused(path: &Path, value: &str) -> impl FnOnce(io::Error) -> Self {
        move |why| Self::Refused {
            path: path.to_owned(),
            value: value.to_owned(),
            why,
        }
    }
}
