//! Screens of `firstlight flash`.

mod check;
mod copy;
mod env;
mod extract;
mod list;
mod lost;
mod problems;
mod skip_check;
mod summarize;
mod ubi;
mod ubifs;
mod verify;

pub use check::check;
pub use copy::copy;
pub use env::{env, env_changed, env_differences};
pub use extract::extract;
pub use list::list;
pub use skip_check::skip_check;
pub use summarize::summarize;
pub use ubi::ubi;
pub use ubifs::ubifs;
pub use verify::verify;
