//! The screen of `firstlight flash extract`.

use super::lost;
use crate::terminal::Style;
use crate::terminal::layout::{BAD, Screen, WARN, right};
use crate::words::{self, thousands};
use flash::files::Extracted;
use flash::jffs2::Lost;

/// How many files that are not as they were the screen holds; JSON has them all.
const NOT_AS_THEY_WERE: usize = 20;

/// Files that were extracted into the folder `out`.
#[must_use]
pub fn extract(out: &str, done: &Extracted, lost: &[Lost], style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.heading(out, "");
    for (count, what) in [
        (done.files, "files"),
        (done.directories, "folders, the root among them"),
        (done.symlinks, "symbolic links"),
        (done.hard_links, "further names of files"),
        (done.specials, "pipes, sockets and devices"),
    ] {
        if count > 0 {
            screen.line(&format!("  {}  {what}", right(&thousands(count), 12)));
        }
    }
    let bytes = right(&thousands(done.bytes), 12);
    screen.line(&format!("  {bytes}  bytes of files"));
    lost::section(&mut screen, "What the kernel would not use", lost);
    if !done.not.is_empty() {
        let all = done.not.len();
        let about = match all {
            0..=NOT_AS_THEY_WERE => String::new(),
            _ => format!("the first {NOT_AS_THEY_WERE} of {all}; --json has them all"),
        };
        screen.heading("Not as they were", &about);
        for not in done.not.iter().take(NOT_AS_THEY_WERE) {
            let ansi = if not.why.is_loss() { BAD } else { WARN };
            let path = not.path.escape_ascii();
            screen.wrapped(
                "",
                2,
                ansi,
                &format!("{path}: {}", words::not_extracted(&not.why)),
            );
        }
        if done.not.iter().any(|n| !n.why.is_loss()) {
            screen.wrapped("", 2, WARN, "Owners and most attributes need root.");
        }
    }
    screen.finish()
}
