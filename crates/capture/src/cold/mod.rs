//! Cold and warm starts of a program.

pub mod elsewhere;
pub mod evict;
pub mod places;
pub mod start;
