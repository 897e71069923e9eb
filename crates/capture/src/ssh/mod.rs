//! Taking a capture on another machine, by the system's `ssh` program.
//!
//! What is known of the host is turned into a plan ([`plan`]), which is printed
//! before anything is done; a session carries it out and takes back whatever it
//! installed, also if it fails or is interrupted ([`session`]).

pub mod host;
pub mod install;
pub mod plan;
pub mod session;
