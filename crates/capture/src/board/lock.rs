//! One run at a time, and what it left on the board.

use super::error::BoardError;
use super::file::Board;
use crate::error::FileError;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where locks are, if the file does not say. All users may write there, and what a run left on
/// a board is still known after the host was started again.
const FOLDER: &str = "/var/tmp";

/// What a run writes into the lock: for whoever comes next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Who holds it, in words.
    pub owner: String,
    /// The variant that the run put onto the board and has not taken off; empty: the
    /// board has its baseline.
    pub deployed: String,
}

impl State {
    fn text(&self) -> String {
        format!("{}\n{}\n", self.owner, self.deployed)
    }

    fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let mut next = || lines.next().unwrap_or_default().to_owned();
        Self {
            owner: next(),
            deployed: next(),
        }
    }
}

/// A board that only this run uses. The kernel lets go of it when the program ends,
/// however that happens.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
    owner: String,
}

impl Lock {
    /// The lock's file of `board`.
    #[must_use]
    pub fn path(board: &Board) -> PathBuf {
        match &board.lock {
            Some(path) => path.clone(),
            None => {
                let folder = match Path::new(FOLDER).is_dir() {
                    true => PathBuf::from(FOLDER),
                    false => std::env::temp_dir(),
                };
                folder.join(format!("firstlight-board-{}.lock", board.name))
            }
        }
    }

    /// Takes the board's lock. Returns it, and what the run before left.
    ///
    /// # Errors
    /// If another run has it, or its file cannot be used.
    pub fn take(board: &Board) -> Result<(Self, State), BoardError> {
        let path = Self::path(board);
        let cannot = |e| FileError::of(&path, "cannot be used as a lock")(e);
        let mut file = open(&path).map_err(cannot)?;
        // Its name, too, must outlive a crash of the host.
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
            folder.sync_all().ok();
        }
        let before = read(&mut file).map_err(cannot)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let owner = match before.owner.as_str() {
                    "" => "another program".to_owned(),
                    owner => owner.to_owned(),
                };
                return Err(BoardError::Busy { path, owner });
            }
            Err(TryLockError::Error(e)) => return Err(cannot(e).into()),
        }
        let user = std::env::var("USER").unwrap_or_else(|_| "somebody".into());
        let owner = format!("{user}, process {}", std::process::id());
        Ok((Self { file, path, owner }, before))
    }

    /// What the lock says, without taking it, and whether somebody holds it.
    ///
    /// # Errors
    /// If its file cannot be read.
    pub fn look(board: &Board) -> Result<(State, bool), BoardError> {
        let path = Self::path(board);
        let cannot = |e| FileError::of(&path, "cannot be read")(e);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok((State::default(), false)),
            Err(e) => return Err(cannot(e).into()),
        };
        let state = read(&mut file).map_err(cannot)?;
        let held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        Ok((state, held))
    }

    /// Says what is on the board now: a variant, or nothing but the baseline.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn say(&mut self, deployed: &str) -> Result<(), BoardError> {
        let state = State {
            owner: self.owner.clone(),
            deployed: deployed.to_owned(),
        };
        let text = state.text();
        let mut write = || {
            self.file.set_len(0)?;
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(text.as_bytes())?;
            self.file.sync_data()
        };
        Ok(write().map_err(FileError::of(&self.path, "cannot be written"))?)
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    // One that another user made may be opened, but not with `O_CREAT` in a folder that
    // all may write to (`fs.protected_regular`).
    match File::options().read(true).write(true).open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o666)
            .open(path),
        opened => opened,
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A command that is being started has a copy of the file for a moment, and would hold
        // the lock until then.
        self.file.unlock().ok();
    }
}

fn read(file: &mut File) -> std::io::Result<State> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(4096).read_to_string(&mut text)?;
    Ok(State::read(&text))
}
