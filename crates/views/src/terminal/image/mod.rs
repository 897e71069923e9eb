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

/// What a user has to do after a new layout. A list has the places of metadata of the layout
/// that it was recorded with; `experiments/prefetch/RESULTS.md` has what an old one costs.
const RECORD_AGAIN: &str =
    "A list for `prefetch` has places of metadata of the former layout: record it again.";
