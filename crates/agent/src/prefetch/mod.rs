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
mod probe;
mod reader;
mod ring;
mod settings;
mod state;

pub use play::{play, play_and_tell};
pub use settings::{Order, Played, Settings, Step};
pub use state::{State, open_entry, state_of};
// The rules that the simulation of a prefetcher follows as well.
pub use storage::prefetch::{
    AHEAD_BYTES, AHEAD_US, DEPTH, DISK_IN_FLIGHT_BYTES, DISK_INFILL_BYTES, IN_FLIGHT_BYTES,
    INFILL_BYTES, REQUEST_BYTES, WINDOW_US, infilled, taken_along, window_of,
};
