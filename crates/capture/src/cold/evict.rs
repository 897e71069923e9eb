//! Making a start cold: all caches dropped, or the program's own files evicted.

use super::start::StartError;
use crate::accesses::kernel::drop_caches;
use crate::error::FileError;
use agent::resident::resident;
use rustix::fs::{Advice, fadvise};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How a start is made cold.
#[derive(Debug)]
pub enum Eviction {
    /// All caches of the machine are dropped. Only root can.
    Drop,
    /// These files' pages are evicted, as far as nobody else has them mapped, and
    /// nothing of directories and inodes.
    Files(BTreeSet<PathBuf>),
}

impl Eviction {
    /// The word of every output.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Drop => "drop_caches",
            Self::Files(_) => "fadvise",
        }
    }

    /// Does it. What is not on the disk yet goes there first: it could not be
    /// evicted else.
    ///
    /// # Errors
    /// If the caches cannot be dropped.
    pub fn evict(&self) -> Result<(), FileError> {
        match self {
            Self::Drop => {
                rustix::fs::sync();
                drop_caches()
            }
            Self::Files(files) => {
                for path in files {
                    // One that went away is not in memory either.
                    if let Ok(file) = File::open(path) {
                        rustix::fs::fdatasync(&file).ok();
                        fadvise(&file, 0, None, Advice::DontNeed).ok();
                    }
                }
                Ok(())
            }
        }
    }

    /// Bytes of the files that stayed in memory, for those that were named.
    pub fn stayed(&self) -> Option<u64> {
        let Self::Files(files) = self else {
            return None;
        };
        let page = u32::try_from(rustix::param::page_size()).unwrap_or(4096);
        let stayed = files.iter().filter_map(|path| {
            let file = File::open(path).ok()?;
            let length = file.metadata().ok()?.len();
            let pages = resident(&file, length, page).ok()?;
            Some(pages.iter().filter(|p| **p).count() as u64 * u64::from(page))
        });
        Some(stayed.sum())
    }
}

/// The files that `command` and its children have open or mapped while they run,
/// seen by looking again and again.
///
/// # Errors
/// If it cannot be started.
pub fn files_of(command: &mut Command) -> Result<BTreeSet<PathBuf>, StartError> {
    let mut child = command.spawn().map_err(StartError::of(command))?;
    let mut files = BTreeSet::new();
    loop {
        let mut pids = vec![child.id()];
        while let Some(pid) = pids.pop() {
            of_process(pid, &mut files);
            let path = format!("/proc/{pid}/task/{pid}/children");
            let children = fs::read_to_string(path).unwrap_or_default();
            pids.extend(
                children
                    .split_whitespace()
                    .filter_map(|p| p.parse::<u32>().ok()),
            );
        }
        if child.try_wait().map_err(StartError::wait)?.is_some() {
            return Ok(files);
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

fn of_process(pid: u32, files: &mut BTreeSet<PathBuf>) {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mapped = maps
        .lines()
        .filter_map(|l| l.find('/').and_then(|at| l.get(at..)));
    let mut found: Vec<PathBuf> = mapped.map(PathBuf::from).collect();
    let open = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    found.extend(open.flatten().filter_map(|e| fs::read_link(e.path()).ok()));
    let new = found
        .into_iter()
        .filter(|p| p.is_absolute() && !files.contains(p));
    let new: Vec<PathBuf> = new.filter(|p| p.is_file()).collect();
    files.extend(new);
}
