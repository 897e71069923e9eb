//! A real board: its file, its power, its console, and one measured boot of it.
//!
//! A [`Board`] is what its file says. An [`Adapter`] switches the power, names the
//! console and puts a variant onto the board; [`open`] makes the one that the file
//! names. [`measure`] does one power cycle and says what was seen. Nothing here
//! compares boots or decides what to boot next.

mod adapter;
mod command;
mod commands;
mod cycle;
mod doctor;
mod error;
mod file;
mod labgrid;
mod lava;
pub mod lava_log;
mod light;
mod listening;
mod lock;
mod proof;
mod reach;
mod seen;
mod shape;
mod state;
mod take;

pub use adapter::{Adapter, Deployment, Recorded, Switched};
pub use cycle::{Cycle, Watcher, measure};
pub use doctor::{BoardCheck, doctor};
pub use error::BoardError;
pub use file::{Board, Boot, Deploy, DeployPower, Link, Power, Proof, StateCommand};
pub use light::{FirstLight, FirstLightError};
pub use lock::{Lock, State};
pub use proof::{NONCE, Proven, prove};
pub use reach::open;
pub use seen::{End, Seen};
pub use state::state;
pub use take::{EVIDENCE, PROOF, STATE, TakeBootError, TakenBoot, take};

#[cfg(test)]
mod tests;
