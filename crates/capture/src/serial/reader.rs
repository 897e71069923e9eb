//! The thread that reads: it does nothing but wait, read and stamp.

use super::input::Input;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What one read takes at most.
const BATCH: usize = 64 << 10;

/// How many bytes may wait to be looked at. A console makes them in minutes; a
/// pipe that is faster than this program is made to wait.
const WAITING: usize = 64 << 20;

/// What is heard.
#[derive(Debug)]
pub enum Heard {
    /// These bytes had arrived by this time.
    Bytes {
        /// `CLOCK_MONOTONIC`, in nanoseconds.
        at_ns: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Nothing more will come.
    End(io::Result<()>),
    /// A power command has ended.
    Power {
        /// Before it was started.
        began_ns: u64,
        /// After it ended.
        ended_ns: u64,
        /// How it ended, or why it could not be started.
        status: io::Result<std::process::ExitStatus>,
    },
    /// A board was asked from outside, and answered: its boot has ended.
    Light {
        /// `CLOCK_MONOTONIC` when the answer came, in nanoseconds.
        at_ns: u64,
        /// How much earlier the board may have been ready: since the last question.
        error_ns: u64,
    },
    /// The user wants to end.
    Interrupt,
}

/// The host's clock: `CLOCK_MONOTONIC`, in nanoseconds.
pub fn now_ns() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    let ns = i128::from(tv_sec) * 1_000_000_000 + i128::from(tv_nsec);
    u64::try_from(ns).unwrap_or(0)
}

/// A thread that reads an input until it ends or is told to.
#[derive(Debug)]
pub struct Reader {
    thread: Option<JoinHandle<()>>,
    stop: Arc<OwnedFd>,
    waiting: Arc<AtomicUsize>,
}

impl Reader {
    /// Starts to read `input`.
    ///
    /// # Errors
    /// If the system has no more threads or files.
    pub fn start(input: Arc<Input>, to: Sender<Heard>) -> io::Result<Self> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let waiting = Arc::new(AtomicUsize::new(0));
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&waiting));
        let thread = thread::Builder::new()
            .name("serial".into())
            .spawn(move || {
                if let Some(end) = read(&input, &stopped, &counted, &to) {
                    to.send(Heard::End(end)).ok();
                }
            })?;
        Ok(Self {
            thread: Some(thread),
            stop,
            waiting,
        })
    }

    /// Says that bytes which were heard are dealt with.
    pub fn done_with(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        rustix::io::write(&*self.stop, &1_u64.to_ne_bytes()).ok();
        // It may wait for its bytes to be dealt with.
        self.waiting.store(0, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Reads until the input ends: how it did; `None` if it was told to stop.
fn read(
    input: &Input,
    stop: &OwnedFd,
    waiting: &AtomicUsize,
    to: &Sender<Heard>,
) -> Option<io::Result<()>> {
    let mut buffer = vec![0; BATCH];
    // A file tells of what is added to it, not of what is there.
    let mut look_first = input.may_lag();
    let at_once = Timespec::default();
    loop {
        let mut ready = [
            PollFd::from_borrowed_fd(input.ready(), PollFlags::IN),
            PollFd::new(stop, PollFlags::IN),
        ];
        match poll(&mut ready, look_first.then_some(&at_once)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Some(Err(e.into())),
        }
        let [input_ready, stop_ready] = ready.map(|r| !r.revents().is_empty());
        if stop_ready {
            return None;
        }
        if input_ready {
            input.was_told();
        } else if !look_first {
            continue;
        }
        let read = input.read(&mut buffer);
        // After the read: all of these bytes had arrived by then.
        let at_ns = now_ns();
        look_first = false;
        match read {
            Ok(None) => {}
            Ok(Some(0)) => return Some(Ok(())),
            Ok(Some(n)) => {
                let bytes = buffer.get(..n).unwrap_or_default().to_vec();
                look_first = input.may_lag();
                while waiting.load(Ordering::Relaxed) > WAITING {
                    thread::sleep(Duration::from_millis(1));
                }
                waiting.fetch_add(n, Ordering::Relaxed);
                to.send(Heard::Bytes { at_ns, bytes }).ok()?;
            }
            Err(e) => return Some(Err(e)),
        }
    }
}
