//! Which difference of two systems makes the boot slower: what differs, and boots of any of
//! it. The search itself is [`bisect`].
//!
//! [`Differences`] are the numbered differences of two command lines, kernel configurations,
//! package lists, root trees or device trees. [`InLab`] boots the first system with some of them applied.
//! [`history`] runs a script on commits of git instead.

mod boots;
mod cmdline;
mod config;
mod default;
mod devicetree;
mod differences;
pub mod history;
mod packages;
mod script;
mod tree;

pub use boots::InLab;
pub use default::{arm_base, base};
pub use differences::{Differences, Make};
