//! Every way out: what arrives is the capture.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use firstlight_agent::capture::{Limits, MANIFEST, Manifest, Member, VERSION, read_tar};
use firstlight_agent::config::Out;
use firstlight_agent::deliver::{DeliverError, Older, deliver};
use firstlight_agent::frame::{Line, Reassembly};
use firstlight_agent::here::{Gathered, Large};
use firstlight_agent::payload::read_payload;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::thread;
use tempfile::TempDir;

/// A capture with a file in memory and a large one.
fn gathered() -> Gathered {
    let mut gathered = Gathered {
        manifest: Manifest {
            firstlight_capture: VERSION,
            taken_by: "a test".into(),
            machine: String::new(),
            kernel: String::new(),
            cmdline: String::new(),
            clocks: Vec::new(),
            marks: Vec::new(),
            sources: Vec::new(),
            recording: Vec::new(),
            own_devices: Vec::new(),
            notes: Vec::new(),
        },
        members: Vec::new(),
        large: Vec::new(),
        counter_hz: None,
    };
    gathered.add("kernel log", "kernel-log", "kmsg", "printk", log());
    let mut large = tempfile::tempfile().unwrap();
    large.write_all(&[7; 40_000]).unwrap();
    let large = Large {
        file: "trace/trace.dat".into(),
        content: large,
        length: 40_000,
    };
    gathered.add_large("trace", "trace.dat", "", large);
    gathered
}

fn log() -> Vec<u8> {
    (0..20_000u32).flat_map(u32::to_le_bytes).collect()
}

fn check(members: &[Member]) {
    let names: Vec<_> = members.iter().map(|m| m.0.as_str()).collect();
    assert_eq!(names, [MANIFEST, "kmsg", "trace/trace.dat"]);
    assert_eq!(members[1].1, log());
    assert_eq!(members[2].1, vec![7; 40_000]);
}

fn check_tar(tar: &[u8]) {
    check(&read_tar(tar, Limits::default()).unwrap());
}

fn folder(name: &str) -> TempDir {
    let mut named = tempfile::Builder::new();
    named.prefix(name);
    named.tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn file(path: &Path) -> Out {
    Out::File(path.to_str().unwrap().into())
}

#[test]
fn a_file_and_a_folder() {
    let folder = folder("deliver-file");
    let at = folder.path();
    let tar = at.join("boot.tar");
    deliver(&gathered(), &file(&tar), Older::Keep).unwrap();
    check_tar(&fs::read(&tar).unwrap());
    let again = deliver(&gathered(), &file(&tar), Older::Keep);
    assert!(matches!(again, Err(DeliverError::Taken { .. })));
    fs::write(&tar, "older").unwrap();
    deliver(&gathered(), &file(&tar), Older::Replace).unwrap();
    check_tar(&fs::read(&tar).unwrap());

    // A boot of its own may be the first in a folder that is not there.
    let deep = at.join("var/lib/firstlight/boot.tar");
    assert!(deliver(&gathered(), &file(&deep), Older::Keep).is_err());
    deliver(&gathered(), &file(&deep), Older::Replace).unwrap();
    assert_eq!(fs::read_dir(deep.parent().unwrap()).unwrap().count(), 1);

    let whole = at.join("boot");
    deliver(&gathered(), &file(&whole), Older::Keep).unwrap();
    let names = [MANIFEST, "kmsg", "trace/trace.dat"];
    let read = |n: &&str| ((*n).to_owned(), fs::read(whole.join(n)).unwrap());
    check(&names.iter().map(read).collect::<Vec<_>>());
}

#[test]
fn a_block_device_that_holds_nothing_else() {
    let folder = folder("deliver-device");
    let at = folder.path().join("device");
    let out = Out::Device(at.to_str().unwrap().into());
    let room = |bytes: &[u8], length: u64| {
        fs::write(&at, bytes).unwrap();
        File::options()
            .write(true)
            .open(&at)
            .unwrap()
            .set_len(length)
            .unwrap();
        deliver(&gathered(), &out, Older::Keep)
    };
    room(b"", 1 << 20).unwrap();
    let tar = read_payload(File::open(&at).unwrap(), 1 << 20).unwrap();
    check_tar(&tar);
    // An older capture may go.
    deliver(&gathered(), &out, Older::Keep).unwrap();
    let error = room(b"\xeb\x3c\x90mkfs.fat", 1 << 20)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("contains data other than a capture"),
        "{error}"
    );
    assert!(fs::read(&at).unwrap().starts_with(b"\xeb\x3c\x90mkfs.fat"));
    let error = room(b"", 8192).unwrap_err().to_string();
    assert!(error.contains("but the payload memory has 8176"), "{error}");
}

/// A pseudo-terminal: the host's end, and the target's device file.
fn port(copies: u32) -> (File, Out) {
    let host = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&host).unwrap();
    unlockpt(&host).unwrap();
    let path = ptsname(&host, Vec::new()).unwrap().into_string().unwrap();
    let out = Out::Port {
        path,
        baud: Some(115_200),
        copies,
    };
    (host.into(), out)
}

/// Receives until the sender says that it has sent all; the line numbers of
/// `lost` do not arrive.
fn receive(host: &mut impl BufRead, into: &mut Reassembly, lost: impl Fn(usize) -> bool) {
    for number in 0.. {
        let mut line = Vec::new();
        host.read_until(b'\n', &mut line).unwrap();
        assert!(!line.is_empty(), "the port was closed");
        if number % 7 == 3 {
            into.line(b"[    1.234567] usb 1-1: new device\r\n");
        }
        if !lost(number) && into.line(&line) == Line::End {
            return;
        }
    }
}

#[test]
fn a_port_whose_receiver_asks_again() {
    let (host, out) = port(1);
    let mut answers = host.try_clone().unwrap();
    let mut host = BufReader::new(host);
    let mut reassembly = Reassembly::new(1 << 20);
    thread::scope(|scope| {
        let sender = scope.spawn(|| deliver(&gathered(), &out, Older::Keep));
        receive(&mut host, &mut reassembly, |n| n % 5 == 1);
        let answer = reassembly.answer().unwrap();
        assert!(answer.contains('+'), "{answer}");
        answers.write_all(answer.as_bytes()).unwrap();
        // The first that are missing; an answer has room for some only.
        loop {
            receive(&mut host, &mut reassembly, |_| false);
            let answer = reassembly.answer().unwrap();
            answers.write_all(b"some noise\n").unwrap();
            answers.write_all(answer.as_bytes()).unwrap();
            if answer.ends_with(" ok\n") {
                break;
            }
        }
        sender.join().unwrap().unwrap();
    });
    check_tar(&reassembly.finish().unwrap());
}

#[test]
fn a_port_whose_receiver_only_listens() {
    let (host, out) = port(2);
    let mut host = BufReader::new(host);
    let mut reassembly = Reassembly::new(1 << 20);
    thread::scope(|scope| {
        let sender = scope.spawn(|| deliver(&gathered(), &out, Older::Keep));
        receive(&mut host, &mut reassembly, |n| n % 5 == 1);
        receive(&mut host, &mut reassembly, |n| n % 5 == 2);
        sender.join().unwrap().unwrap();
    });
    check_tar(&reassembly.finish().unwrap());
}
