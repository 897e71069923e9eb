//! Text for a terminal, or for a pipe.
//!
//! Each screen is a function of reports and a [`Style`]. With color off the
//! same text comes without escape sequences. Names from logs are shown with
//! their control characters replaced, so that a log cannot move the cursor.

mod advise;
mod bar;
mod blame;
mod boots;
mod classics;
mod console;
mod deferrals;
mod diff;
mod doctor;
mod finding;
mod formats;
mod functions;
mod gaps;
mod history;
mod io;
mod lab;
mod lab_plan;
pub mod layout;
mod path;
mod place;
mod readings;
mod serial;
mod show;
pub(crate) mod style;
mod subsystems;
pub mod table;
mod tune;

pub use advise::advise;
pub use blame::blame;
pub use boots::{boots, gate};
pub use classics::{classics, classics_result};
pub use deferrals::deferrals;
pub use diff::diff;
pub use doctor::doctor;
pub use formats::formats;
pub use functions::{calls, functions};
pub use gaps::gaps;
pub use history::history;
pub use io::io;
pub use lab::lab;
pub use lab_plan::lab_plan;
pub use path::path;
pub use serial::serial_line;
pub use show::show;
pub use style::Style;
pub use subsystems::subsystems;
pub use tune::{tune, tune_plan};
