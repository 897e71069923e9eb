//! One recording at a time.

use super::error::RecordingError;
use crate::error::FileError;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The file's name.
pub const NAME: &str = "recording.lock";

/// A file that only one process has, and the process that guards it. The kernel
/// lets go of it when both are gone; a file that is left means nothing.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock of `folder`, which is made. Waits up to `patience` for another
    /// one that is being let go.
    pub fn take(folder: &Path, patience: Duration) -> Result<Self, RecordingError> {
        let path = folder.join(NAME);
        let end = Instant::now() + patience;
        loop {
            fs::create_dir_all(folder).map_err(FileError::of(folder, "cannot be created"))?;
            let file = match File::create(&path) {
                Ok(file) => file,
                // Who had it before has just removed the folder.
                Err(e) if e.kind() == ErrorKind::NotFound && Instant::now() < end => continue,
                Err(e) => return Err(FileError::of(&path, "cannot be created")(e).into()),
            };
            match file.try_lock() {
                // Who had it before may have removed it: then it is nobody's.
                Ok(()) if is_at(&file, &path) => return Ok(Self { file, path }),
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => return Err(RecordingError::Busy),
                Err(TryLockError::Error(e)) => {
                    return Err(FileError::of(&path, "cannot be locked")(e).into());
                }
            }
        }
    }

    /// The same lock, for a process that is started: it is held until both let go.
    pub fn share(&self) -> std::io::Result<File> {
        self.file.try_clone()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes a lock file that the caller holds, and its folder if nothing else is in it.
pub fn remove(path: &Path) {
    fs::remove_file(path).ok();
    if let Some(folder) = path.parent() {
        fs::remove_dir(folder).ok();
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(a), Ok(b)) = (file.metadata(), fs::metadata(path)) else {
        return false;
    };
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(test)]
mod tests {
    use super::{Lock, RecordingError};
    use std::time::Duration;

    #[test]
    fn only_one_has_it_and_nothing_is_left() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("run");
        let first = Lock::take(&folder, Duration::ZERO).unwrap();
        let second = Lock::take(&folder, Duration::from_millis(30));
        assert!(matches!(second, Err(RecordingError::Busy)));
        // Whom it is shared with holds it too.
        let shared = first.share().unwrap();
        let path = first.path.clone();
        std::mem::forget(first);
        assert!(Lock::take(&folder, Duration::ZERO).is_err());
        super::remove(&path);
        drop(shared);
        // One that was let go and left is nobody's.
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&path, "").unwrap();
        drop(Lock::take(&folder, Duration::ZERO).unwrap());
        assert!(!folder.exists());
    }
}
