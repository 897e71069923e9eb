//! Why files cannot be treated.

use super::images::ImageError;
use crate::TreatError;
use std::io;
use std::path::PathBuf;

/// Why files cannot be treated. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The text names no treatment.
    #[error(transparent)]
    Treatment(#[from] TreatError),
    /// A file treatment that makes no sense.
    #[error("the treatment `{treatment}` cannot be used: {why}")]
    Form {
        /// The text.
        treatment: String,
        /// What was expected.
        why: String,
    },
    /// The target is not one for this treatment.
    #[error("{}: {why}; nothing was changed", target.display())]
    WrongTarget {
        /// What the user named.
        target: PathBuf,
        /// What it is, and what was expected.
        why: String,
    },
    /// A change would break a chain of signatures or hashes.
    #[error("{}: {why}, and a change would break that; nothing was changed", target.display())]
    Protected {
        /// What the user named.
        target: PathBuf,
        /// What is protected, and how that is known.
        why: String,
    },
    /// A link on the way leads out of the tree.
    #[error(
        "{path}: a symbolic link on the way leads out of the tree {}, which is all that may be \
         changed; nothing was changed", tree.display()
    )]
    Outside {
        /// The path in the tree.
        path: String,
        /// The tree.
        tree: PathBuf,
    },
    /// The file is there more than once.
    #[error(
        "{path}: has {links} names, and writing it anew would part them; make it a file of its own \
         first; nothing was changed"
    )]
    Linked {
        /// The path in the tree.
        path: String,
        /// How many names it has.
        links: u64,
    },
    /// A file is not what it was when the change was planned.
    #[error("{path}: was changed since the plan was made; plan again; nothing was changed")]
    ChangedSince {
        /// The path in the tree.
        path: String,
    },
    /// What is to be undone was changed again.
    #[error(
        "{path}: was changed since `{treatment}` was applied; put it back by hand (the old bytes \
         are in {}), or undo the later change first; nothing was changed", kept.display()
    )]
    ChangedAfter {
        /// The path in the tree.
        path: String,
        /// The treatment.
        treatment: String,
        /// Where the old bytes are.
        kept: PathBuf,
    },
    /// A later treatment changed the same file.
    #[error(
        "`{treatment}` cannot be undone before `{later}`, which changed the same file later; undo \
         that first; nothing was changed"
    )]
    Later {
        /// The treatment.
        treatment: String,
        /// The one to undo first.
        later: String,
    },
    /// Nothing of the kind was applied.
    #[error("{}: {what} was not applied here, so there is nothing to undo", target.display())]
    NotApplied {
        /// What the user named.
        target: PathBuf,
        /// The treatment, or `a treatment`.
        what: String,
    },
    /// Two treatments contradict each other.
    #[error("`{treatment}` contradicts {other}; nothing was changed")]
    Conflict {
        /// The treatment.
        treatment: String,
        /// What it contradicts, and what to do.
        other: String,
    },
    /// Somebody else works on the target.
    #[error("{}: another treatment is at work; wait for it", side.display())]
    Busy {
        /// The side folder.
        side: PathBuf,
    },
    /// The journal is damaged.
    #[error("{}: {why}; the old files are in that folder", entry.display())]
    Damaged {
        /// The entry of the journal.
        entry: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// An image cannot be changed so.
    #[error("{}: {source}; nothing was changed", target.display())]
    Image {
        /// What the user named.
        target: PathBuf,
        /// Why.
        source: ImageError,
    },
    /// A file cannot be read or written.
    #[error("{}: {what}: {source}{}", path.display(), unchanged(*before))]
    Io {
        /// The file.
        path: PathBuf,
        /// What was done.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
        /// Whether that was before anything was changed.
        before: bool,
    },
}

fn unchanged(before: bool) -> &'static str {
    match before {
        true => "; nothing was changed",
        false => "; run the command again, which finishes or takes back what was begun",
    }
}

/// For `map_err`, before anything is changed.
pub(super) fn io_error(
    path: impl Into<PathBuf>,
    what: &'static str,
) -> impl FnOnce(io::Error) -> FileError {
    let path = path.into();
    move |source| FileError::Io {
        path,
        what,
        source,
        before: true,
    }
}
