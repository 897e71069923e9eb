//! As much of HTTP/1.1 as a browser needs to read pages: GET and HEAD, one
//! request a connection, bounded in size and time (RFC 9110, RFC 9112).

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The longest request that is read, in bytes: its line and its headers.
const MOST_BYTES: usize = 16 << 10;

/// How long a browser may take to send its request, or to take an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a browser asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, or whatever else it says.
    pub method: String,
    /// The path, as it was sent: `/page`.
    pub path: String,
    /// What follows the question mark: names and values, decoded.
    pub query: Vec<(String, String)>,
    /// The host that it thinks it talks to.
    pub host: Option<String>,
}

/// What it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// `200 OK`.
    pub status: &'static str,
    /// Its body: a page, or a sentence.
    pub body: String,
    /// Whether the body is a page.
    pub is_page: bool,
}

impl Answer {
    /// A page.
    pub fn page(body: String) -> Self {
        Self {
            status: "200 OK",
            body,
            is_page: true,
        }
    }

    /// A sentence.
    pub fn sentence(status: &'static str, body: impl Into<String>) -> Self {
        Self {
            status,
            body: body.into() + "\n",
            is_page: false,
        }
    }
}

/// Reads one request, has it answered, and closes the connection.
pub fn serve(stream: &mut TcpStream, answer: impl FnOnce(&Request) -> Answer) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut bytes = Vec::new();
    let mut part = [0; 2048];
    while !bytes.windows(4).any(|w| w == b"\r\n\r\n") {
        let read = stream.read(&mut part)?;
        if read == 0 || bytes.len() + read > MOST_BYTES {
            break;
        }
        bytes.extend_from_slice(part.get(..read).unwrap_or_default());
    }
    let request = parse(&bytes);
    let answer = match &request {
        Some(r) if r.method == "GET" || r.method == "HEAD" => answer(r),
        Some(_) => Answer::sentence("405 Method Not Allowed", "only reading is possible here"),
        None => Answer::sentence("400 Bad Request", "not a request that is understood here"),
    };
    let kind = if answer.is_page { "html" } else { "plain" };
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: text/{kind}; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
        answer.status,
        answer.body.len(),
    );
    stream.write_all(head.as_bytes())?;
    if request.is_none_or(|r| r.method != "HEAD") {
        stream.write_all(answer.body.as_bytes())?;
    }
    stream.flush()
}

/// A request's line and the header that matters here; `None` if it is none.
pub fn parse(bytes: &[u8]) -> Option<Request> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, _) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") || !target.starts_with('/') {
        return None;
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = query.split('&').filter(|p| !p.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decoded(name)?, decoded(value)?))
    });
    let host = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_host = name.eq_ignore_ascii_case("host");
        is_host.then(|| value.trim().to_owned())
    });
    Some(Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: pairs.collect::<Option<Vec<_>>>()?,
        host,
    })
}

/// `%2F` and `+` as what they stand for; `None` if that is no text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok()?;
                u8::from_str_radix(digits, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{Request, parse};
    use proptest::prelude::*;

    #[test]
    fn a_request_is_its_line_and_its_host() {
        let bytes = b"GET /page?path=a%2Fb+c&x HTTP/1.1\r\nhost: localhost:7788\r\n\r\n";
        let wanted = Request {
            method: "GET".to_owned(),
            path: "/page".to_owned(),
            query: vec![
                ("path".to_owned(), "a/b c".to_owned()),
                ("x".to_owned(), String::new()),
            ],
            host: Some("localhost:7788".to_owned()),
        };
        assert_eq!(parse(bytes), Some(wanted));
    }

    #[test]
    fn what_is_no_request_is_none() {
        for text in [
            "",
            "GET / HTTP/1.1\r\n",
            "GET  / HTTP/1.1\r\n\r\n",
            "GET / HTTP/2\r\n\r\n",
            "GET http://elsewhere/ HTTP/1.1\r\n\r\n",
            "GET /?a=%zz HTTP/1.1\r\n\r\n",
            "GET /?a=%ff HTTP/1.1\r\n\r\n",
            "GET /?a=%f HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes: Vec<u8>) {
            parse(&bytes);
            let mut line = b"GET /?".to_vec();
            line.extend(&bytes);
            line.extend(b" HTTP/1.1\r\n\r\n");
            parse(&line);
        }
    }
}
