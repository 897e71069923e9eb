//! Why files cannot be treated.

use super::images::ImageError;
use crate::treatment::TreatError;
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
    #[error("invalid treatment `{treatment}`: {why}")]
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
    #[error("{}: {why}, and a change would break it; change and sign the original instead; \
        nothing was changed", target.display())]
    Protected {
        /// What the user named.
        target: PathBuf,
        /// What is protected, and how that is known.
        why: String,
    },
    /// A link on the way leads out of the tree.
    #[error(
        "{path}: a symbolic link in this path leads out of the tree {}; pass the file it points \
         to as the target; nothing was changed", tree.display()
    )]
    Outside {
        /// The path in the tree.
        path: String,
        /// The tree.
        tree: PathBuf,
    },
    /// The file is there more than once.
    #[error(
        "{path}: the file has {links} hard links, and replacing it would separate them; replace \
         it with a copy first; nothing was changed"
    )]
    Linked {
        /// The path in the tree.
        path: String,
        /// How many names it has.
        links: u64,
    },
    /// A file is not what it was when the change was planned.
    #[error(
        "{path}: the file has changed since the plan was made; run `firstlight treat plan` \
        again; nothing was changed"
    )]
    ChangedSince {
        /// The path in the tree.
        path: String,
    },
    /// What is to be undone was changed again.
    #[error(
        "{path}: the file has changed since `{treatment}` was applied; undo the later change \
         first or restore the original from {}; nothing was changed", kept.display()
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
        "`{treatment}` cannot be undone because `{later}` changed the same file later; undo \
         `{later}` first; nothing was changed"
    )]
    Later {
        /// The treatment.
        treatment: String,
        /// The one to undo first.
        later: String,
    },
    /// Nothing of the kind was applied.
    #[error("{}: {what} was not applied here; run `firstlight treat list` with this target to see \
        what was", target.display())]
    NotApplied {
        /// What the user named.
        target: PathBuf,
        /// The treatment, or `a treatment`.
        what: String,
    },
    /// Two treatments contradict each other.
    #[error("`{treatment}` conflicts with {other}; nothing was changed")]
    Conflict {
        /// The treatment.
        treatment: String,
        /// What it contradicts, and what to do.
        other: String,
    },
    /// Somebody else works on the target.
    #[error("{}: another `firstlight treat` is running; wait until it ends", side.display())]
    Busy {
        /// The side folder.
        side: PathBuf,
    },
    /// The journal is damaged.
    #[error("{}: {why}; restore the original files from this folder", entry.display())]
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
        false => "; run the command again to finish or roll back the change",
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
