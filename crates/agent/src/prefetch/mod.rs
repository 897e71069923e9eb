//! Reading ahead of need what an access list says.
//!
//! The list is cut into windows of the time at which things were needed: one for
//! a disk that turns, short ones elsewhere. A window's pieces go out together, in
//! the order in which they lie on the device, a bounded number of bytes at once. The reads have the idle I/O priority: what the boot itself
//! asks for goes first wherever the I/O scheduler knows priorities.

pub mod memory;
mod play;
mod requests;
mod ring;
mod state;

pub use play::{Order, Played, SHORT_WINDOW_US, Settings, play};
pub use requests::infilled;
pub use state::{State, state_of};

/// Holes of up to so many bytes are read as well, where that saves a request: at
/// 20 MB/s they take as long as a third of an SD card's command does.
pub const INFILL_BYTES: u64 = 16 << 10;
