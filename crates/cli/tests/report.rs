//! `firstlight report` and `firstlight serve`, as a user runs them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{Scratch, firstlight, json, valid, workspace};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// The data block of a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let (block, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(block).unwrap()
}

fn page(args: &[&str], out: &str) -> Value {
    let done = json(&[&["report", "--json", "-o", out], args].concat());
    assert_eq!(done["page"], out);
    data(&std::fs::read_to_string(out).unwrap())
}

/// Three reads and a write of a disk, as blkparse prints them.
fn blkparse(sectors: &[u64]) -> String {
    let mut text = String::new();
    for (n, sector) in sectors.iter().enumerate() {
        let at = |us: usize| format!("0.{:09}", (n * 2_000 + us) * 1_000);
        for (action, us) in [("Q", 0), ("D", 5), ("C", 400)] {
            let who = if action == "C" { "[0]" } else { "[cat]" };
            writeln!(
                text,
                "  8,0    0 {:8} {} {:5} {action}   R {sector} + 8 {who}",
                n * 3 + 1,
                at(us),
                100
            )
            .unwrap();
        }
    }
    text
}

#[test]
fn an_image_names_the_file_of_each_request() {
    let scratch = Scratch::new();
    let root = scratch.path("root");
    std::fs::create_dir_all(format!("{root}/usr/bin")).unwrap();
    for (name, fill) in [("usr/bin/first", b'a'), ("usr/bin/second", b'b')] {
        std::fs::write(format!("{root}/{name}"), vec![fill; 40_000]).unwrap();
    }
    let image = scratch.path("root.img");
    let made = Command::new("mke2fs")
        .args([
            "-q", "-F", "-t", "ext4", "-b", "4096", "-d", &root, &image, "8M",
        ])
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .output();
    if !made.is_ok_and(|m| m.status.success()) {
        eprintln!("skipped: mke2fs makes no image here");
        return;
    }
    let list = scratch.file("list", b"/usr/bin/second\n/usr/bin/first\n");
    let map = json(&["image", "map", &image, "--files", &list, "--json"]);
    let place = |path: &str| {
        let rows = map["rows"].as_array().unwrap();
        let row = rows.iter().find(|r| r["path"] == path).unwrap();
        row["start"].as_u64().unwrap()
    };
    // The filesystem begins at sector 2048 of the disk that was traced.
    let (first, second) = (place("/usr/bin/first"), place("/usr/bin/second"));
    let trace = blkparse(&[second + 2048, first + 2048, first + 2056, 2048 + 8]);
    let trace = scratch.file("trace.blkparse", trace.as_bytes());
    let out = scratch.path("boot.html");
    let found = page(&[&trace, "--image", &image, "--base", "2048"], &out);
    let owners = &found["baseline"]["io"]["owners"];
    assert_eq!(owners["from"], "image");
    let rows: Vec<_> = owners["rows"].as_array().unwrap().iter().collect();
    let names: Vec<_> = rows.iter().map(|r| r["path"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["/usr/bin/second", "/usr/bin/first"]);
    assert_eq!(rows[1]["requests"], 2);
    assert_eq!(rows[1]["read_bytes"], 8192);
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names[2].starts_with('('), "{names:?}");

    // `io` says the same, and names the owner of each request.
    let of = ["--image", &image, "--base", "2048"];
    let io = json(&[&["io", &trace, "--json"][..], &of].concat());
    assert_eq!(&io["owners"], owners);
    let csv = firstlight(&[&["io", &trace, "--csv"][..], &of].concat());
    let csv = String::from_utf8_lossy(&csv.stdout).into_owned();
    let owned = csv.lines().filter(|l| l.contains(",/usr/bin/first,"));
    assert_eq!(owned.count(), 2, "{csv}");
    let screen = firstlight(&[&["io", &trace][..], &of].concat());
    let screen = String::from_utf8_lossy(&screen.stdout).into_owned();
    let line = screen.lines().find(|l| l.ends_with("/usr/bin/first"));
    assert!(line.unwrap().trim_start().starts_with("8 KiB"), "{screen}");

    // Without an image nobody knows; a device that is not there is refused.
    let without = page(&[&trace], &out);
    assert_eq!(without["baseline"]["io"]["owners"]["from"], "nothing");
    let wrong = firstlight(&[
        "report", &trace, "--image", &image, "--device", "9:9", "-o", &out,
    ]);
    assert_eq!(wrong.status.code(), Some(2));
    let says = String::from_utf8_lossy(&wrong.stderr);
    assert!(
        says.contains("no requests of device 9:9; there are 8:0"),
        "{says}"
    );
}

