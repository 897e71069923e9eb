//! Waits for first light at the least cost: where the kernel tells of changes it
//! is listened to, and only else is looked from time to time.

mod file;
mod kmsg;
mod process;
mod socket;

use crate::clocks::monotonic;
use crate::config::{Endpoint, FirstLight};
use file::FileWatch;
use kmsg::LineWatch;
use process::ProcessWatch;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use socket::Listening;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

/// How often is looked for what the kernel does not tell of.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How often is looked for a file, beside the kernel's telling: it does not tell
/// of a folder that something was mounted on.
const LOOK_FOR_MOUNTS_EVERY: Duration = Duration::from_millis(100);

/// How often processes are looked through, where the kernel does not tell of
/// them: that costs more.
const LOOK_THROUGH_PROCESSES_EVERY: Duration = Duration::from_millis(100);

/// Something that is waited for.
#[derive(Debug)]
pub struct Watch(Kind);

#[derive(Debug)]
enum Kind {
    /// Nothing has to happen.
    Now,
    Line(LineWatch),
    File(FileWatch),
    Listens(Listening),
    /// Nothing is tried before it listens: that would cost the boot, and show in
    /// logs. `None`: it does.
    Accepts(Endpoint, Option<Listening>),
    /// As before: nothing is asked before it listens.
    Answers {
        port: u16,
        page: String,
        listening: Option<Listening>,
    },
    Process(ProcessWatch),
    After(Duration),
}

impl Watch {
    /// Begins to wait. What happened before may or may not count. A unit is not
    /// waited for here: systemd itself tells when it is active.
    ///
    /// # Errors
    /// If there is no way to see it.
    pub fn begin(what: &FirstLight) -> io::Result<Self> {
        Self::begin_with(what, Path::new("/dev/kmsg"))
    }

    /// As [`Self::begin`], with the kernel's log at `kmsg`.
    ///
    /// # Errors
    /// If there is no way to see it.
    pub fn begin_with(what: &FirstLight, kmsg: &Path) -> io::Result<Self> {
        Ok(Self(match what {
            FirstLight::Init | FirstLight::Unit(_) => Kind::Now,
            FirstLight::Line(text) => Kind::Line(LineWatch::begin(text, kmsg)?),
            FirstLight::File(path) => Kind::File(FileWatch::begin(Path::new(path))?),
            FirstLight::Listens(at) => Kind::Listens(Listening::of(at)),
            FirstLight::Accepts(at) => Kind::Accepts(at.clone(), Some(Listening::of(at))),
            FirstLight::Answers { port, page } => Kind::Answers {
                port: *port,
                page: page.clone(),
                listening: Some(Listening::of(&Endpoint::Tcp(*port))),
            },
            FirstLight::Process(name) => Kind::Process(ProcessWatch::begin(name)),
            FirstLight::After(time) => Kind::After(*time),
        }))
    }

    /// Looks whether it has happened.
    pub fn look(&mut self) -> bool {
        match &mut self.0 {
            Kind::Now => true,
            Kind::Line(line) => line.look(),
            Kind::File(file) => file.look(),
            Kind::Listens(listening) => listening.look(),
            Kind::Accepts(at, listening) => {
                listening.take_if(|l| l.look());
                listening.is_none() && socket::accepts(at)
            }
            Kind::Answers {
                port,
                page,
                listening,
            } => {
                listening.take_if(|l| l.look());
                listening.is_none() && socket::answers(*port, page)
            }
            Kind::Process(process) => process.look(),
            Kind::After(time) => monotonic() >= *time,
        }
    }

    /// How much later than it happened it may be seen, if more than moments.
    #[must_use]
    pub fn coarse(&self) -> Option<Duration> {
        match &self.0 {
            Kind::Listens(_) | Kind::Accepts(..) | Kind::Answers { .. } => Some(LOOK_EVERY),
            Kind::Process(process) if process.channel().is_none() => {
                Some(LOOK_THROUGH_PROCESSES_EVERY)
            }
            _ => None,
        }
    }

    /// Waits until it is time to look again, at most for `limit`.
    ///
    /// # Errors
    /// If the kernel refuses to wait.
    pub fn wait(&self, limit: Duration) -> io::Result<()> {
        let every = match &self.0 {
            Kind::File(_) => LOOK_FOR_MOUNTS_EVERY,
            Kind::After(time) => time.saturating_sub(monotonic()),
            _ => self.coarse().unwrap_or(limit),
        };
        let time = limit.min(every);
        let timeout = Timespec {
            tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        let channel = self.channel();
        let mut channels: Vec<PollFd<'_>> = channel
            .iter()
            .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
            .collect();
        match poll(&mut channels, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Where the kernel tells that it is worth looking.
    fn channel(&self) -> Option<BorrowedFd<'_>> {
        match &self.0 {
            Kind::Line(line) => Some(line.channel()),
            Kind::File(file) => Some(file.channel()),
            Kind::Process(process) => process.channel(),
            Kind::Now
            | Kind::Listens(_)
            | Kind::Accepts(..)
            | Kind::Answers { .. }
            | Kind::After(_) => None,
        }
    }
}
