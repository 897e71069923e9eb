//! The files that say what a recording changed, and how to put it back.

use super::error::RecordingError;
use super::kernel::put;
use super::owner::Owner;
use crate::error::FileError;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The first word of a file of what was changed, and the version that is written.
/// Version 1 did not name the owner.
pub(super) const KIND: &str = "firstlight-changed-settings";
pub(super) const VERSION: &str = "2";

/// What such a file's name begins with; its owner follows.
pub(super) const CHANGED: &str = "changed-";

/// What its name begins with until all of it is written.
pub(super) const UNWRITTEN: &str = "new-";

/// What a file of changed settings says.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// Who changed them.
    pub owner: Option<Owner>,
    /// The trace instance.
    instance: Option<PathBuf>,
    /// Files, and what was in them.
    settings: Vec<(PathBuf, String)>,
}

impl Changed {
    /// Reads `file`; `None` if there is none.
    pub fn read(file: &Path) -> Result<Option<Self>, RecordingError> {
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(FileError::of(file, "cannot be read")(e).into()),
        };
        let mut lines = text.lines();
        let kind = lines.next().and_then(|l| l.split_once(' '));
        if !matches!(kind, Some((KIND, "1" | VERSION))) {
            return Err(RecordingError::Kind {
                file: file.to_owned(),
                kind: KIND,
            });
        }
        let mut changed = Self::default();
        for line in lines {
            match line.split_once(' ') {
                Some(("owner", owner)) => changed.owner = Owner::read(owner),
                Some(("instance", path)) => changed.instance = Some(path.into()),
                Some(("set", rest)) => {
                    let setting = rest.rsplit_once(' ');
                    let setting = setting.map(|(path, value)| (path.into(), value.to_owned()));
                    changed.settings.extend(setting);
                }
                _ => {}
            }
        }
        Ok(Some(changed))
    }

    /// Puts back all of it: how many settings.
    fn restore(&self) -> Result<usize, RecordingError> {
        if let Some(instance) = &self.instance {
            remove_instance(instance);
        }
        let mut failed = Vec::new();
        let mut restored = 0;
        // A device that is gone has no setting.
        for (path, value) in self.settings.iter().filter(|(path, _)| path.exists()) {
            match put(path, value) {
                Ok(()) => restored += 1,
                Err(e) => failed.push(format!("{}: cannot restore `{value}`: {e}", path.display())),
            }
        }
        match failed.is_empty() {
            true => Ok(restored),
            false => Err(RecordingError::Restore {
                why: failed.join("; "),
            }),
        }
    }
}

/// Puts back what `file` says, and removes it: how many settings; `None` if it is
/// gone.
pub(super) fn restore(file: &Path) -> Result<Option<usize>, RecordingError> {
    let Some(changed) = Changed::read(file)? else {
        return Ok(None);
    };
    let over = changed
        .owner
        .as_ref()
        .is_some_and(Owner::is_of_another_boot);
    let done = match over {
        // The boot took its settings along.
        true => Ok(0),
        false => changed.restore(),
    };
    fs::remove_file(file).ok();
    done.map(Some)
}

/// Removes a trace instance; whether it is gone. It goes when nobody reads from it;
/// a reader that was killed a moment ago may still count.
pub(super) fn remove_instance(path: &Path) -> bool {
    put(&path.join("tracing_on"), "0").ok();
    for _ in 0..100 {
        match fs::remove_dir(path) {
            Err(e) if e.kind() == std::io::ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            _ => break,
        }
    }
    !path.exists()
}
