//! The autopilot: tries treatments, and keeps the smallest set that saves nearly as much as
//! all of them.
//!
//! It boots all treatments together, then each left out; or, if all together do no good, each
//! alone and then those that help. What a treatment saves is measured where it stands, and
//! never added up.
//!
//! [`Trials`] boots sets of treatments: on this host, elsewhere, on a board ([`OnBoard`]). [`Judge`] reads
//! captures and compares times. The search itself only decides what is booted next, so it
//! needs neither an emulator nor statistics.

mod alone;
mod bench;
mod judge;
mod on_board;
mod outcome;
mod patches;
mod prices;
mod reading;
mod sets;
mod smallest;
mod sockets;
mod trials;
mod whole;

pub use bench::{Policy, Settings};
pub use judge::{Effect, Judge, JudgeError, Recommended, Typical, Verdict};
pub use on_board::OnBoard;
pub use outcome::{Dropped, Found, Health, Kept, Measured};
pub use patches::{kernel_config, patches};
pub use sets::{candidates, in_lab};
pub use trials::{Local, Trials};
pub use whole::search;

#[cfg(test)]
mod tests;
