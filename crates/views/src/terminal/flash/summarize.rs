//! The screen of `firstlight flash summarize`.

use super::lost;
use crate::terminal::Style;
use crate::terminal::layout::{Screen, WARN, right};
use crate::words::{plural, size, thousands};
use flash::jffs2::{Mode, Options, Outcome};

/// An image that was rewritten to `out`.
#[must_use]
pub fn summarize(out: &str, options: &Options, outcome: &Outcome, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let block = size(options.erase_size.into());
    let mode = match options.mode {
        Mode::Safe => "",
        Mode::Compatible => ", the same bytes as sumtool",
    };
    let about = format!("{}-endian, erase blocks of {block}{mode}", options.endian);
    screen.heading(out, &about);
    let mut row = |count: u64, what: &str| {
        let line = format!("  {}  {what}", right(&thousands(count), 12));
        screen.line(&line);
    };
    row(outcome.nodes, "nodes copied");
    row(outcome.summaries, "summaries written");
    row(outcome.bytes_in, "bytes before");
    row(outcome.bytes_out, "bytes now");
    if outcome.resurrected > 0 {
        let nodes = plural(
            usize::try_from(outcome.resurrected).unwrap_or(usize::MAX),
            "obsolete node",
        );
        let text = format!(
            "{} {nodes} came back to life, as with sumtool: deleted files may be there again. \
             Without --compat they stay dead.",
            thousands(outcome.resurrected),
        );
        screen.blank();
        screen.wrapped("", 2, WARN, &text);
    }
    lost::section(&mut screen, "Not copied", &outcome.lost);
    screen.finish()
}
