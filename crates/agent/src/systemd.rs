//! Whether systemd starts the services of a root.

use std::path::Path;

/// Where its program lies, with a merged `/usr` and without.
pub const PROGRAMS: [&str; 2] = ["usr/lib/systemd/systemd", "lib/systemd/systemd"];

/// Whether the root in this folder has it. A link counts, wherever it leads: in another root
/// it may lead to nothing.
#[must_use]
pub fn is_in(root: &Path) -> bool {
    let has = |path: &&str| root.join(path).symlink_metadata().is_ok();
    PROGRAMS.iter().any(has)
}
