//! What the server says to browsers, and to those who are none.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use firstlight_serve::{Answer, Request, Server};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

const LOCAL: [u8; 4] = [127, 0, 0, 1];

/// A server that says what it was asked for; its address.
fn server() -> String {
    let server = Server::bind(SocketAddr::from((LOCAL, 0))).unwrap();
    let url = server.url();
    thread::spawn(move || {
        server.run(|request: &Request| match request.path.as_str() {
            "/" => Answer::page(format!("<p>{:?}</p>", request.query)),
            "/large" => Answer::page("x".repeat(8 << 20)),
            "/slow" => {
                thread::sleep(Duration::from_secs(2));
                Answer::page(String::new())
            }
            "/broken" => Answer::unreadable("broken.log: not a boot"),
            "/bug" => panic!("a bug"),
            _ => Answer::nothing(),
        })
    });
    url.trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned()
}

/// Sends `bytes`; gives the answer's status and all of its text.
fn send(address: &str, bytes: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(bytes).ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok());
    (status.unwrap_or(0), answer)
}

fn get(address: &str, path: &str) -> (u16, String) {
    send(
        address,
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes(),
    )
}

#[test]
fn a_page_comes_with_its_headers() {
    let address = server();
    let (status, answer) = get(&address, "/?path=a%2Fb+c&x");
    assert_eq!(status, 200, "{answer}");
    for header in [
        "Content-Type: text/html; charset=utf-8",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "X-Frame-Options: DENY",
        "Referrer-Policy: no-referrer",
        "Connection: close",
    ] {
        assert!(answer.contains(&format!("\r\n{header}\r\n")), "{answer}");
    }
    assert!(answer.ends_with("<p>[(\"path\", \"a/b c\"), (\"x\", \"\")]</p>"));
    let (_, head) = send(
        &address,
        format!("HEAD / HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes(),
    );
    assert!(head.contains("Content-Length: 9\r\n"), "{head}");
    assert!(head.ends_with("\r\n\r\n"), "{head}");
    let (_, large) = get(&address, "/large");
    assert!(large.len() > 8 << 20);
}

#[test]
fn what_is_wrong_is_said() {
    let address = server();
    assert_eq!(get(&address, "/none").0, 404);
    assert_eq!(get(&address, "/bug").0, 500);
    let (status, answer) = get(&address, "/broken");
    assert_eq!(status, 422);
    assert!(answer.ends_with("broken.log: not a boot\n"), "{answer}");
    let (status, answer) = send(
        &address,
        format!("POST / HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes(),
    );
    assert_eq!(status, 405, "{answer}");
}

#[test]
fn names_of_elsewhere_are_refused() {
    let address = server();
    for host in ["evil.example", "localhost.evil.example", "10.0.0.1", ""] {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(send(&address, request.as_bytes()).0, 403, "{host:?}");
    }
    assert_eq!(send(&address, b"GET / HTTP/1.1\r\n\r\n").0, 403);
    let both = format!("GET / HTTP/1.1\r\nHost: {address}\r\nHost: evil.example\r\n\r\n");
    assert_eq!(send(&address, both.as_bytes()).0, 400);
}

#[test]
fn what_is_no_request_is_refused() {
    let address = server();
    for line in [
        "GET  / HTTP/1.1",
        "GET / HTTP/2",
        "GET http://elsewhere/ HTTP/1.1",
        "GET /?a=%zz HTTP/1.1",
        "GET /?a=%ff HTTP/1.1",
        "GET /?a=%f HTTP/1.1",
        "nonsense",
    ] {
        let request = format!("{line}\r\nHost: {address}\r\n\r\n");
        let (status, answer) = send(&address, request.as_bytes());
        // hyper closes the connection on another version without a word.
        assert!(matches!(status, 0 | 400 | 505), "{line:?}: {answer}");
    }
}

#[test]
fn long_requests_are_refused() {
    let address = server();
    let long = "a".repeat(64 << 10);
    let (status, _) = get(&address, &format!("/?{long}"));
    assert!(matches!(status, 0 | 400 | 414 | 431), "{status}");
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nX: {long}\r\n\r\n");
    let (status, _) = send(&address, request.as_bytes());
    assert!(matches!(status, 0 | 400 | 431), "{status}");
}

#[test]
fn more_than_eight_at_once_are_told_to_come_again() {
    let address = server();
    let browsers: Vec<_> = (0..8)
        .map(|_| {
            let address = address.clone();
            thread::spawn(move || get(&address, "/slow").0)
        })
        .collect();
    thread::sleep(Duration::from_millis(500));
    assert_eq!(get(&address, "/").0, 503);
    for browser in browsers {
        assert_eq!(browser.join().unwrap(), 200);
    }
    assert_eq!(get(&address, "/").0, 200);
}
