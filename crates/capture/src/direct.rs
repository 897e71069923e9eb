//! Large files, written past the kernel's page cache.
//!
//! A file that must be on the disk before it gets its name is not read again
//! soon. To copy it into the cache first, and to wait there for all of it at the
//! end, takes longer than to make it. So a thread hands it to the disk
//! (`O_DIRECT` of `open(2)`) while the rest is made. Where the filesystem does
//! not do that, it is written as ever.

use crate::error::FileError;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// How much is handed to the disk at once, bytes.
const BUFFER: usize = 1 << 20;
/// What memory, place and length must be multiples of, bytes: the largest
/// logical block of a disk.
const ALIGNMENT: usize = 4096;
/// One is filled, one is on its way, and one waits.
const BUFFERS: usize = 3;

/// Memory that a disk can read from.
struct Buffer {
    memory: Vec<u8>,
    start: usize,
    used: usize,
}

impl Buffer {
    fn new() -> Self {
        let memory = vec![0; BUFFER + ALIGNMENT];
        // Not aligned, it is refused by the disk, and written as ever.
        let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self {
            memory,
            start,
            used: 0,
        }
    }

    fn bytes(&self) -> &[u8] {
        let end = self.start + self.used;
        self.memory.get(self.start..end).unwrap_or_default()
    }

    /// Takes as much of `bytes` as there is room for.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let room = self.start + self.used..self.start + BUFFER;
        let room = self.memory.get_mut(room).unwrap_or_default();
        let count = room.len().min(bytes.len());
        let (now, _) = bytes.split_at(count);
        if let Some(to) = room.get_mut(..count) {
            to.copy_from_slice(now);
        }
        self.used += count;
        count
    }
}

/// What the maker of a file writes to.
struct Output {
    buffer: Buffer,
    full: SyncSender<Buffer>,
    empty: Receiver<io::Result<Buffer>>,
}

impl Output {
    /// Hands over what is there, and goes on with an empty buffer.
    fn hand_over(&mut self) -> io::Result<()> {
        // The other side says why before it ends, so there is an answer.
        let ended = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        let mut empty = self.empty.recv().map_err(ended)??;
        empty.used = 0;
        let full = std::mem::replace(&mut self.buffer, empty);
        self.full.send(full).ok();
        Ok(())
    }

    /// Hands over the rest, and waits until all is written.
    fn finish(self) -> io::Result<()> {
        self.full.send(self.buffer).ok();
        drop(self.full);
        self.empty.iter().try_for_each(|empty| empty.map(drop))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.used == BUFFER {
            self.hand_over()?;
        }
        Ok(self.buffer.take(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lets `fill` write `file`, which is empty and will be called `path`. All of it
/// is written when this returns, and on the disk when the file was synced.
///
/// # Errors
/// What `fill` says, or the disk does not take it.
pub fn write<T, E: From<FileError>>(
    file: &File,
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    thread::scope(|scope| {
        let (full, to_write) = sync_channel(BUFFERS);
        let (done, empty) = channel();
        for _ in 1..BUFFERS {
            done.send(Ok(Buffer::new())).ok();
        }
        scope.spawn(move || drain(file, &to_write, &done));
        let buffer = Buffer::new();
        let mut output = Output {
            buffer,
            full,
            empty,
        };
        let filled = fill(&mut output)?;
        output
            .finish()
            .map_err(FileError::of(path, "cannot be written"))?;
        Ok(filled)
    })
}

/// Writes full buffers one after another, and gives them back.
fn drain(file: &File, to_write: &Receiver<Buffer>, done: &Sender<io::Result<Buffer>>) {
    let mut direct = set_direct(file, true).is_ok();
    let mut at = 0;
    for buffer in to_write {
        // Only the last one is not whole.
        if direct && buffer.used < BUFFER {
            direct = set_direct(file, false).is_err();
        }
        let mut written = file.write_all_at(buffer.bytes(), at);
        let refused = |e: &io::Error| Errno::from_io_error(e) == Some(Errno::INVAL);
        if direct && written.as_ref().is_err_and(refused) {
            direct = set_direct(file, false).is_err();
            written = file.write_all_at(buffer.bytes(), at);
        }
        at += buffer.used as u64;
        let failed = written.is_err();
        if done.send(written.map(|()| buffer)).is_err() || failed {
            return;
        }
    }
}

fn set_direct(file: &File, on: bool) -> io::Result<()> {
    let mut flags = fcntl_getfl(file)?;
    flags.set(OFlags::DIRECT, on);
    Ok(fcntl_setfl(file, flags)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum TestError {
        #[error(transparent)]
        File(#[from] FileError),
        #[error(transparent)]
        Io(#[from] io::Error),
        #[error("no more")]
        NoMore,
    }

    /// Bytes that differ everywhere.
    fn bytes(length: usize) -> Vec<u8> {
        (0..length)
            .map(|i| (i ^ (i >> 9) ^ (i >> 17)) as u8)
            .collect()
    }

    #[test]
    fn what_is_written_is_there_on_a_disk_and_in_memory() {
        for folder in ["/var/tmp", "/dev/shm"] {
            for length in [0, 1, 4095, BUFFER, 5 * BUFFER, 5 * BUFFER + 4097] {
                let Ok(file) = tempfile::NamedTempFile::new_in(folder) else {
                    println!("skipped: {folder} is not there");
                    continue;
                };
                let all = bytes(length);
                write(file.as_file(), file.path(), |out| {
                    for part in all.chunks(77_777) {
                        out.write_all(part)?;
                    }
                    Ok::<_, TestError>(())
                })
                .unwrap();
                assert!(
                    std::fs::read(file.path()).unwrap() == all,
                    "{folder} {length}"
                );
            }
        }
    }

    #[test]
    fn what_fails_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read_only = File::open(file.path()).unwrap();
        for length in [1, 9 * BUFFER] {
            let failed = write(&read_only, file.path(), |out| {
                Ok::<_, TestError>(out.write_all(&bytes(length))?)
            });
            let text = format!("{:#}", failed.unwrap_err());
            assert!(text.contains("Bad file descriptor"), "{text}");
        }
        let failed = write(file.as_file(), file.path(), |out| {
            out.write_all(b"half")?;
            Err::<(), _>(TestError::NoMore)
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
    }
}
