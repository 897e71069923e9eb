//! From what the user named to records of boots: captures, logs, packed files, folders,
//! archives, standard input, and this machine's last boot.
//!
//! A path is opened once, recognized by its content, and read by the source that knows it.
//! Nothing here prints: what a user should hear goes to a callback ([`Say`]).
//!
//! ```no_run
//! # fn main() -> Result<(), firstlight_input::Error> {
//! use firstlight_input::{Reading, boot};
//!
//! let record = boot(&["boot.log".into()], &Reading::default(), &|note| println!("{note}"))?;
//! println!("{} spans", record.spans().len());
//! # Ok(())
//! # }
//! ```

mod boot;
pub mod boots;
mod bytes;
mod error;
mod folder;
mod format;
pub mod history;
mod line;
pub mod listing;
mod looks;
pub mod names;
mod open;
mod opened;
mod packed;
mod pasted;
mod reading;
pub mod redacted;
mod results;
pub mod rows;
mod several;
mod types;

pub use boot::{boot, boot_into, of_one_boot, record_from, say_left_out};
pub use bytes::{Bytes, first_mapped};
pub use error::{Error, Result, sentence};
pub use line::line;
pub use open::{capture_of, file, read, read_named};
pub use packed::tar_magic;
pub use reading::{Reading, Say};
pub use results::{Results, results, shares};
pub use types::{Capture, HERE, Input, Raw, STDIN};
