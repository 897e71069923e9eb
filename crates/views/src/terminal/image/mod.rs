//! Screens of `firstlight image`.

mod arranged;
mod info;
mod map;
mod mount;
mod relocate;
mod repack;
mod score;

pub use arranged::arranged;
pub use info::info;
pub use map::{MapLines, map_by_file, map_head};
pub use relocate::relocate;
pub use repack::repack;
pub use score::score;
