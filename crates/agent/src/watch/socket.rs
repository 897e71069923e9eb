//! A socket listens, takes a connection, or answers.

use crate::clocks::monotonic;
use crate::config::Endpoint;
use crate::sys::read_kernel_file;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A connection within the machine needs no longer.
const CONNECT_LIMIT: Duration = Duration::from_millis(50);

/// Who does not answer by then is asked again.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// The state of a socket that listens, in /proc/net/tcp (`TCP_LISTEN`).
const TCP_LISTEN: &[u8] = b"0A";

/// The flag of a socket that listens, in /proc/net/unix (`__SO_ACCEPTCON`).
const UNIX_LISTENS: u32 = 1 << 16;

#[derive(Debug)]
pub(super) enum Listening {
    Tcp { port: u16, seen: Vec<u8> },
    Unix(PathBuf),
}

impl Listening {
    pub(super) fn of(at: &Endpoint) -> Self {
        match at {
            Endpoint::Tcp(port) => Self::Tcp {
                port: *port,
                seen: Vec::new(),
            },
            Endpoint::Unix(path) => Self::Unix(path.into()),
        }
    }

    pub(super) fn look(&mut self) -> bool {
        match self {
            Self::Tcp { port, seen } => {
                // The lists of sockets are walked through only when the number
                // of sockets has changed: with all their empty places they are
                // long.
                let mut now = Vec::new();
                for file in ["/proc/net/sockstat", "/proc/net/sockstat6"] {
                    now.extend(read_kernel_file(file).unwrap_or_default());
                }
                if !now.is_empty() && now == *seen {
                    return false;
                }
                *seen = now;
                let files = ["/proc/net/tcp", "/proc/net/tcp6"];
                files
                    .iter()
                    .any(|f| read_kernel_file(f).is_ok_and(|list| tcp_listens(&list, *port)))
            }
            Self::Unix(path) => {
                path.exists()
                    && read_kernel_file("/proc/net/unix").is_ok_and(|l| unix_listens(&l, path))
            }
        }
    }
}

/// Whether `/proc/net/tcp` has a socket that listens on `port`:
/// `   0: 0100007F:1F90 00000000:0000 0A ...`.
fn tcp_listens(list: &[u8], port: u16) -> bool {
    let port = format!(":{port:04X}");
    list.split(|b| *b == b'\n').any(|line| {
        let mut words = line.split(|b| *b == b' ').filter(|w| !w.is_empty());
        let local = words.nth(1).unwrap_or_default();
        local.ends_with(port.as_bytes()) && words.nth(1) == Some(TCP_LISTEN)
    })
}

/// Whether `/proc/net/unix` has a socket that listens at `path`:
/// `ffff8881: 00000002 00000000 00010000 0001 01 15000 /run/app.sock`.
fn unix_listens(list: &[u8], path: &Path) -> bool {
    // Its name there is the one that it was given, /var/run or /run.
    let real = fs::canonicalize(path).ok();
    list.split(|b| *b == b'\n').any(|line| {
        let line = String::from_utf8_lossy(line);
        let mut words = line.split_ascii_whitespace();
        let flags = words.nth(3).and_then(|f| u32::from_str_radix(f, 16).ok());
        let Some(name) = words.nth(3).map(Path::new) else {
            return false;
        };
        let same = || name == path || (real.is_some() && fs::canonicalize(name).ok() == real);
        flags.is_some_and(|f| f & UNIX_LISTENS != 0) && same()
    })
}

/// Whether a socket takes a connection, which is closed at once.
pub(super) fn accepts(at: &Endpoint) -> bool {
    match at {
        Endpoint::Tcp(port) => connected(*port).is_some(),
        Endpoint::Unix(path) => {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
            let address = SocketAddrUnix::new(&**path);
            matches!((socket, address), (Ok(s), Ok(a)) if connect(&s, &a).is_ok())
        }
    }
}

fn connected(port: u16) -> Option<TcpStream> {
    let own: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    own.iter().find_map(|ip| {
        let address = SocketAddr::new(*ip, port);
        TcpStream::connect_timeout(&address, CONNECT_LIMIT).ok()
    })
}

/// Whether a web server answers a request for `page`.
pub(super) fn answers(port: u16, page: &str) -> bool {
    connected(port).is_some_and(|server| status(server, page).is_ok_and(is_success))
}

/// The beginning of the answer's first line, `HTTP/1.1 200` (RFC 9112, section 4).
fn status(mut server: TcpStream, page: &str) -> io::Result<[u8; 12]> {
    let end = monotonic() + ANSWER_LIMIT;
    server.set_write_timeout(Some(ANSWER_LIMIT))?;
    let request = format!("GET {page} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    server.write_all(request.as_bytes())?;
    let mut line = [0; 12];
    let mut length = 0;
    while let Some(rest) = line.get_mut(length..).filter(|rest| !rest.is_empty()) {
        // One limit for all of it, however slowly it comes.
        let left = end.saturating_sub(monotonic());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        server.set_read_timeout(Some(left))?;
        length += match server.read(rest)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => read,
        };
    }
    Ok(line)
}

fn is_success(line: [u8; 12]) -> bool {
    matches!(
        line,
        [
            b'H',
            b'T',
            b'T',
            b'P',
            b'/',
            _,
            b'.',
            _,
            b' ',
            b'2' | b'3',
            _,
            _
        ]
    )
}

#[cfg(test)]
mod tests {
    use super::{tcp_listens, unix_listens};
    use std::path::Path;

    #[test]
    fn only_a_socket_that_listens_on_this_port_counts() {
        let list = b"  sl  local_address rem_address   st tx_queue rx_queue\n\
            \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000\n\
            \x20  1: 0100007F:0016 0100007F:1F91 01 00000000:00000000 00:00000000\n";
        assert!(tcp_listens(list, 8080));
        assert!(!tcp_listens(list, 8081));
        assert!(!tcp_listens(list, 22), "it is connected");
        assert!(!tcp_listens(b"", 22));
    }

    #[test]
    fn only_a_socket_that_listens_at_this_path_counts() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000: 00000002 00000000 00010000 0001 01 15000 /run/app.sock\n\
            0000: 00000002 00000000 00000000 0002 01 15001 /run/log.sock\n\
            0000: 00000003 00000000 00000000 0001 03 15002\n";
        assert!(unix_listens(list, Path::new("/run/app.sock")));
        assert!(!unix_listens(list, Path::new("/run/log.sock")));
        assert!(!unix_listens(list, Path::new("/run/other.sock")));
    }
}
