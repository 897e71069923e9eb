//! Screens of `firstlight image`.

mod arranged;
mod create;
mod info;
mod map;
mod mount;
mod relocate;
mod repack;
mod score;
mod statistics;

pub use arranged::arranged;
pub use create::create;
pub use info::info;
pub use map::{MapLines, map_by_file, map_head};
pub use relocate::relocate;
pub use repack::repack;
pub use score::score;
pub use statistics::statistics;
