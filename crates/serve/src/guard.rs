//! Who may read: this machine, or whoever holds the token.

use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

/// The length of a token, in bytes: 128 bits are not guessed.
const TOKEN_BYTES: usize = 16;

/// Decides who may read what a server gives.
#[derive(Debug)]
pub struct Guard {
    at: SocketAddr,
    /// What every path begins with: empty, or a slash and the token.
    prefix: String,
}

impl Guard {
    /// The guard of a server that listens at `at`.
    ///
    /// # Errors
    /// If there is no randomness for a token.
    pub fn of(at: SocketAddr) -> io::Result<Self> {
        let prefix = match at.ip().is_loopback() {
            true => String::new(),
            false => format!("/{}", token()?),
        };
        Ok(Self { at, prefix })
    }

    /// The address to give to a browser, with the token if there is one.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}/", self.at, self.prefix)
    }

    /// Whether a browser that asked for `host` may be answered. A page of elsewhere may
    /// give its own name this machine's address, and its scripts would then read what
    /// is here. They cannot hide that name.
    #[must_use]
    pub fn knows(&self, host: Option<&str>) -> bool {
        !self.at.ip().is_loopback() || is_local(host, self.at.port())
    }

    /// The path behind the token; `None` without it.
    #[must_use]
    pub fn within<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&self.prefix)
    }
}

/// Whether a browser asked for this machine by a name that only means it.
fn is_local(host: Option<&str>, port: u16) -> bool {
    let Some(host) = host else { return false };
    let name = host.strip_suffix(&format!(":{port}")).unwrap_or(host);
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// What nobody can guess, in hexadecimal.
fn token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::{Guard, is_local};

    #[test]
    fn only_names_of_this_machine_are_local() {
        for (host, local) in [
            (Some("localhost:7788"), true),
            (Some("127.0.0.1:7788"), true),
            (Some("[::1]:7788"), true),
            (Some("localhost"), true),
            (Some("evil.example:7788"), false),
            (Some("localhost.evil.example:7788"), false),
            (Some("10.0.0.1:7788"), false),
            (Some(""), false),
            (None, false),
        ] {
            assert_eq!(is_local(host, 7788), local, "{host:?}");
        }
    }

    #[test]
    fn elsewhere_a_token_stands_before_every_path() {
        let here = Guard::of(([127, 0, 0, 1], 7788).into()).unwrap();
        assert_eq!(here.url(), "http://127.0.0.1:7788/");
        assert_eq!(here.within("/page"), Some("/page"));
        let elsewhere = Guard::of(([0, 0, 0, 0], 7788).into()).unwrap();
        let other = Guard::of(([0, 0, 0, 0], 7788).into()).unwrap();
        assert_ne!(elsewhere.url(), other.url());
        assert_eq!(elsewhere.prefix.len(), 1 + 32);
        assert_eq!(elsewhere.within("/page"), None);
        let path = format!("{}/page", elsewhere.prefix);
        assert_eq!(elsewhere.within(&path), Some("/page"));
        assert!(elsewhere.knows(Some("board.example:7788")));
    }
}
