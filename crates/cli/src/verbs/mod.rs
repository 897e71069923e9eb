//! One file per verb.

pub mod blame;
pub mod demo;
pub mod diff;
pub mod export;
pub mod here;
pub mod io;
pub mod lab;
pub mod man;
pub mod report;
pub mod show;
