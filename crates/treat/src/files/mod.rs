//! Treatments of files: a root tree, a command line, a configuration, an
//! environment, an initramfs.
//!
//! A [`Target`] is a folder or a file that the user names. A [`FileTreatment`]
//! makes a [`Plan`] for it; [`Journal::apply`] follows a plan, and keeps what
//! takes it back in the target's side folder.

mod content;
mod edit;
mod error;
mod export;
mod images;
mod journal;
mod library;
mod on_image;
mod opened;
mod parse;
mod plan;
mod programs;
mod strip;
mod text;
mod tree;

pub use content::{Content, Metadata};
pub use error::FileError;
pub use export::{Form, export};
pub use images::{ImageError, NewImage};
pub use journal::{Applied, Fault, Journal, Kept};
pub use library::{LIBRARY_FOLDERS, is_in_library_folder, library_names};
pub use opened::{OpenError, Opened};
pub use parse::{FileTreatment, FstabChange, KINDS, TreatmentKind};
pub use plan::{Basis, Change, Plan};
pub use tree::Target;
