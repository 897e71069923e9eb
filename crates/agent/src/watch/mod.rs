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
pub struct Watch {
    kind: Kind,
    /// When the last look began that did not see it.
    unseen: Option<Duration>,
    /// How long before the end of the look that saw it that was.
    late: Option<Duration>,
}

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
        let kind = match what {
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
        };
        Ok(Self {
            kind,
            unseen: None,
            late: None,
        })
    }

    /// Looks whether it has happened.
    pub fn look(&mut self) -> bool {
        let begin = monotonic();
        let seen = self.kind.look();
        match seen {
            true => self.late = self.unseen.map(|t| monotonic().saturating_sub(t)),
            false => self.unseen = Some(begin),
        }
        seen
    }

    /// How much later than it happened it may have been seen, once it was, if the
    /// kernel does not tell of it; `None` also if it was there at the first look.
    #[must_use]
    pub fn late(&self) -> Option<Duration> {
        self.kind.every().and(self.late)
    }

    /// Waits until it is time to look again, at most for `limit`.
    ///
    /// # Errors
    /// If the kernel refuses to wait.
    pub fn wait(&self, limit: Duration) -> io::Result<()> {
        let every = match &self.kind {
            Kind::File(_) => LOOK_FOR_MOUNTS_EVERY,
            Kind::After(time) => time.saturating_sub(monotonic()),
            kind => kind.every().unwrap_or(limit),
        };
        let time = limit.min(every);
        let timeout = Timespec {
            tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        let channel = self.kind.channel();
        let mut channels: Vec<PollFd<'_>> = channel
            .iter()
            .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
            .collect();
        match poll(&mut channels, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

impl Kind {
    /// Looks whether it has happened.
    fn look(&mut self) -> bool {
        match self {
            Self::Now => true,
            Self::Line(line) => line.look(),
            Self::File(file) => file.look(),
            Self::Listens(listening) => listening.look(),
            Self::Accepts(at, listening) => {
                listening.take_if(|l| l.look());
                listening.is_none() && socket::accepts(at)
            }
            Self::Answers {
                port,
                page,
                listening,
            } => {
                listening.take_if(|l| l.look());
                listening.is_none() && socket::answers(*port, page)
            }
            Self::Process(process) => process.look(),
            Self::After(time) => monotonic() >= *time,
        }
    }

    /// How often is looked for it, if the kernel does not tell of it.
    fn every(&self) -> Option<Duration> {
        match self {
            Self::Listens(_) | Self::Accepts(..) | Self::Answers { .. } => Some(LOOK_EVERY),
            Self::Process(process) if process.channel().is_none() => {
                Some(LOOK_THROUGH_PROCESSES_EVERY)
            }
            _ => None,
        }
    }

    /// Where the kernel tells that it is worth looking.
    fn channel(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Line(line) => Some(line.channel()),
            Self::File(file) => Some(file.channel()),
            Self::Process(process) => process.channel(),
            Self::Now
            | Self::Listens(_)
            | Self::Accepts(..)
            | Self::Answers { .. }
            | Self::After(_) => None,
        }
    }
}
