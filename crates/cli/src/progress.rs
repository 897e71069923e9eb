//! Progress on a terminal; nothing into a pipe.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

static BAR: OnceLock<ProgressBar> = OnceLock::new();

/// The one line of progress at the bottom of the terminal. It draws nothing
/// where standard error is no terminal.
pub fn bar() -> &'static ProgressBar {
    BAR.get_or_init(|| {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        let style = ProgressStyle::with_template("{spinner} {elapsed:>4} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar
    })
}

/// Says what is being done now.
pub fn say(what: impl Into<String>) {
    // Each call makes a thread that nobody would see the work of.
    if bar().is_hidden() {
        return;
    }
    bar().enable_steady_tick(Duration::from_millis(125));
    bar().set_message(what.into());
}

/// Says how many percent of `path` were read.
pub fn reading(path: &Path) -> impl Fn(u64) + Sync {
    let shown = path.display().to_string();
    move |done| say(format!("reading {shown}: {done} %"))
}

/// Says that `path` is being mapped.
pub fn mapping(path: &Path) {
    say(format!("mapping {}", path.display()));
}

/// Says that something is done, in a line that stays. A pipe gets it as well
/// where `always` is set: a log of a long run should not be silent.
pub fn done(what: &str, always: bool) {
    if bar().is_hidden() {
        if always {
            anstream::eprintln!("{what}");
        }
    } else {
        bar().println(what);
    }
}

/// Takes the line away.
pub fn clear() {
    if let Some(bar) = BAR.get() {
        bar.finish_and_clear();
    }
}
