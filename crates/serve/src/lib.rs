//! Read-only pages over HTTP.
//!
//! [`Server`] answers GET and HEAD with what a function gives, and keeps everybody else
//! out: on a loopback address it answers only to names of this machine, and on any
//! other one every path begins with a token that nobody can guess. HTTP/1.1 itself is
//! hyper's.

mod guard;
mod query;

pub use guard::Guard;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

/// How many browsers are answered at once; others are told to come again.
const AT_ONCE: usize = 8;

/// The longest request that is read, in bytes: its line and its headers.
const MOST_BYTES: usize = 16 << 10;

/// How long a browser may take to send its request, or to take a piece of an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The headers of every answer.
const HEADERS: [(header::HeaderName, &str); 4] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
];

/// What a browser asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The path behind the token, as it was sent: `/page`.
    pub path: String,
    /// What follows the question mark: names and values, decoded.
    pub query: Vec<(String, String)>,
}

/// What it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: StatusCode,
    body: String,
    is_page: bool,
}

impl Answer {
    /// A page of HTML.
    #[must_use]
    pub const fn page(body: String) -> Self {
        Self {
            status: StatusCode::OK,
            body,
            is_page: true,
        }
    }

    /// A sentence: nothing is at this address.
    #[must_use]
    pub fn nothing() -> Self {
        Self::sentence(StatusCode::NOT_FOUND, "there is nothing at this address")
    }

    /// A sentence: what is at this address cannot be shown, for this reason.
    #[must_use]
    pub fn unreadable(why: &str) -> Self {
        Self::sentence(StatusCode::UNPROCESSABLE_ENTITY, why)
    }

    fn sentence(status: StatusCode, body: &str) -> Self {
        Self {
            status,
            body: format!("{body}\n"),
            is_page: false,
        }
    }

    fn response(self) -> Response<Full<Bytes>> {
        let kind = match self.is_page {
            true => "text/html; charset=utf-8",
            false => "text/plain; charset=utf-8",
        };
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        for (name, value) in HEADERS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// A server that listens, and has not answered yet.
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    guard: Guard,
}

impl Server {
    /// Listens on `address`; port 0 takes any free one.
    ///
    /// # Errors
    /// If the address cannot be listened on, or there is no randomness for a token.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let guard = Guard::of(listener.local_addr()?)?;
        Ok(Self { listener, guard })
    }

    /// The address to give to a browser, with the token if there is one.
    #[must_use]
    pub fn url(&self) -> String {
        self.guard.url()
    }

    /// Answers requests until the process ends. `answer` may take its time: each call
    /// has a thread of its own, at most eight at once.
    ///
    /// # Errors
    /// If the runtime cannot be started.
    pub fn run(
        self,
        answer: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(AT_ONCE)
            .build()?;
        let shared = Arc::new(Shared {
            answer,
            guard: self.guard,
            places: Arc::new(Semaphore::new(AT_ONCE)),
        });
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        tokio::spawn(connection(stream, Arc::clone(&shared)));
                    }
                    // A browser that went away meanwhile is none of ours. Where the
                    // process has too many files open, some are closed soon.
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        })
    }
}

/// What all connections share.
struct Shared<F> {
    answer: F,
    guard: Guard,
    places: Arc<Semaphore>,
}

/// Answers one request, and closes the connection.
async fn connection<F>(stream: TcpStream, shared: Arc<Shared<F>>)
where
    F: Fn(&Request) -> Answer + Send + Sync + 'static,
{
    let place = Arc::clone(&shared.places).try_acquire_owned().ok();
    let is_busy = place.is_none();
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(PATIENCE));
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            let answer = match (is_busy, admitted(&request, &shared.guard)) {
                (true, _) => {
                    Answer::sentence(StatusCode::SERVICE_UNAVAILABLE, "busy: load the page again")
                }
                (false, Err(refusal)) => refusal,
                (false, Ok(request)) => {
                    let answered =
                        tokio::task::spawn_blocking(move || (shared.answer)(&request)).await;
                    answered.unwrap_or_else(|_| {
                        let failed = StatusCode::INTERNAL_SERVER_ERROR;
                        Answer::sentence(failed, "the page could not be made")
                    })
                }
            };
            Ok::<_, Infallible>(answer.response())
        }
    });
    let http = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .keep_alive(false)
        .max_buf_size(MOST_BYTES)
        .title_case_headers(true)
        .serve_connection(TokioIo::new(pin!(stream)), service)
        .await;
    // What fails here is that the browser went away.
    drop(http);
    drop(place);
}

/// The request, if `guard` lets it be answered; else what to say. It is public because fuzzing
/// asks it directly: everything before it is hyper's.
///
/// # Errors
/// The answer that refuses it.
pub fn admitted<B>(request: &hyper::Request<B>, guard: &Guard) -> Result<Request, Answer> {
    let refused = |status, why| Err(Answer::sentence(status, why));
    let bad = || refused(StatusCode::BAD_REQUEST, "the request cannot be understood");
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return refused(
            StatusCode::METHOD_NOT_ALLOWED,
            "only reading is possible here",
        );
    }
    let uri = request.uri();
    let Some(query) = query::decoded(uri.query().unwrap_or_default()) else {
        return bad();
    };
    if uri.authority().is_some() || !uri.path().starts_with('/') {
        return bad();
    }
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next().and_then(|h| h.to_str().ok());
    if hosts.next().is_some() {
        return bad();
    }
    if !guard.knows(host) {
        return refused(StatusCode::FORBIDDEN, "this host name is not served here");
    }
    match guard.within(uri.path()) {
        Some(path) => Ok(Request {
            path: path.to_owned(),
            query,
        }),
        None => Err(Answer::nothing()),
    }
}
