//! A console listened to, and kept as a capture.

use super::engine::{Action, Event, Fit};
use super::listen::{Console, ListenError, Listener, Options, Outcome, listen};
use super::log::Log;
use super::port::latency_ms;
use super::reader::Heard;
use crate::keep::{Growing, KeepError};
use agent::capture::{ClockInfo, Manifest, SourceFile, VERSION};
use record::Nanos;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};

/// What a member of a capture may hold when it is read, less a margin: at 3
/// Mbaud it comes in ten minutes, at 115200 in four hours.
const MOST_BYTES: u64 = 200 << 20;

/// The name of the log in a capture.
pub(crate) const LOG: &str = "serial.log";

/// The name of the raw bytes in a capture.
pub(crate) const RAW: &str = "serial.raw";

/// The name of a [`Seen`] where the reset pattern matched.
pub const RESET: &str = "reset";

/// A line, for one who watches. Times count from where the boot begins, as far as
/// that is known by now.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// When its first character arrived.
    pub first: Nanos,
    /// How long after the first character of the line before.
    pub delta: Nanos,
    /// When its last character arrived; `None` while the line is open.
    pub last: Option<Nanos>,
    /// Its bytes.
    pub raw: &'a [u8],
}

/// One who watches while a console is kept.
pub trait Watcher {
    /// A line is complete.
    fn line(&mut self, line: Shown<'_>) -> io::Result<()>;
    /// A line began and has not ended.
    fn open(&mut self, line: Shown<'_>) -> io::Result<()>;
    /// All that had come was told.
    fn flush(&mut self) -> io::Result<()>;
    /// Nothing more comes.
    fn end(&mut self) -> io::Result<()>;
}

/// A named instant that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its name.
    pub name: String,
    /// When, from where the boot begins.
    pub at: Nanos,
    /// What the pattern matched; empty for the power command.
    pub text: String,
}

/// A capture that was taken.
#[derive(Debug)]
pub struct Taken {
    /// How listening went.
    pub outcome: Outcome,
    /// The capture's files.
    pub files: Vec<String>,
    /// How many lines came.
    pub lines: u64,
    /// The marks, in the order in which they were seen.
    pub marks: Vec<Seen>,
    /// How long the adapter may keep characters back, in milliseconds, if it is
    /// more than one.
    pub latency_ms: Option<u32>,
}

/// Why there is no capture.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// Nothing could be heard.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// It could not be kept.
    #[error(transparent)]
    Keep(#[from] KeepError),
    /// What was heard could not be written.
    #[error("cannot write the capture: {0}")]
    Write(#[from] io::Error),
}

/// Listens as [`listen`] does, and keeps what comes in the capture `out`. `None`: the
/// watcher's reader has gone; what was heard until then is kept.
///
/// # Errors
/// If nothing can be heard, or it cannot be kept. What was heard stays beside `out`.
pub fn take(
    options: Options,
    out: &Path,
    taken_by: &str,
    channel: (Sender<Heard>, Receiver<Heard>),
    watcher: &mut dyn Watcher,
) -> Result<Option<Taken>, TakeError> {
    let device = match &options.console {
        Console::At(place, _) => place.path().cloned(),
        Console::Of(_) => None,
    };
    let growing = Growing::begin(out, manifest(taken_by))?;
    let mut keeper = Keeper::new(&growing, watcher)?;
    let outcome = match listen(options, channel, &mut keeper) {
        Ok(outcome) => outcome,
        Err(ListenError::Io(e)) if e.kind() == io::ErrorKind::BrokenPipe => {
            keeper.finish(&[], None)?;
            growing.pack()?;
            return Ok(None);
        }
        Err(e) => {
            let heard = keeper.lines > 0;
            drop(keeper);
            if !heard {
                growing.forget();
            }
            return Err(e.into());
        }
    };
    let latency = device.as_deref().and_then(latency_ms).filter(|ms| *ms > 1);
    let (lines, marks) = keeper.finish(&outcome.lost, latency)?;
    let files = growing.files().into_iter().map(str::to_owned).collect();
    growing.pack()?;
    Ok(Some(Taken {
        outcome,
        files,
        lines,
        marks,
        latency_ms: latency,
    }))
}

pub(crate) fn manifest(taken_by: &str) -> Manifest {
    let file = |name: &str, format: &str, file: &str, clock: &str| SourceFile {
        name: name.into(),
        format: format.into(),
        file: file.into(),
        clock: clock.into(),
    };
    Manifest {
        firstlight_capture: VERSION,
        taken_by: taken_by.into(),
        machine: String::new(),
        kernel: String::new(),
        cmdline: String::new(),
        clocks: vec![ClockInfo {
            name: "serial".into(),
            kind: "wall".into(),
            hz: 1_000_000_000,
            readings: Vec::new(),
        }],
        marks: Vec::new(),
        recording: Vec::new(),
        own_devices: Vec::new(),
        notes: Vec::new(),
        sources: vec![
            file("serial log with stamps", "serial", LOG, "serial"),
            file("raw bytes from the line", "none", RAW, ""),
        ],
    }
}

/// Keeps what comes, and tells it on.
struct Keeper<'a> {
    watcher: &'a mut dyn Watcher,
    raw: BufWriter<File>,
    /// The log's file, until the log begins.
    file: Option<File>,
    log: Option<Log<BufWriter<File>>>,
    raw_bytes: u64,
    lines: u64,
    zero_ns: u64,
    reset: bool,
    before_ns: Option<u64>,
    /// Names, times and texts.
    seen: Vec<(String, u64, String)>,
}

impl<'a> Keeper<'a> {
    fn new(growing: &Growing, watcher: &'a mut dyn Watcher) -> Result<Self, KeepError> {
        Ok(Self {
            watcher,
            raw: BufWriter::new(growing.create(RAW)?.file),
            file: Some(growing.create(LOG)?.file),
            log: None,
            raw_bytes: 0,
            lines: 0,
            zero_ns: 0,
            reset: false,
            before_ns: None,
            seen: Vec::new(),
        })
    }

