//! What a console can be listened to on.

use super::port::{Port, Settings};
use super::rfc2217::Telnet;
use rustix::fs::inotify;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a host may take to answer.
const CONNECT: Duration = Duration::from_secs(5);

/// How often is looked for something that is not there yet.
const AGAIN: Duration = Duration::from_millis(10);

/// Where a console is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Standard input.
    Stdin,
    /// A socket in the file system.
    Unix(PathBuf),
    /// A host and a port.
    Tcp(String),
    /// A host and a port that speak RFC 2217: a serial port over the network.
    Rfc2217(String),
    /// A serial port, a named pipe, a socket, or a file that grows.
    Path(PathBuf),
}

impl Place {
    /// `-`, `unix:PATH`, `tcp:HOST:PORT`, `rfc2217://HOST:PORT`, or a path.
    pub fn parse(text: &OsStr) -> Self {
        let bytes = text.as_bytes();
        if bytes == b"-" {
            Self::Stdin
        } else if let Some(path) = bytes.strip_prefix(b"unix:") {
            Self::Unix(PathBuf::from(OsStr::from_bytes(path)))
        } else if let Some(address) = bytes.strip_prefix(b"tcp:") {
            Self::Tcp(String::from_utf8_lossy(address).into_owned())
        } else if let Some(address) = bytes.strip_prefix(b"rfc2217:") {
            let address = address.strip_prefix(b"//").unwrap_or(address);
            Self::Rfc2217(String::from_utf8_lossy(address).into_owned())
        } else {
            Self::Path(PathBuf::from(text))
        }
    }

    /// The serial port's or the file's path.
    pub fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Path(path) => Some(path),
            _ => None,
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Rfc2217(address) => write!(f, "rfc2217://{address}"),
            Self::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Why nothing can be listened to.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It cannot be opened.
    #[error("{place}: cannot open: {why}{}", advice(.why))]
    Open {
        /// Where.
        place: Place,
        /// What the system says.
        why: io::Error,
    },
    /// A serial port does not take its settings.
    #[error("{place}: cannot set {} baud: {why}", .settings.baud)]
    Settings {
        /// Where.
        place: Place,
        /// What was asked for.
        settings: Settings,
        /// What the system says.
        why: io::Error,
    },
    /// It is none of the kinds that are known.
    #[error("{place}: this is a directory; name a serial port, pipe, socket or file")]
    Directory {
        /// Where.
        place: Place,
    },
}

fn advice(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::PermissionDenied => {
            "; run as root or join the group that owns it (`dialout` on Debian)"
        }
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            "; use `--wait 30` to wait until it appears"
        }
        io::ErrorKind::ResourceBusy => "; close the other program that uses it",
        _ => "",
    }
}

/// Something to listen to.
#[derive(Debug)]
pub struct Input {
    source: Source,
}

#[derive(Debug)]
enum Source {
    Port(Port),
    /// A pipe or a socket: it ends when the other side closes it.
    Stream(OwnedFd),
    /// A connection that carries more than the console's bytes.
    Telnet(OwnedFd, Mutex<Telnet>),
    /// A file, and what tells that it has grown.
    File(File, OwnedFd),
}

impl Input {
    /// Opens a place, and waits up to `wait` for it to appear.
    ///
    /// # Errors
    /// If it cannot be opened, or a port does not take its settings.
    pub fn open(place: &Place, settings: &Settings, wait: Duration) -> Result<Self, InputError> {
        let end = Instant::now() + wait;
        loop {
            match Self::open_now(place, settings) {
                Err(InputError::Open { why, .. }) if may_come(&why) && Instant::now() < end => {
                    std::thread::sleep(AGAIN);
                }
                done => return done,
            }
        }
    }

