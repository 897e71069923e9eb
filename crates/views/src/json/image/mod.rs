//! Documents of `firstlight image`.

mod details;
mod fit;
mod info;
mod kernel;
mod map;
mod order;
mod part;
mod relocate;
mod repack;
mod score;

pub use info::Info;
pub use map::{Map, MapRows};
pub use order::Order;
pub use relocate::Relocate;
pub use repack::Repack;
pub use score::Score;
