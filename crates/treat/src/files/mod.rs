//! Treatments of files: a root tree, a command line, a configuration, an
//! environment, an initramfs.
//!
//! A [`Target`] is a folder or a file that the user names. A [`FileTreatment`]
//! makes a [`Plan`] for it; [`Journal::apply`] follows a plan, and keeps what
//! takes it back in the target's side folder.

mod content;
mod cut;
mod edit;
mod error;
mod export;
mod ext;
mod images;
mod journal;
mod kinds;
mod late;
mod library;
mod on_image;
mod opened;
mod parse;
mod plan;
mod programs;
mod scripts;
mod strip;
mod symbols;
mod sysctl;
mod text;
mod tree;

pub use content::{Content, Metadata};
pub use error::FileError;
pub use export::{Form, export};
pub use ext::ExtChange;
pub use images::{ImageError, NewImage};
pub use journal::{Applied, Fault, Journal, Kept};
pub use kinds::{KINDS, TreatmentKind};
pub use library::{LIBRARY_FOLDERS, is_in_library_folder, library_names};
pub use opened::{OpenError, Opened};
pub use parse::{FileTreatment, FstabChange};
pub use plan::{Basis, Change, Plan};
pub use tree::Target;