#[test]
fn the_same_picture_comes_as_vectors_and_as_pixels() {
    let scratch = Scratch::new();
    let trace = scratch.file("trace.blkparse", blkparse(&[800, 16, 4000]).as_bytes());
    let (svg, png) = (scratch.path("io.svg"), scratch.path("io.png"));
    let done = firstlight(&["io", &trace, "--svg", &svg, "--png", &png]);
    assert_eq!(done.status.code(), Some(0));
    let svg = std::fs::read_to_string(&svg).unwrap();
    let number = |name: &str| -> u32 {
        let rest = svg.split_once(&format!("{name}=\"")).unwrap().1;
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    let file = std::io::BufReader::new(std::fs::File::open(&png).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(
        (info.width, info.height),
        (number("width"), number("height"))
    );
    // Reads are blue; there are marks of three, beside the legend.
    let blue = |p: &&[u8]| *p == [0x00, 0x72, 0xb2];
    let blue = pixels.chunks_exact(3).filter(blue).count();
    assert!(blue > 144 + 3 * 2 * 2, "{blue} pixels of reads");
    assert!(pixels.chunks_exact(3).filter(|p| *p == [0x22; 3]).count() > 100);
}

#[test]
fn raw_files_of_two_boots_are_compared() {
    let scratch = Scratch::new();
    let before = scratch.file("before.blkparse", blkparse(&[800, 16, 4000]).as_bytes());
    let after = scratch.file("after.blkparse", blkparse(&[16, 24, 32]).as_bytes());
    let found = page(&[&before, "--against", &after], &scratch.path("boot.html"));
    let sequential = |side: &str| found[side]["io"]["sequence"]["sequential"].clone();
    assert_eq!(
        (sequential("baseline"), sequential("best")),
        (0.into(), 2.into())
    );
    assert!(
        found["best"]["title"]
            .as_str()
            .unwrap()
            .ends_with("after.blkparse")
    );
}

const CLASSIC: &str = r#"{"schema": "firstlight.classics.result/1", "id": "quiet", "title": "quiet",
    "source": "A talk", "machine": "arm-virt", "here": "as there", "why": "another kernel",
    "values": [
        {"name": "without", "published_ns": 2352000000, "measured_ns": 1388821888,
         "published_ratio": 1.0, "measured_ratio": 1.0},
        {"name": "with", "published_ns": 1285000000, "measured_ns": null,
         "published_ratio": 0.5463, "measured_ratio": null}],
    "failures": []}"#;

#[test]
fn published_results_have_a_page() {
    let scratch = Scratch::new();
    for name in ["all/b", "all/a", "all/other"] {
        std::fs::create_dir_all(scratch.path(name)).unwrap();
    }
    let stored: Value = serde_json::from_str(CLASSIC).unwrap();
    valid(&stored, "classics.result");
    scratch.file("all/a/result.json", CLASSIC.as_bytes());
    scratch.file(
        "all/b/result.json",
        CLASSIC.replace("quiet", "loud").as_bytes(),
    );
    let out = scratch.path("page.html");
    let one = page(&[&scratch.path("all/a")], &out);
    assert_eq!(one["schema"], "firstlight.published/1");
    let mut shown = one["results"][0].clone();
    valid(&shown, "classics.result");
    assert_eq!(shown["values"].take(), stored["values"]);
    let both = page(&[&scratch.path("all")], &out);
    let ids: Vec<_> = both["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["id"])
        .collect();
    assert_eq!(ids, ["quiet", "loud"]);
    scratch.file(
        "all/a/result.json",
        CLASSIC.replace("\"why\"", "\"y\"").as_bytes(),
    );
    let broken = firstlight(&["report", &scratch.path("all/a"), "-o", &out]);
    assert_eq!(broken.status.code(), Some(2));
    let says = String::from_utf8_lossy(&broken.stderr);
    assert!(
        says.contains("all/a/result.json: not what `firstlight lab classics` writes"),
        "{says}"
    );
}

/// A server of a folder, and where it is.
struct Server {
    child: Child,
    /// `127.0.0.1:1234`.
    address: String,
    /// What every path begins with.
    prefix: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Server {
    fn of(dir: &str, bind: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_firstlight"))
            .args(["serve", dir, "--bind", bind, "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.ends_with("}\n") {
            assert!(lines.read_line(&mut text).unwrap() > 0, "{text}");
        }
        let said: Value = serde_json::from_str(&text).unwrap();
        valid(&said, "serve");
        let url = said["url"].as_str().unwrap().trim_end_matches('/');
        let rest = url.strip_prefix("http://").unwrap();
        let (address, prefix) = rest
            .split_once('/')
            .map_or((rest, String::new()), |(a, p)| (a, format!("/{p}")));
        Self {
            child,
            address: address.replace("0.0.0.0", "127.0.0.1"),
            prefix,
        }
    }

    /// The status, the headers and the body of an answer.
    fn ask(&self, method: &str, path: &str, host: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_owned(), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String, String) {
        self.ask("GET", &format!("{}{path}", self.prefix), &self.address)
    }
}

/// A folder to serve, with something beside it that must not be.
fn folder() -> Scratch {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path("boots/classic")).unwrap();
    let log = "[    0.000000] Linux version 6.1.0\n[    1.500000] Run /sbin/init as init process\n";
    scratch.file("secret.log", log.as_bytes());
    scratch.file("boots/one.log", log.as_bytes());
    scratch.file("boots/.hidden.log", log.as_bytes());
    scratch.file("boots/classic/result.json", CLASSIC.as_bytes());
    let capture = workspace().join("corpus/captures/v1-debian.tar.zst");
    std::fs::copy(capture, scratch.path("boots/debian.tar.zst")).unwrap();
    std::os::unix::fs::symlink(scratch.path("secret.log"), scratch.path("boots/link.log")).unwrap();
    scratch
}

#[test]
fn a_folder_is_listed_and_each_entry_has_its_page() {
    let scratch = folder();
    let server = Server::of(&scratch.path("boots"), "127.0.0.1:0");
    assert_eq!(server.prefix, "", "who is on this machine needs no token");
    let (status, head, body) = server.get("/");
    assert_eq!(status, 200);
    assert!(head.contains("X-Content-Type-Options: nosniff"), "{head}");
    let list = data(&body);
    valid(&list, "list");
    let entries = list["entries"].as_array().unwrap();
    let known: Vec<_> = entries
        .iter()
        .map(|e| (e["path"].as_str().unwrap(), e["kind"].as_str().unwrap()))
        .collect();
    let wanted = [
        ("classic", "published"),
        ("debian.tar.zst", "capture"),
        ("one.log", "log"),
    ];
    assert_eq!(known, wanted);
    assert_eq!(entries[1]["clock"], "virtual");
    assert!(entries[1]["first_light_ns"].as_i64().unwrap() > 10_000_000_000);
    for (path, schema) in [
        ("classic", "firstlight.published/1"),
        ("one.log", "firstlight.page/2"),
    ] {
        let (status, _, body) = server.get(&format!("/page?path={path}"));
        assert_eq!(
            (status, &data(&body)["schema"]),
            (200, &schema.into()),
            "{path}"
        );
        if schema == "firstlight.page/2" {
            valid(&data(&body), "page");
        }
    }
    let (status, _, body) = server.ask("HEAD", "/", &server.address);
    assert_eq!((status, body.as_str()), (200, ""));
}

#[test]
fn only_what_is_listed_is_read_and_nothing_is_written() {
    let scratch = folder();
    let server = Server::of(&scratch.path("boots"), "127.0.0.1:0");
    for path in [
        "/page?path=../secret.log",
        "/page?path=..%2Fsecret.log",
        "/page?path=%2Fetc%2Fpasswd",
        "/page?path=link.log",
        "/page?path=.hidden.log",
        "/page?path=classic%2F..%2F..%2Fsecret.log",
        "/page?path=one.log&path=..%2Fsecret.log",
        "/page",
        "/one.log",
        "/../secret.log",
    ] {
        let (status, _, body) = server.get(path);
        assert_eq!(status, 404, "{path}");
        assert!(!body.contains("Linux version"), "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        assert_eq!(server.ask(method, "/", &server.address).0, 405, "{method}");
    }
    // A page of elsewhere that gave itself this machine's address.
    assert_eq!(server.ask("GET", "/", "evil.example").0, 403);
}

#[test]
fn bound_elsewhere_it_has_a_token() {
    let scratch = folder();
    let (one, other) = (
        Server::of(&scratch.path("boots"), "0.0.0.0:0"),
        Server::of(&scratch.path("boots"), "0.0.0.0:0"),
    );
    for server in [&one, &other] {
        assert_eq!(server.prefix.len(), 33, "{}", server.prefix);
        assert_eq!(server.get("/").0, 200);
        for path in [
            "/",
            "/page?path=one.log",
            "/00000000000000000000000000000000/",
        ] {
            let (status, _, body) = server.ask("GET", path, &server.address);
            assert_eq!(status, 404, "{path}");
            assert!(!body.contains("one.log"), "{path}");
        }
    }
    assert_ne!(one.prefix, other.prefix);
    assert_eq!(
        one.ask("GET", &format!("{}/", other.prefix), &one.address)
            .0,
        404
    );
}
