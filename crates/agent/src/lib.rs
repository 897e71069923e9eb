//! The formats that the target and the host share, and what both do with them:
//! captures, the payload that a lab trial hands out, the agent's configuration,
//! and the timing of a modelled storage device.

pub mod capture;
#[cfg(target_os = "linux")]
pub mod clocks;
pub mod config;
pub mod frame;
#[cfg(target_os = "linux")]
pub mod here;
pub mod payload;
pub mod storage;
#[cfg(target_os = "linux")]
pub mod sys;
#[cfg(target_os = "linux")]
pub mod trace;
