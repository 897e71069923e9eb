//! What lab boots prove: their captures read, compared and judged, as the reports that
//! [`views`] prints; and what cold and warm starts of a program on this machine do.
//!
//! The room `lab` boots and does no statistics, and `analysis` knows no lab. This room is
//! where both meet. It prints nothing: notes about inputs go to a callback
//! ([`input::Say`]). What a layout or a prefetcher would bring is foretold here too, by the
//! storage simulator, from what the lab knows of an image ([`layout`]).
//!
//! ```no_run
//! # use firstlight_proof as proof;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let experiment = lab::Experiment::read("experiments/smoke.toml".as_ref())?;
//! let options = lab::Options::plain("out".as_ref(), 2);
//! let outcome = lab::run(&experiment, &options, &mut |_| {})?;
//! let judgement = proof::judgement(&experiment);
//! let compared = proof::compare(&outcome, &options.out, &judgement, &|note| println!("{note}"))?;
//! for variant in &compared.variants {
//!     println!("{}: {:?}", variant.variant, variant.median);
//! }
//! # Ok(())
//! # }
//! ```

mod board;
mod board_search;
mod calibration;
mod captures;
mod classics;
mod cold;
mod demo;
mod error;
pub mod layout;
mod mounts;
mod plan;
mod planted;
mod resolution;
mod trials;
mod tuned;

pub use board::{BoardRule, board_report, board_trial, question};
pub use board_search::BoardCaptures;
pub use calibration::{calibrated, line_rate, truth};
pub use captures::{Captures, access_list};
pub use classics::{classic_result, published, put};
pub use cold::{Cold, ColdEvent};
pub use demo::{BASE as DEMO, booted_before, digests, recommended, with_variants};
pub use error::Error;
pub use mounts::mounts;
pub use plan::plan;
pub use planted::{Heard, planted};
pub use resolution::resolution;
pub use trials::{compare, first_light, judgement, record};
pub use tuned::tuned;
