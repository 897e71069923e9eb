//! A boot in the formats of other viewers and of data tools.
//!
//! Each function writes to the end of a buffer. Times are those of the record,
//! in nanoseconds from its zero mark; a format whose times cannot be negative
//! has them moved, and says by how much.

mod bootchart;
mod bootgraph;
mod chrome;
#[cfg(feature = "parquet")]
mod columns;
mod drawing;
#[cfg(feature = "parquet")]
mod fleet;
mod folded;
mod label;
mod overview;
#[cfg(feature = "parquet")]
mod parquet;
mod perfetto;
mod proto;
mod rows;
mod seek;
mod sheet;

pub use bootchart::bootchart;
pub use bootgraph::bootgraph;
pub use chrome::chrome;
#[cfg(feature = "parquet")]
pub use columns::ParquetError;
#[cfg(feature = "parquet")]
pub use fleet::{FLEET_SCHEMA, FleetTables};
pub use folded::folded;
pub use overview::svg;
#[cfg(feature = "parquet")]
pub use parquet::parquet;
pub use perfetto::perfetto;
pub use rows::csv;
pub use seek::SeekPicture;
