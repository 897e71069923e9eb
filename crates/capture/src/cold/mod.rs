//! Cold and warm starts of a program.

pub mod evict;
pub mod start;
