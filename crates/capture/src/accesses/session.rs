//! A private trace instance for the page cache's events of one program and its
//! children. The rings of others are not touched.

use super::error::RecordingError;
use super::kernel::put;
use super::owner::Owner;
use crate::error::FileError;
use agent::trace::Tracefs;
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The events, and whether a list can be exact without them.
const EVENTS: [&str; 4] = ["add_to_page_cache", "fault", "get_pages", "map_pages"];

/// How large each processor's ring is. It is emptied all the time.
const BUFFER_KB: &str = "16384";

/// What the name of an instance begins with; its owner follows.
pub(super) const INSTANCE: &str = "firstlight-";

/// The instance.
#[derive(Debug)]
pub struct Session {
    path: PathBuf,
    /// Whether the kernel tells touches from what merely came into memory.
    pub tells_touches: bool,
    _tracefs: Tracefs,
}

impl Session {
    /// Where the instance of this process will be.
    pub fn place(tracefs: &Tracefs, owner: &Owner) -> Result<PathBuf, RecordingError> {
        let events = tracefs.path().join("events/filemap");
        if !events.join("mm_filemap_add_to_page_cache").exists() {
            return Err(RecordingError::Events { folder: events });
        }
        let name = format!("{INSTANCE}{owner}");
        Ok(tracefs.path().join("instances").join(name))
    }

    /// Makes the instance; nothing is recorded yet.
    pub fn make(tracefs: Tracefs, path: PathBuf) -> Result<Self, RecordingError> {
        fs::create_dir(&path).map_err(FileError::of(&path, "cannot be created"))?;
        let mut session = Self {
            path,
            tells_touches: true,
            _tracefs: tracefs,
        };
        session.set("tracing_on", "0")?;
        session.set("trace_clock", "mono")?;
        session.set("buffer_size_kb", BUFFER_KB)?;
        session.set("options/event-fork", "1")?;
        for event in EVENTS {
            let file = format!("events/filemap/mm_filemap_{event}/enable");
            if session.path.join(&file).exists() {
                session.set(&file, "1")?;
            } else {
                session.tells_touches = false;
            }
        }
        Ok(session)
    }

    fn set(&self, file: &str, value: &str) -> Result<(), RecordingError> {
        let path = self.path.join(file);
        put(&path, value).map_err(RecordingError::refused(&path, value))
    }

    /// The two files that a child writes to begin: its own number into the first,
    /// "1" into the second.
    pub fn begin(&self) -> Result<(File, File), RecordingError> {
        let open = |name: &str| {
            let path = self.path.join(name);
            let file = File::options().write(true).open(&path);
            file.map_err(FileError::of(&path, "cannot be opened"))
        };
        Ok((open("set_event_pid")?, open("tracing_on")?))
    }

    /// Records nothing more.
    pub fn end(&self) -> Result<(), RecordingError> {
        self.set("tracing_on", "0")
    }

    /// What was recorded, as text, line by line.
    pub fn lines(&self) -> Result<Lines, RecordingError> {
        Lines::open(&self.path.join("trace_pipe"))
    }
}

/// Lines of `trace_pipe`, as they come.
#[derive(Debug)]
pub struct Lines {
    file: File,
    piece: Vec<u8>,
    kept: Vec<u8>,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, RecordingError> {
        let mut options = File::options();
        options.read(true);
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = options.open(path);
        Ok(Self {
            file: file.map_err(FileError::of(path, "cannot be opened"))?,
            piece: vec![0; 64 << 10],
            kept: Vec::new(),
        })
    }

    /// Gives every whole line that there is now to `take`.
    pub fn drain(&mut self, mut take: impl FnMut(&str)) -> std::io::Result<()> {
        loop {
            let n = match self.file.read(&mut self.piece) {
                Ok(0) => return Ok(()),
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            self.kept
                .extend_from_slice(self.piece.get(..n).unwrap_or_default());
            let end = memchr::memrchr(b'\n', &self.kept).map_or(0, |at| at + 1);
            for line in self
                .kept
                .get(..end)
                .unwrap_or_default()
                .split(|b| *b == b'\n')
            {
                take(&String::from_utf8_lossy(line));
            }
            self.kept.drain(..end);
        }
    }
}
