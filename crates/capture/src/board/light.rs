//! First light as it is seen from outside the board.

use super::command::{Asked, ask, first_line};
use crate::serial::engine::{Action, Rule, RuleError};
use crate::serial::reader::{Heard, now_ns};
use std::fmt;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What ends a boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstLight {
    /// A line of the console has this pattern.
    Console(String),
    /// This `HOST:PORT` takes a connection.
    Tcp(String),
    /// A request for `PAGE` at `HOST:PORT` is answered with status 2xx or 3xx.
    Http {
        /// `HOST:PORT`.
        address: String,
        /// The page, with its leading slash.
        page: String,
    },
    /// This command ends with exit code 0, such as `ssh board test -e /run/ready`.
    Command(String),
    /// This command, which runs from power-on, writes its first line: a program that watches
    /// a wire or a screen.
    Watch(String),
}

/// The text is no first light.
#[derive(Debug, thiserror::Error)]
pub enum FirstLightError {
    /// It is none of the five forms.
    #[error(
        "expected `console:REGEX`, `tcp:HOST:PORT`, `http://HOST:PORT/PAGE`, \
         `command:COMMAND` or `watch:COMMAND`, found `{0}`"
    )]
    Form(String),
    /// The pattern cannot be used.
    #[error(transparent)]
    Pattern(#[from] RuleError),
}

/// How often a probe asks.
const EVERY: Duration = Duration::from_millis(10);

/// How long a thread may take to wake up when a line has come, nanoseconds.
pub const WAKE_NS: u64 = 1_000_000;

/// How long a probe waits for an answer.
const PATIENCE: Duration = Duration::from_secs(1);

impl FirstLight {
    /// First light of its text.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, FirstLightError> {
        let wrong = || FirstLightError::Form(text.to_owned());
        let address = |a: &str| match a.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                Ok(a.to_owned())
            }
            _ => Err(wrong()),
        };
        if let Some(pattern) = text.strip_prefix("console:") {
            Rule::new(Action::End, pattern)?;
            return match pattern.is_empty() {
                false => Ok(Self::Console(pattern.to_owned())),
                true => Err(wrong()),
            };
        }
        if let Some(at) = text.strip_prefix("tcp:") {
            return Ok(Self::Tcp(address(at)?));
        }
        if let Some(rest) = text.strip_prefix("http://") {
            let (at, page) = rest.split_once('/').unwrap_or((rest, ""));
            if page.contains(char::is_whitespace) {
                return Err(wrong());
            }
            let at = match at.contains(':') {
                true => at.to_owned(),
                false => format!("{at}:80"),
            };
            return Ok(Self::Http {
                address: address(&at)?,
                page: format!("/{page}"),
            });
        }
        let form = text.split_once(':').filter(|(_, c)| !c.trim().is_empty());
        match form {
            Some(("command", command)) => Ok(Self::Command(command.to_owned())),
            Some(("watch", command)) => Ok(Self::Watch(command.to_owned())),
            _ => Err(wrong()),
        }
    }

    /// How it is seen, and how late, in a sentence.
    #[must_use]
    pub fn uncertainty(&self) -> &'static str {
        match self {
            Self::Console(_) => {
                "First light is the arrival of the first character of the matching text. A serial \
                 adapter may hold it back: for 16 ms if its driver says nothing else."
            }
            Self::Tcp(_) => {
                "A probe tries to connect every 10 ms. First light is the instant at which the \
                 connection was accepted, and up to one attempt late."
            }
            Self::Http { .. } => {
                "A probe sends a request every 10 ms. First light is the arrival of the answer's \
                 first line, and up to one request late."
            }
            Self::Command(_) => {
                "A probe runs the command again 10 ms after each failure. First light is the end \
                 of the first successful run, and up to one run late."
            }
            Self::Watch(_) => {
                "A command runs from power-on. First light is the arrival of its first line, and \
                 late by what the command itself needs to see it: `boot.light_error_s` says how much."
            }
        }
    }

    /// Waits for it, unless told to stop: `CLOCK_MONOTONIC` when it was seen, and how late that
    /// may be, in nanoseconds.
    fn seen(&self, folder: &Path, stop: &AtomicBool) -> Option<(u64, u64)> {
        let stopped = || stop.load(Ordering::Relaxed);
        if let Self::Watch(command) = self {
            return Some((first_line(command, folder, &stopped)?, WAKE_NS));
        }
        let mut asked_ns = now_ns();
        while !stopped() {
            if self.answers(folder, stop) {
                let at_ns = now_ns();
                return Some((at_ns, at_ns.saturating_sub(asked_ns)));
            }
            asked_ns = now_ns();
            thread::sleep(EVERY);
        }
        None
    }

    /// Asks the board once: whether it answers.
    fn answers(&self, folder: &Path, stop: &AtomicBool) -> bool {
        match self {
            Self::Console(_) | Self::Watch(_) => false,
            Self::Tcp(address) => connect(address).is_some(),
            Self::Http { address, page } => fetch(address, page).unwrap_or(false),
            Self::Command(command) => ask(
                &Asked {
                    command,
                    folder,
                    envs: &[],
                    limit: Duration::from_secs(60),
                },
                &|| stop.load(Ordering::Relaxed),
            )
            .is_ok_and(|done| done.status.success()),
        }
    }
}

impl fmt::Display for FirstLight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Console(pattern) => write!(f, "console:{pattern}"),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Http { address, page } => write!(f, "http://{address}{page}"),
            Self::Command(command) => write!(f, "command:{command}"),
            Self::Watch(command) => write!(f, "watch:{command}"),
        }
    }
}

fn connect(address: &str) -> Option<TcpStream> {
    let mut addresses = address.to_socket_addrs().ok()?;
    addresses.find_map(|a| TcpStream::connect_timeout(&a, PATIENCE).ok())
}

fn fetch(address: &str, page: &str) -> Option<bool> {
    let mut stream = connect(address)?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let request = format!("GET {page} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).ok()?;
    Some(head.starts_with(b"HTTP/1.") && matches!(head.get(9), Some(b'2' | b'3')))
}

/// A thread that asks the board until it answers or is told to stop.
#[derive(Debug)]
pub struct Probe {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl Probe {
    /// Begins to ask, if `light` is seen by asking.
    pub fn start(light: &FirstLight, folder: PathBuf, to: Sender<Heard>) -> Option<Self> {
        if matches!(light, FirstLight::Console(_)) {
            return None;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (light, stopped) = (light.clone(), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            if let Some((at_ns, error_ns)) = light.seen(&folder, &stopped) {
                to.send(Heard::Light { at_ns, error_ns }).ok();
            }
        });
        Some(Self {
            thread: Some(thread),
            stop,
        })
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
