//! Text for a terminal, or for a pipe.
//!
//! Each screen is a function of reports and a [`Style`]. With colour off the
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
mod functions;
mod gaps;
mod io;
mod lab;
mod lab_plan;
pub mod layout;
mod path;
mod readings;
mod serial;
mod show;
mod subsystems;

pub use advise::advise;
pub use blame::blame;
pub use boots::{boots, gate};
pub use classics::{classics, classics_result};
pub use deferrals::deferrals;
pub use diff::diff;
pub use doctor::doctor;
pub use functions::{calls, functions};
pub use gaps::gaps;
pub use io::io;
pub use lab::lab;
pub use lab_plan::lab_plan;
pub use path::path;
pub use serial::serial_line;
pub use show::show;
pub use subsystems::subsystems;

/// The narrowest screen that is laid out; a narrower terminal wraps lines.
const MIN_WIDTH: usize = 60;

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether escape sequences for colour are used; never into a pipe.
    pub color: bool,
    /// How many columns there are.
    pub width: usize,
}

impl Default for Style {
    /// Without colour, 80 columns: what a pipe gets.
    fn default() -> Self {
        Self {
            color: false,
            width: 80,
        }
    }
}
