//! Listening to a console, without a terminal: `capture serial` prints, this
//! does the work.
//!
//! A thread does nothing but wait, read and stamp ([`reader`]). The engine
//! makes lines of it and looks for patterns ([`engine`]); the loop around both
//! knows power commands, time limits and the ends of a capture ([`listen`]).

pub mod clean;
pub mod engine;
pub mod input;
pub mod listen;
pub mod log;
pub mod port;
pub mod program;
pub mod reader;

#[cfg(test)]
mod tests;
