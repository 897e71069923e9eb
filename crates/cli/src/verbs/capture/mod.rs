//! `firstlight capture`: from where else than this machine.

pub mod keep;
pub mod serial;
pub mod ssh;