    fn open_now(place: &Place, settings: &Settings) -> Result<Self, InputError> {
        let failed = |why: io::Error| InputError::Open {
            place: place.clone(),
            why,
        };
        let source = match place {
            Place::Stdin => {
                let stdin = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
                Source::Stream(stdin)
            }
            Place::Unix(path) => Source::Stream(UnixStream::connect(path).map_err(failed)?.into()),
            Place::Tcp(address) => Source::Stream(connect(address).map_err(failed)?.into()),
            Place::Rfc2217(address) => {
                let stream: OwnedFd = connect(address).map_err(failed)?.into();
                let telnet = Telnet::new(*settings);
                rustix::io::write(&stream, &telnet.hello()).map_err(|e| failed(e.into()))?;
                Source::Telnet(stream, Mutex::new(telnet))
            }
            Place::Path(path) => {
                let kind = fs::metadata(path).map_err(failed)?.file_type();
                if kind.is_dir() {
                    return Err(InputError::Directory {
                        place: place.clone(),
                    });
                }
                if kind.is_socket() {
                    return Self::open_now(&Place::Unix(path.clone()), settings);
                }
                // A port without a carrier and a pipe without a writer are opened too.
                let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
                let file = File::options()
                    .read(true)
                    .custom_flags(flags.bits().cast_signed())
                    .open(path)
                    .map_err(failed)?;
                if rustix::termios::isatty(&file) {
                    let port = Port::set(file.into(), settings);
                    Source::Port(port.map_err(|why| InputError::Settings {
                        place: place.clone(),
                        settings: *settings,
                        why,
                    })?)
                } else if kind.is_file() {
                    let grows = inotify::init(
                        inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK,
                    )
                    .and_then(|grows| {
                        inotify::add_watch(&grows, path, inotify::WatchFlags::MODIFY)?;
                        Ok(grows)
                    });
                    Source::File(file, grows.map_err(|e| failed(e.into()))?)
                } else {
                    Source::Stream(file.into())
                }
            }
        };
        Ok(Self { source })
    }

    /// A program's output.
    pub fn of_pipe(pipe: impl Into<OwnedFd>) -> Self {
        Self {
            source: Source::Stream(pipe.into()),
        }
    }

    /// What tells that something can be read.
    pub(super) fn ready(&self) -> BorrowedFd<'_> {
        match &self.source {
            Source::Port(port) => port.as_fd(),
            Source::Stream(stream) | Source::Telnet(stream, _) => stream.as_fd(),
            Source::File(_, grows) => grows.as_fd(),
        }
    }

    /// Reads what is there; `None`: nothing, now.
    ///
    /// # Errors
    /// If the device is gone.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let read = match &self.source {
            Source::Port(port) => rustix::io::read(port, buffer),
            Source::Stream(stream) => rustix::io::read(stream, buffer),
            Source::Telnet(stream, telnet) => match rustix::io::read(stream, &mut *buffer) {
                Ok(n) if n > 0 => return heard(stream, telnet, buffer, n),
                read => read,
            },
            Source::File(file, _) => match rustix::io::read(file, &mut *buffer) {
                Ok(0) => return Ok(None),
                read => read,
            },
        };
        match read {
            Ok(n) => Ok(Some(n)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Whether something may be there before [`Self::ready`] tells.
    pub(super) fn may_lag(&self) -> bool {
        matches!(self.source, Source::File(..))
    }

    /// Takes what [`Self::ready`] told, where that is not what is read.
    pub(super) fn was_told(&self) {
        if let Source::File(_, grows) = &self.source {
            let mut events = [0_u8; 4096];
            while rustix::io::read(grows, &mut events).is_ok_and(|n| n > 0) {}
        }
    }

    /// What was lost on the way, if the driver counts it.
    pub fn lost(&self) -> Vec<(&'static str, u32)> {
        match &self.source {
            Source::Port(port) => port.lost(),
            _ => Vec::new(),
        }
    }

    /// Whether it is a serial port, so that the rate of the line is known.
    pub fn is_port(&self) -> bool {
        matches!(self.source, Source::Port(_) | Source::Telnet(..))
    }
}

/// Leaves in `buffer`, of which `n` bytes were received, what the port sent, and
/// answers the rest; `None` if it sent nothing.
fn heard(
    stream: &OwnedFd,
    telnet: &Mutex<Telnet>,
    buffer: &mut [u8],
    n: usize,
) -> io::Result<Option<usize>> {
    let mut data = Vec::with_capacity(n);
    let mut telnet = telnet.lock().unwrap_or_else(PoisonError::into_inner);
    let back = telnet.take(buffer.get(..n).unwrap_or_default(), &mut data);
    if !back.is_empty() {
        rustix::io::write(stream, &back)?;
    }
    if let Some(baud) = telnet.other_baud() {
        let why = format!("the server drives the port at {baud} baud; pass `--baud {baud}`");
        return Err(io::Error::other(why));
    }
    if let Some(start) = buffer.get_mut(..data.len()) {
        start.copy_from_slice(&data);
    }
    Ok((!data.is_empty()).then_some(data.len()))
}

/// Whether what failed so may work later.
fn may_come(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::TimedOut
    )
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut why = io::Error::new(
        io::ErrorKind::InvalidInput,
        "invalid address; write HOST:PORT, such as localhost:4000",
    );
    if !address.contains(':') {
        return Err(why);
    }
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return Ok(stream),
            Err(e) => why = e,
        }
    }
    Err(why)
}
