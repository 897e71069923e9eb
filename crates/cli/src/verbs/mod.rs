//! One file per verb.

pub mod blame;
pub mod demo;
pub mod diff;
pub mod flash;
pub mod here;
pub mod image;
pub mod lab;
pub mod man;
pub mod report;
pub mod show;
