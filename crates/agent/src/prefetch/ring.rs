//! Reads submitted together: io_uring(7).
//!
//! What is submitted by one call goes to the device behind one plug, so that
//! neighbours become one request even if they are of different files. A read that
//! finds nothing in memory starts it and goes on; nobody waits in between.
#![allow(unsafe_code)]

use rustix::io::Errno;
use rustix::io_uring::{
    IORING_OFF_CQ_RING, IORING_OFF_SQ_RING, IORING_OFF_SQES, IoringEnterFlags, IoringOp,
    io_uring_cqe, io_uring_enter, io_uring_params, io_uring_ptr, io_uring_setup, io_uring_sqe,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

/// Memory that the kernel shares with this process.
#[derive(Debug)]
struct Shared {
    start: *mut u8,
    length: usize,
}

impl Shared {
    fn of_ring(ring: &OwnedFd, length: usize, offset: u64) -> io::Result<Self> {
        // SAFETY: the kernel chooses a place where nothing lies.
        let start = unsafe {
            mmap(
                null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::POPULATE,
                ring,
                offset,
            )?
        };
        Ok(Self {
            start: start.cast(),
            length,
        })
    }

    /// The bytes at `offset`, as a pointer to `T`; `None` if it would lie outside.
    fn at<T>(&self, offset: usize) -> Option<*mut T> {
        let end = offset.checked_add(size_of::<T>())?;
        // SAFETY: the check above keeps it inside the mapping.
        (end <= self.length).then(|| unsafe { self.start.add(offset).cast() })
    }

    /// A counter that the kernel reads or writes at any time.
    fn counter(&self, offset: u32) -> io::Result<&AtomicU32> {
        let at = self.at(offset as usize);
        let at =
            at.ok_or_else(|| io::Error::other("the counters are outside the io_uring mapping"))?;
        // SAFETY: it lies inside the mapping, which lives as long as `self`; the
        // kernel aligns its counters to their size.
        Ok(unsafe { AtomicU32::from_ptr(at) })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: this is what was mapped, and nobody has a reference into it now.
        let _ = unsafe { munmap(self.start.cast(), self.length) };
    }
}

/// A ring for reads whose bytes nobody wants.
#[derive(Debug)]
pub struct Ring {
    fd: OwnedFd,
    submissions: Shared,
    completions: Shared,
    entries: Shared,
    params: io_uring_params,
    /// Where all reads put their bytes: they are not looked at.
    sink: Shared,
    queued: u32,
}

impl Ring {
    /// A ring for up to `depth` reads at once, of up to `most_bytes` each.
    ///
    /// # Errors
    /// If the kernel has no io_uring, or does not let this process use it.
    pub fn new(depth: u32, most_bytes: usize) -> io::Result<Self> {
        let mut params = io_uring_params::default();
        // SAFETY: the parameters outlive the call, which fills them in.
        let fd = unsafe { io_uring_setup(depth.max(1), &mut params)? };
        let submissions = params.sq_off.array as usize + params.sq_entries as usize * 4;
        let completions =
            params.cq_off.cqes as usize + params.cq_entries as usize * size_of::<io_uring_cqe>();
        let entries = params.sq_entries as usize * size_of::<io_uring_sqe>();
        let sink = most_bytes.max(1);
        // SAFETY: the kernel chooses a place where nothing lies.
        let sink_at = unsafe {
            rustix::mm::mmap_anonymous(
                null_mut(),
                sink,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        let sink = Shared {
            start: sink_at.cast(),
            length: sink,
        };
        Ok(Self {
            submissions: Shared::of_ring(&fd, submissions, IORING_OFF_SQ_RING)?,
            completions: Shared::of_ring(&fd, completions, IORING_OFF_CQ_RING)?,
            entries: Shared::of_ring(&fd, entries, IORING_OFF_SQES)?,
            fd,
            params,
            sink,
            queued: 0,
        })
    }

    /// Puts a read into the ring; [`Self::submit`] sends it. False if the ring is
    /// full. `file` must stay open until the read came back.
    ///
    /// # Errors
    /// If the ring is not as the kernel described it.
    pub fn read(
        &mut self,
        file: BorrowedFd<'_>,
        at: u64,
        bytes: u32,
        token: u64,
    ) -> io::Result<bool> {
        let head = self.submissions.counter(self.params.sq_off.head)?;
        let tail = self.submissions.counter(self.params.sq_off.tail)?;
        let now = tail.load(Ordering::Relaxed);
        let size = self.params.sq_entries;
        if now.wrapping_sub(head.load(Ordering::Acquire)) >= size {
            return Ok(false);
        }
        let slot = now & (size - 1);
        let mut entry = io_uring_sqe {
            opcode: IoringOp::Read,
            fd: file.as_raw_fd(),
            ..io_uring_sqe::default()
        };
        entry.off_or_addr2.off = at;
        entry.addr_or_splice_off_in.addr = io_uring_ptr::new(self.sink.start.cast());
        entry.len.len = bytes.min(u32::try_from(self.sink.length).unwrap_or(u32::MAX));
        entry.user_data.u64_ = token;
        let outside = || io::Error::other("the entries are outside the io_uring mapping");
        let place: *mut io_uring_sqe = self
            .entries
            .at(slot as usize * size_of::<io_uring_sqe>())
            .ok_or_else(outside)?;
        let index: *mut u32 = self
            .submissions
            .at(self.params.sq_off.array as usize + slot as usize * 4)
            .ok_or_else(outside)?;
        // SAFETY: both lie inside their mappings, and the kernel does not look at
        // this slot before the tail says so.
        unsafe {
            place.write(entry);
            index.write(slot);
        }
        tail.store(now.wrapping_add(1), Ordering::Release);
        self.queued += 1;
        Ok(true)
    }

    /// Sends what was put in, waits until at least `wait` reads came back, and
    /// gives the tokens of all that did. What a read failed at, the one who needs
    /// it will be told.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn submit(&mut self, wait: u32) -> io::Result<Vec<u64>> {
        loop {
            // SAFETY: the reads' buffer and the ring live as long as `self`; the
            // caller keeps the files open, and a closed one is only an error.
            let sent = unsafe {
                io_uring_enter(
                    self.fd.as_fd(),
                    self.queued,
                    wait,
                    IoringEnterFlags::GETEVENTS,
                )
            };
            match sent {
                Ok(sent) => {
                    self.queued = self.queued.saturating_sub(sent);
                    break;
                }
                Err(Errno::INTR | Errno::AGAIN | Errno::BUSY) => {}
                Err(e) => return Err(e.into()),
            }
        }
        let head = self.completions.counter(self.params.cq_off.head)?;
        let tail = self.completions.counter(self.params.cq_off.tail)?;
        let mut now = head.load(Ordering::Relaxed);
        let end = tail.load(Ordering::Acquire);
        let mut done = Vec::new();
        while now != end {
            let slot = (now & (self.params.cq_entries - 1)) as usize;
            let at = self.params.cq_off.cqes as usize + slot * size_of::<io_uring_cqe>();
            let place: *mut io_uring_cqe = self.completions.at(at).ok_or_else(|| {
                io::Error::other("the completions are outside the io_uring mapping")
            })?;
            // SAFETY: it lies inside the mapping, and the tail says that the
            // kernel has written it.
            done.push(unsafe { (*place).user_data.u64_ });
            now = now.wrapping_add(1);
        }
        head.store(now, Ordering::Release);
        Ok(done)
    }
}
