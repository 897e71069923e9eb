//! Recording what a program reads: the trace, the names, and the settings that
//! are changed meanwhile.

pub mod event;
pub mod mounts;
pub mod names;
pub mod recording;
pub mod session;
pub mod settings;
pub mod touched;
