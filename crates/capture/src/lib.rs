#![doc = include_str!("../README.md")]

pub mod accesses;
pub mod beside;
pub mod board;
pub mod cold;
pub mod direct;
pub mod error;
mod guarded;
pub mod here;
pub mod keep;
pub mod serial;
pub mod ssh;
#[cfg(feature = "systemd-bus")]
mod systemd_bus;
