#![no_main]

//! Who may read the pages that are served. A line each: the method, the address, and headers.
//! On this machine only names of this machine are answered, elsewhere only what begins with the
//! token.

use http::{HeaderName, HeaderValue, Method, Request, Uri, header};
use serve::{Guard, admitted};
use std::cell::RefCell;
use std::net::IpAddr;

thread_local! {
    static GUARDS: RefCell<[Guard; 2]> = RefCell::new([
        Guard::of(([127, 0, 0, 1], 7788).into()).unwrap(),
        Guard::of(([192, 0, 2, 1], 7788).into()).unwrap(),
    ]);
}

/// Whether a name, with its port, means this machine and nothing else.
fn is_here(host: &str) -> bool {
    let name = host.strip_suffix(":7788").unwrap_or(host);
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|a| a.is_loopback())
}

fn request(method: Method, address: &[u8], headers: &[&[u8]]) -> Option<Request<()>> {
    let uri = Uri::try_from(address).ok()?;
    let mut request = Request::builder().method(method).uri(uri).body(()).ok()?;
    for line in headers {
        let at = line.iter().position(|b| *b == b':')?;
        let (name, value) = line.split_at(at);
        let name = HeaderName::from_bytes(name).ok()?;
        let value = HeaderValue::from_bytes(value[1..].trim_ascii()).ok()?;
        request.headers_mut().append(name, value);
    }
    Some(request)
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut lines = bytes.split(|b| *b == b'\n');
    let method = Method::from_bytes(lines.next().unwrap_or_default());
    let Ok(method) = method else { return };
    let address = lines.next().unwrap_or_default();
    let headers: Vec<&[u8]> = lines.take(16).collect();
    GUARDS.with_borrow(|[here, elsewhere]| {
        if let Some(request) = request(method.clone(), address, &headers)
            && let Ok(given) = admitted(&request, here)
        {
            assert!(method == Method::GET || method == Method::HEAD);
            assert!(given.path.starts_with('/') && !given.path.contains('?'));
            let hosts: Vec<_> = request.headers().get_all(header::HOST).iter().collect();
            assert!(matches!(hosts[..], [host] if is_here(host.to_str().unwrap())));
        }
        // The token stands before every path. The fuzzer may learn it: it sees comparisons.
        let url = elsewhere.url();
        let (_, token) = url.trim_end_matches('/').rsplit_once('/').unwrap();
        let with_token = [b"/", token.as_bytes(), address].concat();
        for address in [address, &with_token] {
            if let Some(request) = request(method.clone(), address, &headers)
                && let Ok(given) = admitted(&request, elsewhere)
            {
                let path = request.uri().path();
                assert_eq!(format!("/{token}{}", given.path), path);
            }
        }
    });
});
