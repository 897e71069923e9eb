//! The ways out of a capture: a file, standard output, a block device, a port.

use crate::config::Out;
use crate::frame::{Answer, Content, FrameWriter, Measure};
use crate::here::Gathered;
use crate::payload::{HEADER_BYTES, MAGIC, PayloadError, write_payload_with};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::termios::{ControlModes, OptionalActions, tcdrain, tcgetattr, tcsetattr};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a port may take no byte before it is given up.
const PORT_LIMIT: Duration = Duration::from_secs(60);

/// How long the receiver at the other end of a port has for its answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);

/// How often at most parts are sent again because they are asked for.
const MOST_ANSWERS: u32 = 100;

/// An answer is a line of at most so many bytes.
const MOST_ANSWER_BYTES: usize = 8 << 10;

/// Why a capture could not be delivered.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The place for it is taken.
    #[error("`{}` is not empty; name a new folder or a file that ends in .tar", path.display())]
    Taken {
        /// The path that was given.
        path: PathBuf,
    },
    /// A block device holds something else.
    #[error(
        "`{device}` contains data other than a capture and was not overwritten; to discard the \
         data, run `dd if=/dev/zero of={device} bs=4096 count=1`"
    )]
    Foreign {
        /// The device.
        device: String,
    },
    /// It does not fit into a block device.
    #[error("`{device}`: {why}")]
    Payload {
        /// The device.
        device: String,
        /// What is wrong.
        why: PayloadError,
    },
    /// It could not be written.
    #[error("`{}`: cannot write the capture: {why}", path.display())]
    Write {
        /// The path that was given, or a file in it.
        path: PathBuf,
        /// What the system says.
        why: io::Error,
    },
}

/// What to do with an older capture in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Older {
    /// It stays, and that is an error.
    Keep,
    /// The new one takes its place.
    Replace,
}

/// Delivers a capture.
///
/// # Errors
/// If that cannot be done, in one sentence.
pub fn deliver(gathered: &Gathered, out: &Out, older: Older) -> Result<(), DeliverError> {
    match out {
        Out::Stdout => {
            let write = || {
                let mut out = BufWriter::new(io::stdout().lock());
                gathered.write(&mut out)?;
                out.flush()
            };
            write().map_err(write_error(Path::new("-")))
        }
        Out::File(path) => {
            let path = Path::new(path);
            match path.extension() == Some(OsStr::new("tar")) {
                true => tar(gathered, path, older),
                false => folder(gathered, path),
            }
        }
        Out::Device(path) => device(gathered, path),
        Out::Port { path, baud, copies } => {
            let sent = send(gathered, path, *baud, *copies);
            sent.map_err(write_error(Path::new(path)))
        }
    }
}

/// The folder that a capture will lie in, if it will lie in one.
#[must_use]
pub fn folder_of(out: &Out) -> Option<&Path> {
    match out {
        Out::File(path) => match Path::new(path).parent() {
            Some(folder) if !folder.as_os_str().is_empty() => Some(folder),
            _ => Some(Path::new(".")),
        },
        _ => None,
    }
}

fn write_error(path: &Path) -> impl Fn(io::Error) -> DeliverError {
    move |why| DeliverError::Write {
        path: path.into(),
        why,
    }
}

/// A tar is written beside and then renamed.
fn tar(gathered: &Gathered, path: &Path, older: Older) -> Result<(), DeliverError> {
    if path.exists() && older == Older::Keep {
        return Err(DeliverError::Taken { path: path.into() });
    }
    if let (Some(folder), Older::Replace) = (path.parent(), older) {
        fs::create_dir_all(folder).map_err(write_error(folder))?;
    }
    let beside = path.with_extension("tar.new");
    let write = || {
        let mut out = BufWriter::new(File::create(&beside)?);
        gathered.write(&mut out)?;
        out.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()?;
        fs::rename(&beside, path)
    };
    let done = write();
    if done.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    done.map_err(write_error(path))
}

fn folder(gathered: &Gathered, path: &Path) -> Result<(), DeliverError> {
    let error = write_error(path);
    fs::create_dir_all(path).map_err(&error)?;
    if fs::read_dir(path).map_err(&error)?.next().is_some() {
        return Err(DeliverError::Taken { path: path.into() });
    }
    let place = |name: &str| -> Result<PathBuf, DeliverError> {
        let at = path.join(name);
        if let Some(folder) = at.parent() {
            fs::create_dir_all(folder).map_err(write_error(folder))?;
        }
        Ok(at)
    };
    let manifest = gathered.manifest_bytes().map_err(&error)?;
    let manifest = (crate::capture::MANIFEST.to_owned(), manifest);
    for (name, bytes) in [&manifest].into_iter().chain(&gathered.members) {
        let at = place(name)?;
        fs::write(&at, bytes).map_err(write_error(&at))?;
    }
    for large in &gathered.large {
        let at = place(&large.file)?;
        let copy = || io::copy(&mut large.reader(), &mut File::create(&at)?);
        copy().map_err(write_error(&at))?;
    }
    Ok(())
}

