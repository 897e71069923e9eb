//! First light of every kind, on this machine.
#![cfg(target_os = "linux")]
// A test that cannot go on should stop, and says what it skips.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use firstlight_agent::clocks::monotonic;
use firstlight_agent::config::FirstLight;
use firstlight_agent::watch::Watch;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Far more than any of it takes, so that a busy machine does not fail.
const LIMIT: Duration = Duration::from_secs(20);

/// Whether it is seen after `cause`, and not before.
fn seen(what: &str, cause: impl FnOnce() + Send) -> Watch {
    let mut watch = Watch::begin(&FirstLight::parse(what).unwrap()).unwrap();
    assert!(!watch.look(), "{what} before");
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(30));
            cause();
        });
        let end = monotonic() + LIMIT;
        while !watch.look() {
            let left = end.saturating_sub(monotonic());
            assert!(!left.is_zero(), "{what} was not seen");
            watch.wait(left).unwrap();
        }
    });
    watch
}

/// A folder of this test.
fn folder(name: &str) -> tempfile::TempDir {
    let mut named = tempfile::Builder::new();
    named.prefix(name);
    named.tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
fn a_file_that_appears() {
    let folder = folder("watch-file");
    let at = folder.path().join("a/b/ready");
    let file = format!("file:{}", at.display());
    seen(&file, || {
        // Its folders come one by one, and one of them by another name.
        let a = at.ancestors().nth(2).unwrap();
        fs::create_dir_all(a.with_file_name("new/b")).unwrap();
        fs::rename(a.with_file_name("new"), a).unwrap();
        thread::sleep(Duration::from_millis(30));
        File::create(&at).unwrap();
    });
    // One that is there already.
    assert!(
        Watch::begin(&FirstLight::parse(&file).unwrap())
            .unwrap()
            .look()
    );
}

#[test]
fn a_tcp_port() {
    // Bound to be free: the system chose it a moment ago.
    let port = || {
        TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port()
    };
    for kind in ["listen", "accept"] {
        let port = port();
        let mut listener = None;
        let watch = seen(&format!("{kind}:{port}"), || {
            listener = Some(TcpListener::bind(("127.0.0.1", port)).unwrap());
        });
        assert!(watch.late().is_some(), "the kernel does not tell of it");
        // Of what was there at the first look nobody knows how long it was.
        let what = FirstLight::parse(&format!("{kind}:{port}")).unwrap();
        let mut watch = Watch::begin(&what).unwrap();
        assert!(watch.look());
        assert_eq!(watch.late(), None);
    }
}

#[test]
fn a_web_server_that_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // It has no such page at first, and says so; then it hangs up; then it has it,
    // and takes its time.
    let slow = Duration::from_millis(200);
    let answers = [
        "HTTP/1.1 404 Not Found\r\n\r\n",
        "",
        "HTTP/1.1 200 OK\r\n\r\nhere",
    ];
    let server = thread::spawn(move || {
        answers.map(|answer| {
            let (mut client, _) = listener.accept().unwrap();
            let mut asked = [0; 256];
            let length = client.read(&mut asked).unwrap();
            if answer.contains("200") {
                thread::sleep(slow);
            }
            client.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&asked[..length]).into_owned()
        })
    });
    let watch = seen(&format!("http:{port}/status"), || {});
    assert!(watch.late() >= Some(slow), "it may have been there before");
    for asked in server.join().unwrap() {
        assert!(asked.starts_with("GET /status HTTP/1.0\r\n"), "{asked}");
    }
}

#[test]
fn a_unix_socket() {
    for kind in ["listen", "accept"] {
        let folder = folder(&format!("watch-{kind}"));
        let at = folder.path().join("socket");
        let mut listener = None;
        seen(&format!("{kind}:{}", at.display()), || {
            // A file of the name is no socket yet.
            fs::write(&at, "").unwrap();
            thread::sleep(Duration::from_millis(30));
            fs::remove_file(&at).unwrap();
            listener = Some(UnixListener::bind(&at).unwrap());
        });
    }
}

#[test]
fn a_process() {
    // The kernel keeps 15 bytes of a name. Another one's program has another one.
    let name = format!("fl-{}-tested", std::process::id());
    let folder = folder("watch-process");
    let program = folder.path().join(&name);
    fs::copy("/bin/sleep", &program).unwrap();
    let mut child = None;
    let watch = seen(&format!("process:{name}"), || {
        child = Some(Command::new(&program).arg("60").spawn().unwrap());
    });
    println!("seen at most {:?} late", watch.late());
    let mut child = child.unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_line_of_the_kernels_log() {
    let Ok(mut kmsg) = File::options().write(true).open("/dev/kmsg") else {
        println!("skipped: a line of the kernel's log: /dev/kmsg cannot be written here");
        return;
    };
    let id = std::process::id();
    let text = format!("light \\ of test {id}");
    if Watch::begin(&FirstLight::Line(text.clone())).is_err() {
        println!("skipped: a line of the kernel's log: /dev/kmsg cannot be read here");
        return;
    }
    // One from before does not count, nor what the agent says itself.
    kmsg.write_all(format!("<7>{text}\n").as_bytes()).unwrap();
    seen(&format!("kmsg:{text}"), || {
        for line in [format!("<7>firstlight: {text}"), format!("<7>app: {text}!")] {
            kmsg.write_all(format!("{line}\n").as_bytes()).unwrap();
        }
    });
}

#[test]
fn a_time() {
    let soon = monotonic() + Duration::from_millis(50);
    let text = FirstLight::After(soon).to_string();
    seen(&text, || {});
    assert!(monotonic() >= soon);
}
