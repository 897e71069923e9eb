//! What ends the boot: first light.

use super::values::{absolute, word};
use std::fmt;
use std::time::Duration;

/// What ends the boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstLight {
    /// The first program has started.
    Init,
    /// A systemd unit is active.
    Unit(String),
    /// A line of the kernel's log contains this text. Lines from before the
    /// agent started do not count.
    Line(String),
    /// A file is there: an absolute path.
    File(String),
    /// A socket listens, as the kernel lists it.
    Listens(Endpoint),
    /// A socket takes a connection. The agent opens one, and closes it at once.
    Accepts(Endpoint),
    /// A web server on this machine answers a request for a page with success, or
    /// leads elsewhere (status 2xx or 3xx).
    Answers {
        /// Its TCP port.
        port: u16,
        /// The page: an absolute path, with what follows a `?`.
        page: String,
    },
    /// A process of this name runs: its program has begun.
    Process(String),
    /// So much time has passed since the kernel's clock started.
    After(Duration),
}

/// Where a socket is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A TCP port, of any address.
    Tcp(u16),
    /// A socket in the file system: an absolute path.
    Unix(String),
}

impl FirstLight {
    /// What [`Self::parse`] takes, for messages.
    pub const EXPECTED: &str = "`init`, `unit:NAME`, `kmsg:TEXT`, `file:PATH`, `listen:PORT` or \
         `listen:PATH`, `accept:PORT` or `accept:PATH`, `http:PORT/PAGE`, `process:NAME`, or `after:SECONDS`";

    /// Reads what [`fmt::Display`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "init" {
            return Some(Self::Init);
        }
        let (kind, what) = text.split_once(':')?;
        match kind {
            "unit" => word(what).map(Self::Unit),
            "kmsg" if !what.is_empty() => Some(Self::Line(what.to_owned())),
            "file" => absolute(what).map(Self::File),
            "listen" => Endpoint::parse(what).map(Self::Listens),
            "accept" => Endpoint::parse(what).map(Self::Accepts),
            "http" => answers(what),
            "process" => word(what).map(Self::Process),
            "after" => seconds(what).map(Self::After),
            _ => None,
        }
    }
}

impl fmt::Display for FirstLight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Init => f.write_str("init"),
            Self::Unit(name) => write!(f, "unit:{name}"),
            Self::Line(text) => write!(f, "kmsg:{text}"),
            Self::File(path) => write!(f, "file:{path}"),
            Self::Listens(at) => write!(f, "listen:{at}"),
            Self::Accepts(at) => write!(f, "accept:{at}"),
            Self::Answers { port, page } => write!(f, "http:{port}{page}"),
            Self::Process(name) => write!(f, "process:{name}"),
            Self::After(time) => {
                write!(f, "after:{}", time.as_secs())?;
                match time.subsec_nanos() {
                    0 => Ok(()),
                    ns => write!(f, ".{ns:09}"),
                }
            }
        }
    }
}

impl Endpoint {
    fn parse(text: &str) -> Option<Self> {
        match text.parse() {
            Ok(port) if port > 0 => Some(Self::Tcp(port)),
            _ => absolute(text).map(Self::Unix),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(port) => write!(f, "{port}"),
            Self::Unix(path) => f.write_str(path),
        }
    }
}

/// `8080/` or `80/status?full`.
fn answers(text: &str) -> Option<FirstLight> {
    let (port, page) = text.split_at_checked(text.find('/')?)?;
    // What is not graphic has to be written otherwise in a request (RFC 9112, 3.2).
    let is_plain = page.bytes().all(|b| b.is_ascii_graphic());
    let port = port.parse().ok().filter(|p| *p > 0 && is_plain)?;
    Some(FirstLight::Answers {
        port,
        page: page.to_owned(),
    })
}

/// `12` or `12.345`, up to a year.
fn seconds(text: &str) -> Option<Duration> {
    const YEAR_S: u64 = 366 * 24 * 3600;
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let whole: u64 = whole.parse().ok().filter(|s| *s <= YEAR_S)?;
    let nanoseconds = format!("{part:0<9}").parse().ok()?;
    Some(Duration::new(whole, nanoseconds))
}