fn device(gathered: &Gathered, device: &str) -> Result<(), DeliverError> {
    let error = write_error(Path::new(device));
    let mut file = File::options()
        .read(true)
        .write(true)
        .open(device)
        .map_err(&error)?;
    let mut start = [0; 4096];
    let mut read = || {
        file.read_exact(&mut start)?;
        file.seek(SeekFrom::End(0))
    };
    let room = read().map_err(&error)?;
    if !start.starts_with(&MAGIC) && start.iter().any(|b| *b != 0) {
        let device = device.to_owned();
        return Err(DeliverError::Foreign { device });
    }
    into_memory(gathered, &mut file, room, |f| f.sync_all()).map_err(|why| DeliverError::Payload {
        device: device.into(),
        why,
    })
}

/// Writes a capture as a payload into `out`, which holds `room` bytes.
///
/// # Errors
/// If it does not fit or cannot be written.
pub fn into_memory<W: Write + Seek>(
    gathered: &Gathered,
    out: &mut W,
    room: u64,
    sync: impl Fn(&mut W) -> io::Result<()>,
) -> Result<(), PayloadError> {
    let length = measure(gathered)?.length;
    debug_assert!(length > HEADER_BYTES, "the manifest alone is too long");
    write_payload_with(out, room, length, sync, |out| {
        // A device takes large pieces faster than a tar's small ones.
        let mut out = BufWriter::with_capacity(256 << 10, out);
        gathered.write(&mut out)?;
        out.flush()
    })
}

fn measure(gathered: &Gathered) -> io::Result<Content> {
    let mut measure = Measure::default();
    gathered.write(&mut measure)?;
    Ok(measure.content())
}

fn send(gathered: &Gathered, path: &str, baud: Option<u32>, copies: u32) -> io::Result<()> {
    let content = measure(gathered)?;
    let mut port = Port::open(Path::new(path), baud)?;
    let mut wanted = None;
    let mut silent = 0;
    for _ in 0..MOST_ANSWERS {
        let mut frames = FrameWriter::new(BufWriter::new(&mut port), content, wanted.take());
        gathered.write(&mut frames)?;
        frames.finish()?;
        port.drain()?;
        match port.answer(content)? {
            Some(Answer::Complete) => break,
            Some(Answer::Again(ranges)) => wanted = Some(ranges),
            None => {
                silent += 1;
                if silent >= copies {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// A serial or virtio port, or a pseudo-terminal.
struct Port(File);

impl Port {
    fn open(path: &Path, baud: Option<u32>) -> io::Result<Self> {
        // Not blocking: a serial port would else wait for a modem's carrier.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(flags.bits().cast_signed())
            .open(path)?;
        // Others than terminals are as they should be.
        if let Ok(mut settings) = tcgetattr(&file) {
            settings.make_raw();
            settings.control_modes |= ControlModes::CLOCAL;
            if let Some(baud) = baud {
                settings.set_speed(baud)?;
            }
            tcsetattr(&file, OptionalActions::Drain, &settings)?;
        }
        Ok(Self(file))
    }

    /// Waits until all has left.
    fn drain(&self) -> io::Result<()> {
        match tcdrain(&self.0) {
            Ok(()) | Err(Errno::NOTTY | Errno::INVAL) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Waits until it can be read or written, at most for `limit`; whether it
    /// can.
    fn wait(&self, what: PollFlags, limit: Duration) -> io::Result<bool> {
        let timeout = Timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(&self.0, what)], Some(&timeout)) {
            Ok(n) => Ok(n > 0),
            Err(Errno::INTR) => Ok(true),
            Err(e) => Err(e.into()),
        }
    }

    /// What the receiver says, if it says anything.
    fn answer(&mut self, content: Content) -> io::Result<Option<Answer>> {
        let begin = Instant::now();
        let mut line = Vec::new();
        let mut bytes = [0; 512];
        while self.wait(PollFlags::IN, ANSWER_LIMIT.saturating_sub(begin.elapsed()))? {
            let read = match self.0.read(&mut bytes) {
                // Nobody is there.
                Ok(0) => return Ok(None),
                Ok(n) => bytes.get(..n).unwrap_or_default(),
                Err(e) if is_for_later(&e) => &[],
                Err(e) if e.raw_os_error() == Some(Errno::IO.raw_os_error()) => return Ok(None),
                Err(e) => return Err(e),
            };
            for &byte in read {
                if byte != b'\n' {
                    line.push(byte);
                } else {
                    if let Some(answer) = Answer::parse(&line, content) {
                        return Ok(Some(answer));
                    }
                    line.clear();
                }
            }
            if line.len() > MOST_ANSWER_BYTES {
                line.clear();
            }
            if begin.elapsed() >= ANSWER_LIMIT {
                break;
            }
        }
        Ok(None)
    }
}

impl Write for &mut Port {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(e) if is_for_later(&e) => {}
                done => return done,
            }
            if !self.wait(PollFlags::OUT, PORT_LIMIT)? {
                let s = PORT_LIMIT.as_secs();
                let why = format!(
                    "no byte was accepted for {s} s; check that a program reads the \
                    other end"
                );
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_for_later(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
