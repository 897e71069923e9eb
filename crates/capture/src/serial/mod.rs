//! Listening to a console, without a terminal.
//!
//! A thread does nothing but wait, read and stamp ([`reader`]). The engine
//! makes lines of it and looks for patterns ([`engine`]); the loop around both
//! knows power commands, time limits and the ends of a capture ([`listen`]). What
//! comes is kept as a capture ([`take`]).

pub mod clean;
pub mod engine;
pub mod input;
pub mod listen;
pub mod log;
pub mod port;
pub mod program;
pub mod reader;
pub mod rfc2217;
pub mod take;

#[cfg(test)]
mod tests;
