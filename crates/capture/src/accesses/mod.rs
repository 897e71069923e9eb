//! Recording what a program reads: the trace, the names, and the settings that
//! are changed meanwhile.

mod changed;
mod error;
pub mod event;
pub mod import;
pub(crate) mod kernel;
mod lock;
pub mod mounts;
pub mod names;
mod owner;
pub mod recording;
mod session;
mod settings;
mod sweep;
pub mod touched;

pub use error::RecordingError;
pub use owner::Owner;
pub use settings::guard;
pub use sweep::{Swept, sweep};
