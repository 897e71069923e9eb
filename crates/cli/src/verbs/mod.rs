//! One file per verb.

pub mod advise;
pub mod blame;
pub mod boots;
pub mod capture;
pub mod classics;
pub mod cold;
pub mod demo;
pub mod diff;
pub mod export;
pub mod findings;
pub mod flash;
pub mod help;
pub mod history;
pub mod image;
pub mod io;
pub mod lab;
pub mod man;
pub mod mounts;
pub mod path;
pub mod prefetch;
pub mod report;
pub mod resolution;
#[cfg(test)]
mod schemas;
#[cfg(feature = "serve")]
pub mod serve;
pub mod show;
pub mod treat;
pub mod tune;
