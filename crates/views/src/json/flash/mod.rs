//! Documents of `firstlight flash`.

mod check;
mod copy;
mod env;
mod extract;
mod list;
mod lost;
mod skip_check;
mod summarize;
mod ubi;
mod ubifs;
mod verify;

pub use check::Check;
pub use copy::Copy;
pub use env::Env;
pub use extract::Extract;
pub use list::List;
pub use skip_check::SkipCheck;
pub use summarize::Summarize;
pub use ubi::Ubi;
pub use ubifs::Bare;
pub use verify::Verify;
