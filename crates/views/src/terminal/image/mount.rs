//! What mounting a filesystem costs, in words.

use crate::words::{nanos, plural, size, thousands};
use inspect::mounting::Mount;

fn time(ns: u64) -> String {
    nanos(ns).to_string()
}

/// What a mount costs, in a sentence.
pub(super) fn sentence(mount: &Mount) -> String {
    let moved = |n: u64, word: &str, bytes: u64| {
        let word = plural(usize::try_from(n).unwrap_or(usize::MAX), word);
        let (n, bytes) = (thousands(n), size(bytes));
        format!("{n} {word} of {bytes}")
    };
    let reads = moved(mount.reads, "read", mount.read_bytes);
    let mut text = format!("{}, {}: {reads}", mount.filesystem, mount.state.name());
    if mount.writes > 0 {
        let writes = moved(mount.writes, "write", mount.written_bytes);
        text.push_str(&format!(", {writes}"));
    }
    let about = if mount.is_whole { "about" } else { "at least" };
    text.push_str(&format!(
        ", {about} {} on {}",
        time(mount.total_ns),
        mount.storage
    ));
    if let Some(percent) = mount.error_percent {
        text.push_str(&format!(" (+- {percent} %)"));
    } else if !mount.is_whole {
        text.push_str(" (without the replay)");
    } else {
        text.push_str(" (not checked)");
    }
    if let Some(ns) = mount.processor_ns {
        text.push_str(&format!(
            ", {} of it the processor's at 1000 MIPS",
            time(ns)
        ));
    }
    if !mount.is_named {
        text.push_str("; --storage names another");
    }
    text
}
