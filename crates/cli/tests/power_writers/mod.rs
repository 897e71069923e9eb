//! What is written in the test of power cuts over writers, and what must be there after.

pub mod check;
pub mod fill;
pub mod steps;
