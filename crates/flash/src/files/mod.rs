//! The files in an image, whatever its filesystem: walking them, and handing
//! them out.

mod extract;
mod filesystem;
mod folder;
mod inode;
mod piece;
mod tree;
mod verify;
mod walk;

pub use extract::{Extracted, NotExtracted, Sink, Why, extract};
pub use filesystem::Files;
pub use folder::{Folder, Rights};
pub use inode::{Attribute, Device, Name, Stat};
pub use piece::{Failure, Piece, Pieces};
pub use rawimage::FileType;
pub use tree::{Entry, LONGEST_PATH, NameFault, Tree, Visit};
pub use verify::{Finding, Findings, MOST_FINDINGS, ReadAll, Wrong, read_all};
