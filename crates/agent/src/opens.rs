//! Which files are opened, by anybody, on some filesystems: fanotify(7).
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

/// Told of every open of a file or a directory.
#[derive(Debug)]
pub struct Opens {
    file: File,
}

/// One open.
#[derive(Debug)]
pub struct Open {
    /// The file, open for reading here too. No content of it was read for that.
    pub file: OwnedFd,
    /// The process that opened it.
    pub pid: i32,
}

/// The kernel's `struct fanotify_event_metadata` (`linux/fanotify.h`): length (4
/// bytes), version, reserved, length of this structure (2), mask (8), file (4),
/// process (4).
const EVENT_BYTES: usize = 24;
const EVENT_VERSION: u8 = 3;

impl Opens {
    /// Told of nothing yet. Only root may ask.
    ///
    /// # Errors
    /// If the kernel has no fanotify, or the caller may not use it.
    pub fn new() -> io::Result<Self> {
        let kind = libc::FAN_CLASS_NOTIF
            | libc::FAN_CLOEXEC
            | libc::FAN_NONBLOCK
            | libc::FAN_UNLIMITED_QUEUE;
        let opened = libc::O_RDONLY | libc::O_LARGEFILE | libc::O_CLOEXEC | libc::O_NOATIME;
        // SAFETY: both arguments are plain numbers, and what comes back is a new
        // file that nobody else has.
        let file = unsafe {
            let fd = libc::fanotify_init(kind, opened.cast_unsigned());
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(fd)
        };
        Ok(Self { file })
    }

    /// From now on told of opens on the whole filesystem that `mount` is on; on a
    /// kernel before 4.20 only of those through this mount.
    ///
    /// # Errors
    /// If there is no such place, or its filesystem cannot be watched.
    pub fn watch(&self, mount: &Path) -> io::Result<()> {
        let path = std::ffi::CString::new(mount.as_os_str().as_encoded_bytes())?;
        let mask = libc::FAN_OPEN | libc::FAN_ONDIR;
        let mut why = io::Error::other("no attempt was made");
        for whole in [libc::FAN_MARK_FILESYSTEM, libc::FAN_MARK_MOUNT] {
            // SAFETY: the path is a C string that outlives the call.
            let done = unsafe {
                libc::fanotify_mark(
                    self.file.as_raw_fd(),
                    libc::FAN_MARK_ADD | whole,
                    mask,
                    libc::AT_FDCWD,
                    path.as_ptr(),
                )
            };
            if done == 0 {
                return Ok(());
            }
            why = io::Error::last_os_error();
        }
        Err(why)
    }

    /// What was opened since the last call, at most so much as fits a read. Empty
    /// if nothing was.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn take(&mut self) -> io::Result<Vec<Open>> {
        let mut bytes = [0u8; 16 << 10];
        let n = match self.file.read(&mut bytes) {
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => 0,
            Err(e) => return Err(e),
        };
        let mut rest = bytes.get(..n).unwrap_or_default();
        let mut opens = Vec::new();
        while let Some((event, _)) = rest.split_first_chunk::<EVENT_BYTES>() {
            let int = |at: usize| {
                let bytes = event.get(at..).and_then(|b| b.first_chunk::<4>());
                bytes.map_or(0, |b| i32::from_ne_bytes(*b))
            };
            let length = usize::try_from(int(0)).unwrap_or(0).max(EVENT_BYTES);
            let (fd, pid) = (int(16), int(20));
            if event.get(4) == Some(&EVENT_VERSION) && fd >= 0 {
                // SAFETY: the kernel opened this file for this event, and nobody
                // else closes it.
                let file = unsafe { OwnedFd::from_raw_fd(fd) };
                opens.push(Open { file, pid });
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(opens)
    }
}

impl AsFd for Opens {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The generation of a file's inode number, which tells a new file from the old
/// one that had the number before; `None` where the filesystem has none.
#[must_use]
pub fn generation(file: impl AsFd) -> Option<u32> {
    // `FS_IOC_GETVERSION` of `linux/fs.h`: _IOR('v', 1, long). Some architectures
    // write "to the program" as 2 in three bits, not in two.
    let longs = size_of::<libc::c_long>() as u32;
    let read = if cfg!(any(
        target_arch = "mips",
        target_arch = "mips64",
        target_arch = "powerpc",
        target_arch = "powerpc64",
        target_arch = "sparc64"
    )) {
        2 << 29
    } else {
        2 << 30
    };
    let request: u32 = read | longs << 16 | u32::from(b'v') << 8 | 1;
    let mut value: libc::c_long = 0;
    // SAFETY: the kernel writes at most a long at the pointer, which outlives the
    // call. (It writes an int; the lower half is taken.)
    let done = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), request as _, &raw mut value) };
    let bytes = value.to_ne_bytes();
    let int = bytes.first_chunk::<4>().map(|b| u32::from_ne_bytes(*b));
    int.filter(|_| done == 0)
}
