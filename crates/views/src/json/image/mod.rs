//! Documents of `firstlight image`.

mod create;
mod details;
mod fit;
mod forecast;
mod info;
mod kernel;
mod map;
mod order;
mod part;
mod relocate;
mod repack;
mod score;
mod statistics;

pub use create::Create;
pub use forecast::{Change, Forecast, ForecastWay};
pub use info::Info;
pub use map::{Map, MapRows};
pub use order::Order;
pub use relocate::Relocate;
pub use repack::Repack;
pub use score::Score;
pub use statistics::{CheckCost, Statistics};
