//! How long storage takes: figures of devices, a model of a device that answers requests by
//! them, and a simulation of a program or a boot that reads from one.
//!
//! Everything is pure: no clock, no files, no devices. Times are whole nanoseconds, so that
//! the same inputs give the same answer on every machine.
//!
//! - [`Storage`] holds the figures of a device; a [`Profile`] names them and their sources.
//! - [`Device`] says when a request is done. The exact lab answers by it in virtual time.
//! - [`simulate()`] says how long a boot waits for its files, with or without a prefetcher.
//! - [`read_whole()`] says how long it takes to read files whole, one after another.
//! - [`prefetch`] has the rules that a prefetcher follows, simulated or real.
//!
//! ```
//! use firstlight_storage::{Device, Kind, Model, Request, Storage};
//!
//! // A card that needs 1 ms for a command and moves 20 MB/s.
//! let card = Storage {
//!     model: Model::Flash,
//!     command_ns: 1_000_000,
//!     read_bytes_per_s: 20_000_000,
//!     ..Storage::default()
//! };
//! let mut device = Device::new(card, 1 << 30);
//! let read = Request { kind: Kind::Read, at: 0, bytes: 4096 };
//! assert_eq!(device.submit(0, read), 1_204_800);
//! // Without a command queue the next request waits for the first.
//! assert_eq!(device.submit(0, read), 2_409_600);
//! ```

mod device;
mod figures;
mod fit;
pub mod page_cache;
pub mod prefetch;
#[cfg(feature = "profiles")]
mod profile_text;
#[cfg(feature = "profiles")]
pub mod profiles;
mod server;
mod simulate;
mod whole;

pub use device::{Device, Kind, Request, in_sequence};
pub use figures::{Model, Storage};
pub use fit::{Fitted, Measured, fit};
#[cfg(feature = "profiles")]
pub use profiles::{Profile, ProfileError};
pub use server::{ServerCost, not_given_back};
pub use simulate::{Costs, Mount, MountStep, Need, Simulated, Way, simulate};
pub use whole::{read_whole, way_to};

/// The examples of the README are compiled.
#[cfg(all(doctest, feature = "profiles"))]
#[doc = include_str!("../README.md")]
struct Readme;
