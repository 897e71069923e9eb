//! Reading ahead of need what an access list says.
//!
//! The list is cut into windows of the time at which things were needed. A window's
//! pieces go out together as they are needed, or, for a disk that turns, in the order in
//! which they lie on it; a bounded number of bytes at once: more where the boot is close
//! behind, less where there is
//! time. The reads have the idle I/O priority: what the boot itself asks for goes
//! first wherever the I/O scheduler knows priorities.

pub mod memory;
mod pieces;
mod play;
mod reader;
mod requests;
mod ring;
mod state;

pub use pieces::window_of;
pub use play::{
    AHEAD_BYTES, AHEAD_US, DISK_IN_FLIGHT_BYTES, IN_FLIGHT_BYTES, Order, Played, REQUEST_BYTES,
    Settings, WINDOW_US, play, play_and_tell,
};
pub use reader::DEPTH;
pub use requests::{infilled, taken_along};
pub use state::{State, open_entry, state_of};

/// Holes of up to so many bytes are read as well, where that saves a request: at
/// 20 MB/s they take as long as a third of an SD card's command does.
pub const INFILL_BYTES: u64 = 16 << 10;

/// Holes that a disk passes in about the time of its shortest seek and half a turn:
/// 5 ms at 25 MB/s.
pub const DISK_INFILL_BYTES: u64 = 128 << 10;
