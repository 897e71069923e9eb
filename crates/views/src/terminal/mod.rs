//! Text for a terminal, or for a pipe.
//!
//! Each screen is a function of reports and a [`Style`]. With color off the
//! same text comes without escape sequences. Names from logs are shown with
//! their control characters replaced, so that a log cannot move the cursor.

mod advise;
mod bar;
mod bisect;
mod blame;
mod boots;
mod classics;
mod cold;
mod console;
mod deferrals;
mod diff;
mod doctor;
mod finding;
pub mod flash;
mod formats;
mod functions;
mod gaps;
mod history;
pub mod image;
mod io;
mod lab;
mod lab_board;
mod lab_jobs;
mod lab_plan;
pub mod layout;
mod path;
mod place;
pub mod prefetch;
mod readings;
mod redact;
mod serial;
mod show;
pub(crate) mod style;
mod subsystems;
pub mod table;
pub mod treat;
mod tune;
mod unknown;

pub use advise::{advise, plan};
pub use bisect::{bisect, bisect_plan};
pub use blame::blame;
pub use boots::{boots, gate};
pub use classics::{classics, classics_result};
pub use cold::cold;
pub use deferrals::deferrals;
pub use diff::diff;
pub use doctor::doctor;
pub use formats::formats;
pub use functions::{calls, functions};
pub use gaps::gaps;
pub use history::history;
pub use io::io;
pub use lab::lab;
pub(crate) use lab_board::explained as board_explained;
pub use lab_board::lab_board;
pub use lab_jobs::{lab_jobs, lab_trial};
pub use lab_plan::lab_plan;
pub use path::{path, what_if};
pub use redact::redact;
pub use serial::{board_capture, serial_capture, serial_line};
pub use show::show;
pub use style::Style;
pub use subsystems::subsystems;
pub use tune::{tune, tune_plan};

/// Changes of a root or a host, a sentence each.
#[must_use]
pub fn changes(action: &str, target: &str, done: bool, changes: &[String]) -> String {
    let heading = if done { "done" } else { "would be done" };
    let mut text = format!("{action} in {target}: {heading}\n");
    for line in changes {
        text += &format!("  {line}\n");
    }
    text
}
