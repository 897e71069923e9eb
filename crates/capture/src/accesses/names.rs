//! From the kernel's names of files, device and inode, to paths.
//!
//! Whoever opens a file is seen by fanotify, and the file is asked for its path
//! there and then: it may have another one later, or none. Files that were open
//! already are looked for among those of the recorded program, and then in the
//! whole filesystem.

use super::event::Device;
use super::mounts::Mount;
use super::touched::Key;
use agent::access::Identity;
use agent::opens::{Opens, generation};
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, major, minor};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file as it was when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its path, without links.
    pub path: PathBuf,
    /// Size, time and inode, then.
    pub identity: Identity,
}

/// What is known of files' names.
#[derive(Debug)]
pub struct Names {
    opens: Option<Opens>,
    mounts: Vec<Mount>,
    seen: HashSet<(u64, u64)>,
    /// The names of files.
    pub files: HashMap<Key, Name>,
    /// Directories, and who opened them.
    directories: HashSet<(u64, u64, u32)>,
}

impl Names {
    /// Watches everything that has storage. A kernel that cannot is no reason not
    /// to record: files are looked for afterwards.
    pub fn watch(mounts: Vec<Mount>) -> Self {
        let opens = Opens::new().ok();
        let mut watched = HashSet::new();
        for mount in &mounts {
            if let Some(opens) = &opens
                && watched.insert(mount.device)
            {
                // A mount that went, or that nobody may look into, has no files.
                opens.watch(&mount.place).ok();
            }
        }
        Self {
            opens,
            mounts,
            seen: HashSet::new(),
            files: HashMap::new(),
            directories: HashSet::new(),
        }
    }

    /// Takes what was opened since the last call.
    pub fn gather(&mut self) {
        let Some(mut opens) = self.opens.take() else {
            return;
        };
        while let Ok(events) = opens.take()
            && !events.is_empty()
        {
            for open in &events {
                self.file(&open.file, open.pid.cast_unsigned());
            }
        }
        self.opens = Some(opens);
    }

    /// How many directories these processes opened.
    pub fn directories_of(&self, pids: &HashSet<u32>) -> u64 {
        let of = self.directories.iter().filter(|d| pids.contains(&d.2));
        of.map(|d| (d.0, d.1)).collect::<HashSet<_>>().len() as u64
    }

    /// Stops watching.
    pub fn unwatch(&mut self) {
        self.opens = None;
    }

    fn file(&mut self, file: impl AsFd, pid: u32) {
        let Ok(stat) = fstat(&file) else { return };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => {
                self.directories.insert((stat.st_dev, stat.st_ino, pid));
                return;
            }
            _ => return,
        }
        if !self.seen.insert((stat.st_dev, stat.st_ino)) {
            return;
        }
        let fd = file.as_fd().as_raw_fd();
        let Ok(path) = fs::read_link(format!("/proc/self/fd/{fd}")) else {
            return;
        };
        // One that has no name any more is not there at the next boot.
        if stat.st_nlink == 0 || !path.is_absolute() {
            return;
        }
        let Some(device) = self.device_of(fd, stat.st_dev) else {
            return;
        };
        let identity = identity(&stat, &file);
        let name = Name { path, identity };
        self.files.entry((device, stat.st_ino)).or_insert(name);
    }

    /// The filesystem's device. `stat` invents one for each subvolume of btrfs;
    /// there, the mount tells.
    fn device_of(&self, fd: i32, st_dev: u64) -> Option<Device> {
        let device = (major(st_dev), minor(st_dev));
        if device.0 != 0 {
            return Some(device);
        }
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
        let id = info.lines().find_map(|l| l.strip_prefix("mnt_id:"))?;
        let id: u64 = id.trim().parse().ok()?;
        let mount = self.mounts.iter().find(|m| m.id == id);
        Some(mount.map_or(device, |m| m.device))
    }

    /// Files that the process has open already: what it was given.
    pub fn inherited(&mut self, pid: u32) {
        for entry in fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
        {
            let Ok(entry) = entry else { continue };
            if entry.path().metadata().is_ok_and(|m| m.is_file()) {
                self.look_at(&entry.path());
            }
        }
    }

    fn look_at(&mut self, path: &Path) {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOATIME;
        if let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) {
            self.file(file, 0);
        }
    }

    /// The names in `wanted` that are still unknown, looked for in the whole of
    /// their filesystems. Gives up a filesystem when all are found.
    pub fn search(&mut self, wanted: &HashSet<Key>) {
        let mut places: HashMap<Device, (PathBuf, HashSet<u64>)> = HashMap::new();
        for (device, inode) in wanted.iter().filter(|k| !self.files.contains_key(k)) {
            let mut mounts = self.mounts.iter().filter(|m| m.device == *device);
            let whole = mounts.clone().find(|m| m.root == Path::new("/"));
            if let Some(mount) = whole.or_else(|| mounts.next()) {
                let place = places.entry(*device);
                let place = place.or_insert_with(|| (mount.place.clone(), HashSet::new()));
                place.1.insert(*inode);
            }
        }
        for (root, mut inodes) in places.into_values() {
            let Ok(st_dev) = fs::symlink_metadata(&root).map(|m| m.dev()) else {
                continue;
            };
            let mut folders = vec![root];
            while let Some(folder) = folders.pop()
                && !inodes.is_empty()
            {
                for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                    use std::os::unix::fs::DirEntryExt;
                    let Ok(kind) = entry.file_type() else {
                        continue;
                    };
                    let path = entry.path();
                    if kind.is_dir() {
                        if entry.metadata().is_ok_and(|m| m.dev() == st_dev) {
                            folders.push(path);
                        }
                    } else if kind.is_file() && inodes.remove(&entry.ino()) {
                        self.look_at(&path);
                    }
                }
            }
        }
    }

    /// The mount whose device is the block device with this inode number, if any:
    /// the kernel gives a block device its own number as inode number.
    pub fn mount_of_block_device(&self, key: Key) -> Option<&Mount> {
        let ((major, _), inode) = key;
        let (of_major, of_minor) = (
            u32::try_from(inode >> 20).ok()?,
            u32::try_from(inode & 0xf_ffff).ok()?,
        );
        // Block devices live on a filesystem of the kernel's own.
        let mut mounts = self
            .mounts
            .iter()
            .filter(|m| major == 0 && of_major != 0 && m.device == (of_major, of_minor));
        let whole = mounts.clone().find(|m| m.root == Path::new("/"));
        whole.or_else(|| mounts.next())
    }
}

fn identity(stat: &Stat, file: impl AsFd) -> Identity {
    Identity::File {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mtime_s: stat.st_mtime,
        mtime_ns: u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
        inode: stat.st_ino,
        generation: generation(file).unwrap_or(0),
    }
}

/// How the file at `path` is known again; `None` if it is not a file that can be
/// opened.
pub fn identity_of(path: &Path) -> Option<Identity> {
    let file = File::open(path).ok()?;
    let stat = fstat(&file).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then(|| identity(&stat, &file))
}

/// The bytes of a path.
pub fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

/// Size and time of the file at `path` now; whether it is still the same is for
/// the caller to say.
pub fn changed_since(path: &Path, start_ns: i128) -> Option<bool> {
    let meta = File::open(path).and_then(|f| f.metadata()).ok()?;
    let mtime = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    Some(mtime >= start_ns)
}
