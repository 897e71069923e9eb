//! Settings of the kernel that are changed while something is recorded, and come
//! back whatever happens.
//!
//! Before anything is changed, a file below `/run` says what it was. It goes when
//! all is restored. If this program is killed, a second process that waits for
//! just that restores from the file; if both are, the next recording does.

use anyhow::{Context, Result, bail};
use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Where recordings say what they changed. It is empty after a restart, and so
/// are the changes.
const FOLDER: &str = "/run/firstlight";

/// The first line of a file of what was changed.
const KIND: &str = "firstlight-changed-settings 1";

/// What was changed, and how it comes back.
#[derive(Debug)]
pub struct Settings {
    file: PathBuf,
    guard: Option<(Child, ChildStdin)>,
    _lock: File,
}

impl Settings {
    /// Restores what an earlier recording left, and makes sure that there is no
    /// other one now.
    pub fn begin() -> Result<Self> {
        let folder = Path::new(FOLDER);
        fs::create_dir_all(folder).with_context(|| format!("{FOLDER}: cannot be made"))?;
        let path = folder.join("recording.lock");
        let lock =
            File::create(&path).with_context(|| format!("{}: cannot be made", path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "another recording runs on this machine; both would change the same settings: \
                 wait until it ends"
            ),
            Err(TryLockError::Error(e)) => {
                return Err(e).with_context(|| format!("{}: cannot be locked", path.display()));
            }
        }
        restore_left();
        Ok(Self {
            file: folder.join(format!("changed-{}", std::process::id())),
            guard: None,
            _lock: lock,
        })
    }

    /// Notes the present values of `files` and the trace instance `instance`,
    /// which is going to be made, and starts the process that restores them.
    pub fn note(&mut self, files: &[PathBuf], instance: &Path) -> Result<()> {
        let mut text = format!("{KIND}\ninstance {}\n", instance.display());
        for path in files {
            let shown = path.display();
            let value =
                fs::read_to_string(path).with_context(|| format!("{shown}: cannot be read"))?;
            text += &format!("set {shown} {}\n", value.trim());
        }
        fs::write(&self.file, text)
            .with_context(|| format!("{}: cannot be written", self.file.display()))?;
        let program = std::env::current_exe().context("this program's own file cannot be found")?;
        let mut guard = Command::new(program)
            .args(["prefetch", "guard"])
            .arg(&self.file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for the others.
            .process_group(0)
            .spawn()
            .context("the process that restores settings cannot be started")?;
        let pipe = guard.stdin.take().context("it has no standard input")?;
        self.guard = Some((guard, pipe));
        Ok(())
    }

    /// Restores all.
    pub fn restore(&mut self) -> Result<()> {
        let done = restore(&self.file);
        if let Some((mut guard, pipe)) = self.guard.take() {
            drop(pipe);
            guard.wait().ok();
        }
        done
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
pub fn guard(file: &Path) -> Result<()> {
    let mut nothing = Vec::new();
    std::io::stdin().read_to_end(&mut nothing).ok();
    restore(file)
}

/// Restores what recordings left that nobody guards any more.
fn restore_left() {
    for entry in fs::read_dir(FOLDER).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("changed-") {
            restore(&entry.path()).ok();
        }
    }
}

/// Puts back what `file` says, and removes it. Nothing to do if it is gone.
fn restore(file: &Path) -> Result<()> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e).with_context(|| format!("{}: cannot be read", file.display())),
    };
    let mut lines = text.lines();
    if lines.next() != Some(KIND) {
        bail!("{}: expected `{KIND}` in its first line", file.display());
    }
    let mut failed = Vec::new();
    for line in lines {
        if let Some(instance) = line.strip_prefix("instance ") {
            remove_instance(Path::new(instance));
        } else if let Some((path, value)) =
            line.strip_prefix("set ").and_then(|l| l.rsplit_once(' '))
            // A device that is gone has no setting.
            && Path::new(path).exists()
            && let Err(e) = put(Path::new(path), value)
        {
            failed.push(format!("{path} does not take `{value}` back: {e}"));
        }
    }
    fs::remove_file(file).ok();
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("{}", failed.join("; ")),
    }
}

/// A file of the kernel is written at once, and never made.
pub fn put(path: &Path, value: &str) -> std::io::Result<()> {
    File::options()
        .write(true)
        .open(path)?
        .write_all(value.as_bytes())
}

/// A trace instance goes when nobody reads from it; a reader that was killed a
/// moment ago may still count.
fn remove_instance(path: &Path) {
    put(&path.join("tracing_on"), "0").ok();
    for _ in 0..100 {
        match fs::remove_dir(path) {
            Err(e) if e.kind() == std::io::ErrorKind::ResourceBusy => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            _ => return,
        }
    }
}
