//! `firstlight serve`: the pages of a folder of captures and experiments.

use crate::args::{Images, Reading, Serve};
use crate::out::Out;
use crate::serve::folder::Folder;
use crate::serve::http::{self, Answer, Request};
use crate::verbs::report;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// How many browsers are answered at once; others wait in the kernel's queue
/// or are told to come again.
const AT_ONCE: usize = 8;

/// The length of a token, in bytes: 128 bits are not guessed.
const TOKEN_BYTES: usize = 16;

/// What every connection shares.
struct Shared {
    folder: Mutex<Folder>,
    /// What every path begins with: empty, or a slash and the token.
    prefix: String,
    /// Whether only browsers of this machine are let in.
    loopback: bool,
    title: String,
    running: AtomicUsize,
}

pub fn run(args: &Serve, out: &mut Out) -> Result<()> {
    let shown = args.dir.display();
    if !args.dir.is_dir() {
        bail!("{shown}: not a folder; expected one that holds captures or experiments");
    }
    let address = args.bind;
    let listener = TcpListener::bind(address)
        .with_context(|| format!("{address}: cannot be listened on; choose another --bind"))?;
    let at = listener.local_addr()?;
    let loopback = at.ip().is_loopback();
    let prefix = if loopback {
        String::new()
    } else {
        format!("/{}", token()?)
    };
    let url = format!("http://{at}{prefix}/");
    if out.json {
        let serving =
            serde_json::json!({"schema": "firstlight.serve/1", "url": url, "dir": args.dir});
        out.text(&views::json::text(&serving))?;
    } else {
        out.text(&format!("{url}\n"))?;
    }
    out.flush()?;
    let shared = Arc::new(Shared {
        folder: Mutex::new(Folder::new(&args.dir)),
        prefix,
        loopback,
        title: shown.to_string(),
        running: AtomicUsize::new(0),
    });
    for stream in listener.incoming() {
        // A browser that went away meanwhile is none of ours.
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(&shared);
        if shared.running.fetch_add(1, Ordering::SeqCst) >= AT_ONCE {
            shared.running.fetch_sub(1, Ordering::SeqCst);
            let mut stream = stream;
            http::serve(&mut stream, |_| busy()).ok();
            continue;
        }
        let all = Arc::clone(&shared);
        let answering = thread::Builder::new().spawn(move || {
            let done = Done(&shared.running);
            connection(stream, &shared);
            drop(done);
        });
        // Without a thread the connection is closed: the browser says so.
        if answering.is_err() {
            all.running.fetch_sub(1, Ordering::SeqCst);
        }
    }
    Ok(())
}

fn busy() -> Answer {
    Answer::sentence("503 Service Unavailable", "busy: load the page again")
}

/// One connection less, however it ended.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn connection(mut stream: TcpStream, shared: &Shared) {
    let at = stream.local_addr().ok();
    // What fails here is that the browser went away.
    http::serve(&mut stream, |request| answer(request, at, shared)).ok();
}

fn answer(request: &Request, at: Option<SocketAddr>, shared: &Shared) -> Answer {
    // A page of elsewhere may give its own name this machine's address: its
    // scripts would then read what is here. They cannot hide that name.
    if shared.loopback && !is_local(request.host.as_deref(), at) {
        return Answer::sentence("403 Forbidden", "this host name is not served here");
    }
    let nothing = || Answer::sentence("404 Not Found", "there is nothing at this address");
    let Some(path) = request.path.strip_prefix(&shared.prefix) else {
        return nothing();
    };
    let folder = || shared.folder.lock().unwrap_or_else(PoisonError::into_inner);
    match path {
        "/" => Answer::page(views::html::list(&shared.title, &folder().list())),
        "/page" => {
            let names = request.query.iter().filter(|(name, _)| name == "path");
            let paths: Option<Vec<PathBuf>> = {
                let folder = folder();
                names.map(|(_, value)| folder.path(value)).collect()
            };
            match paths {
                Some(paths) if !paths.is_empty() => {
                    match report::of_paths(&paths, &[], &Reading::default(), &Images::default()) {
                        Ok(page) => Answer::page(page),
                        Err(e) => {
                            Answer::sentence("422 Unprocessable Content", crate::sentence(&e))
                        }
                    }
                }
                _ => nothing(),
            }
        }
        _ => nothing(),
    }
}

/// Whether a browser asked for this machine by a name that only means it.
fn is_local(host: Option<&str>, at: Option<SocketAddr>) -> bool {
    let Some(host) = host else { return false };
    let port = at.map(|a| format!(":{}", a.port())).unwrap_or_default();
    let name = host.strip_suffix(&port).unwrap_or(host);
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// What nobody can guess, in hexadecimal.
fn token() -> Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    let mut random = File::open("/dev/urandom").context("/dev/urandom: cannot be opened")?;
    let read = random.read_exact(&mut bytes);
    read.context("/dev/urandom: cannot be read")?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::is_local;
    use std::net::SocketAddr;

    #[test]
    fn only_names_of_this_machine_are_local() {
        let at: SocketAddr = ([127, 0, 0, 1], 7788).into();
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
            assert_eq!(is_local(host, Some(at)), local, "{host:?}");
        }
    }
}
