//! Settings of the kernel that are changed while something is recorded, and come
//! back whatever happens.
//!
//! Before anything is changed, a file below `/run` says what it was. It goes when
//! all is restored. If this program is killed, a second process that waits for
//! just that restores from the file; if both are, the next one that [sweeps]
//! does.
//!
//! [sweeps]: super::sweep

use super::changed::{CHANGED, KIND, UNWRITTEN, VERSION, restore};
use super::error::RecordingError;
use super::lock::{self, Lock};
use super::owner::Owner;
use super::sweep::{Places, Swept, sweep_held};
use crate::error::FileError;
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

/// How long a recording waits for one that is ending, or whose guard restores.
const PATIENCE: Duration = Duration::from_secs(3);

/// What was changed, and how it comes back.
#[derive(Debug)]
pub(super) struct Settings {
    file: PathBuf,
    owner: Owner,
    guard: Option<(Child, ChildStdin)>,
    lock: Lock,
}

impl Settings {
    /// Makes sure that there is no other recording now, and restores what dead ones
    /// left; says what that was.
    pub(super) fn begin(owner: &Owner, places: &Places) -> Result<(Self, Swept), RecordingError> {
        let lock = Lock::take(&places.state, PATIENCE)?;
        let swept = sweep_held(places);
        let settings = Self {
            file: places.state.join(format!("{CHANGED}{owner}")),
            owner: owner.clone(),
            guard: None,
            lock,
        };
        Ok((settings, swept))
    }

    /// Notes the present values of `files` and the trace instance `instance`,
    /// which is going to be made, and starts the process that restores them.
    pub(super) fn note(
        &mut self,
        files: &[PathBuf],
        instance: &Path,
    ) -> Result<(), RecordingError> {
        let owner = &self.owner;
        let mut text = format!(
            "{KIND} {VERSION}\nowner {owner}\ninstance {}\n",
            instance.display()
        );
        for path in files {
            let shown = path.display();
            let value = fs::read_to_string(path).map_err(FileError::of(path, "cannot be read"))?;
            text += &format!("set {shown} {}\n", value.trim());
        }
        // Whole or not at all: half of it would restore half.
        let new = self.file.with_file_name(format!("{UNWRITTEN}{owner}"));
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &self.file));
        written.map_err(FileError::of(&self.file, "cannot be written"))?;
        let guarded = |why| RecordingError::Guard { why };
        let program = std::env::current_exe().map_err(guarded)?;
        let mut guard = Command::new(program)
            .args(["prefetch", "guard"])
            .arg(&self.file)
            .stdin(Stdio::piped())
            // It says nothing, and holds the lock for as long as it may restore.
            .stdout(Stdio::from(self.lock.share().map_err(guarded)?))
            .stderr(Stdio::null())
            // Ctrl-C is for the others.
            .process_group(0)
            .spawn()
            .map_err(guarded)?;
        let pipe = guard.stdin.take();
        let pipe = pipe.ok_or_else(|| guarded(std::io::ErrorKind::BrokenPipe.into()))?;
        self.guard = Some((guard, pipe));
        Ok(())
    }

    /// Restores all.
    pub(super) fn restore(&mut self) -> Result<(), RecordingError> {
        let done = restore(&self.file);
        if let Some((mut guard, pipe)) = self.guard.take() {
            drop(pipe);
            guard.wait().ok();
        }
        done.map(|_| ())
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        if self.file.exists() {
            self.restore().ok();
        }
    }
}

/// The second process: waits until the first is gone, and restores what it left.
///
/// # Errors
/// If not all can be restored.
pub fn guard(file: &Path) -> Result<(), RecordingError> {
    let mut nothing = Vec::new();
    std::io::stdin().read_to_end(&mut nothing).ok();
    let restored = restore(file)?;
    if restored.is_some() {
        lock::remove(&file.with_file_name(lock::NAME));
    }
    Ok(())
}
