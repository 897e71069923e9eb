//! The formats that the target and the host share: the capture's manifest, and
//! the payload that a lab trial hands out.

pub mod capture;
pub mod config;
pub mod payload;
pub mod storage;
