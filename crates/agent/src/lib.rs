//! The formats that the target and the host share, and what both do with them:
//! captures, the payload that a lab trial hands out, and the agent's configuration.

/// How the lines begin that this program writes into the kernel's log.
pub const LINES: &str = "firstlight: ";

pub mod access;
#[cfg(target_os = "linux")]
pub mod before_exec;
mod bytes;
pub mod capture;
#[cfg(target_os = "linux")]
pub mod clocks;
pub mod config;
#[cfg(target_os = "linux")]
pub mod deliver;
#[cfg(target_os = "linux")]
pub mod extents;
pub mod frame;
#[cfg(target_os = "linux")]
pub mod here;
#[cfg(target_os = "linux")]
pub mod opens;
pub mod payload;
#[cfg(target_os = "linux")]
pub mod prefetch;
pub mod readings;
#[cfg(target_os = "linux")]
pub mod resident;
#[cfg(target_os = "linux")]
pub mod sampler;
#[cfg(target_os = "linux")]
pub mod sys;
pub mod systemd;
#[cfg(target_os = "linux")]
pub mod trace;
#[cfg(target_os = "linux")]
pub mod watch;
