//! One file per verb.

pub mod blame;
pub mod capture;
pub mod demo;
pub mod diff;
pub mod here;
pub mod lab;
pub mod man;
pub mod report;
pub mod show;
