//! The bytes of a raw file: read, or mapped if it is large.

use memmap2::{Advice, Mmap};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// From this size on a file is mapped. To copy a log of 70 MB out of the
/// kernel's cache, into memory that must be cleared first, takes longer than
/// to understand it.
const MAPPED_FROM_BYTES: u64 = 8 << 20;

/// From this size on, together, mapped files are bounded in how much of them stays
/// in memory, bytes.
const BOUNDED_FROM_BYTES: u64 = 192 << 20;

/// How much of those may stay in memory, in bytes. They are read once, from end to
/// end.
const RESIDENT_BYTES: u64 = 64 << 20;

/// The largest raw file that is read, in bytes. Logs are far smaller; what is
/// larger is not a log, or not of one boot.
pub const MAX_RAW_BYTES: u64 = 1 << 30;

/// How often that is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How many bytes of a file of `length` are kept in our own memory; `None` for one that is
/// mapped.
pub(crate) fn kept(length: u64) -> Option<usize> {
    let length = Some(length).filter(|l| *l < MAPPED_FROM_BYTES);
    length.and_then(|l| usize::try_from(l).ok())
}

/// The bytes of a file.
pub enum Bytes {
    /// In our own memory.
    Read(Vec<u8>),
    /// In the kernel's cache.
    Mapped(Mmap),
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}

impl Bytes {
    /// All of `file`, which is said to hold `length` bytes and whose first
    /// bytes, `head`, were read from it already.
    pub fn of(file: File, head: Vec<u8>, length: u64, path: &Path) -> io::Result<Self> {
        let kept = kept(length);
        if kept.is_none() && file.metadata()?.is_file() {
            return Self::map(&file, path);
        }
        let mut bytes = head;
        bytes.reserve_exact(kept.unwrap_or(0).saturating_sub(bytes.len()));
        file.take(MAX_RAW_BYTES).read_to_end(&mut bytes)?;
        Ok(Self::Read(bytes))
    }

    #[expect(
        unsafe_code,
        reason = "a mapped file may be cut by somebody else while it is read; \
                  the program's handler of SIGBUS then ends it with a sentence"
    )]
    fn map(file: &File, path: &Path) -> io::Result<Self> {
        FIRST_MAPPED.set(path.as_os_str().as_bytes().to_vec()).ok();
        // SAFETY: the mapping is read-only and private; when the file gets
        // shorter, reads past its end raise SIGBUS, which the program handles.
        let map = unsafe { Mmap::map(file)? };
        map.advise(Advice::Sequential).ok();
        Ok(Self::Mapped(map))
    }

    /// Runs `read` over mapped files with a bound on how much of them stays in
    /// memory. The kernel brings dropped pages back when they are needed.
    pub fn bounded<T>(files: &[&Self], read: impl FnOnce() -> T) -> T {
        let maps: Vec<&Mmap> = files
            .iter()
            .filter_map(|f| match f {
                Self::Mapped(map) => Some(map),
                Self::Read(_) => None,
            })
            .collect();
        let all: u64 = maps.iter().map(|m| m.len() as u64).sum();
        if all < BOUNDED_FROM_BYTES {
            return read();
        }
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if resident_file_bytes() > RESIDENT_BYTES {
                        for map in &maps {
                            drop_pages(map);
                        }
                    }
                    thread::sleep(LOOK_EVERY);
                }
            });
            // Also if `read` panics: the scope waits for the watcher.
            let _end = Ended(&done);
            read()
        })
    }
}

/// Says that reading is over when it goes out of scope.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[expect(
    unsafe_code,
    reason = "memmap2 calls this advice unchecked because it empties writable private memory"
)]
fn drop_pages(map: &Mmap) {
    // SAFETY: nothing was ever written to this read-only mapping of a file, so
    // dropped pages come back with the same bytes.
    unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) }.ok();
}

/// How much of mapped files is in this process' memory, in bytes
/// (`proc_pid_statm(5)`, third field).
fn resident_file_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(2).and_then(|s| s.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// The first file that was mapped: a signal handler can build no text.
static FIRST_MAPPED: OnceLock<Vec<u8>> = OnceLock::new();

/// The path of the first file that was mapped. A mapped file that another program cuts
/// raises SIGBUS when its end is read; a handler may name this file, and nothing in this
/// function is unsafe in a handler.
#[must_use]
pub fn first_mapped() -> Option<&'static [u8]> {
    FIRST_MAPPED.get().map(Vec::as_slice)
}
