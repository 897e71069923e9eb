//! A file appears.

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Tells of whatever happens in the deepest folder on the way to the file that
/// there is.
#[derive(Debug)]
pub(super) struct FileWatch {
    path: PathBuf,
    inotify: OwnedFd,
    /// The folder that is watched, and the number of that watch.
    watched: Option<(PathBuf, i32)>,
}

impl FileWatch {
    pub(super) fn begin(path: &Path) -> io::Result<Self> {
        let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
        Ok(Self {
            path: path.to_owned(),
            inotify: inotify::init(flags)?,
            watched: None,
        })
    }

    pub(super) fn channel(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    pub(super) fn look(&mut self) -> bool {
        // What was told is of no interest, only that something was.
        let mut told = [0; 4096];
        while let Ok(1..) = rustix::io::read(&self.inotify, &mut told) {}
        self.watch_nearest_folder();
        // After the watch has begun, so that nothing comes between.
        self.path.exists()
    }

    fn watch_nearest_folder(&mut self) {
        let folders = self.path.ancestors().skip(1);
        let Some(nearest) = folders.into_iter().find(|f| f.is_dir()) else {
            return;
        };
        if let Some((_, number)) = self.watched.take_if(|w| w.0 != nearest) {
            // It may have gone with its folder.
            let _ = inotify::remove_watch(&self.inotify, number);
        }
        if self.watched.is_some() {
            return;
        }
        let what = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        // Without the kernel's telling, it is looked for from time to time.
        if let Ok(number) = inotify::add_watch(&self.inotify, nearest, what) {
            self.watched = Some((nearest.to_owned(), number));
        }
    }
}