    fn log(&mut self) -> io::Result<&mut Log<BufWriter<File>>> {
        self.log
            .as_mut()
            .ok_or_else(|| io::Error::other("the log has not started"))
    }

    fn since(&self, ns: u64) -> Nanos {
        Nanos(signed(ns) - signed(self.zero_ns))
    }

    fn shown<'r>(&self, first_ns: u64, last_ns: Option<u64>, raw: &'r [u8]) -> Shown<'r> {
        let before = self.before_ns.unwrap_or(self.zero_ns);
        Shown {
            first: self.since(first_ns),
            delta: Nanos(signed(first_ns) - signed(before)),
            last: last_ns.map(|ns| self.since(ns)),
            raw,
        }
    }

    fn finish(
        mut self,
        lost: &[(&'static str, u32)],
        latency_ms: Option<u32>,
    ) -> io::Result<(u64, Vec<Seen>)> {
        self.watcher.end()?;
        self.raw.flush()?;
        if let Some(log) = &mut self.log {
            log.finish(lost, latency_ms)?;
        }
        let seen = std::mem::take(&mut self.seen);
        let marks = seen.into_iter().map(|(name, at_ns, text)| Seen {
            name,
            at: self.since(at_ns),
            text,
        });
        Ok((self.lines, marks.collect()))
    }
}

impl Listener for Keeper<'_> {
    fn begin(&mut self, line: Option<(u32, u8)>) -> io::Result<()> {
        if let Some(file) = self.file.take() {
            self.log = Some(Log::begin(BufWriter::new(file), line)?);
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.raw_bytes = self.raw_bytes.saturating_add(bytes.len() as u64);
        self.raw.write_all(bytes)
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.log()?.event(event)?;
        match event {
            Event::Fit(Fit {
                action,
                at_ns,
                text,
            }) => {
                let name = match action {
                    Action::Reset => RESET,
                    Action::End => record::mark::FIRST_LIGHT,
                    Action::Mark(name) => name,
                };
                self.seen.push((name.to_owned(), *at_ns, text.clone()));
                if *action == Action::Reset {
                    self.zero_ns = *at_ns;
                    self.reset = true;
                }
            }
            Event::Line(line) => {
                self.lines = self.lines.saturating_add(1);
                let shown = self.shown(line.first_ns, Some(line.last_ns), &line.raw);
                self.watcher.line(shown)?;
                self.before_ns = Some(line.first_ns);
            }
        }
        Ok(())
    }

    fn power(&mut self, began_ns: u64, ended_ns: u64) -> io::Result<()> {
        self.log()?.power(began_ns, ended_ns)?;
        let name = record::mark::POWER_ON.to_owned();
        self.seen.push((name, ended_ns, String::new()));
        if !self.reset {
            self.zero_ns = ended_ns;
        }
        Ok(())
    }

    fn open(&mut self, first_ns: u64, raw: &[u8]) -> io::Result<()> {
        let shown = self.shown(first_ns, None, raw);
        self.watcher.open(shown)
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.raw.flush()?;
        let log = self.log()?;
        log.flush()?;
        let bytes = log.bytes().max(self.raw_bytes);
        self.watcher.flush()?;
        Ok(bytes < MOST_BYTES)
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}
