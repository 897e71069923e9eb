//! Requests that a device answered with an error, through the public command line, in
//! every format that says so.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Scratch, firstlight, json, valid};
use serde_json::{Value, json as value};

/// Two reads as ftrace prints them; the second one fails. Kernels from 5.18 on say so
/// twice.
const FTRACE: &str = "\
# tracer: nop
#
# entries-in-buffer/entries-written: 5/5   #P:1
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
        modprobe-96      [000] .....     4.000000: block_rq_issue: 8,0 R 4096 () 64 + 8 none,0,0 [modprobe]
        modprobe-96      [000] d.h1.     4.001000: block_rq_complete: 8,0 R () 64 + 8 none,0,0 [0]
        modprobe-96      [000] .....     4.002000: block_rq_issue: 8,0 R 4096 () 72 + 8 none,0,0 [modprobe]
        modprobe-96      [000] d.h1.     4.009000: block_rq_error: 8,0 R () 72 + 8 none,0,0 [-5]
        modprobe-96      [000] d.h1.     4.009000: block_rq_complete: 8,0 R () 72 + 8 none,0,0 [-5]
";

/// The same as blkparse prints them: it takes the error for a number without sign.
const BLKPARSE: &str = "\
  8,0    0        1     0.000000000    96  D   R 64 + 8 [modprobe]
  8,0    0        2     0.001000000     0  C   R 64 + 8 [0]
  8,0    0        3     0.002000000    96  D   R 72 + 8 [modprobe]
  8,0    0        4     0.009000000     0  C   R 72 + 8 [65531]
";

/// The same as blktrace writes them.
fn blktrace() -> Vec<u8> {
    let mut bytes = Vec::new();
    // `include/uapi/linux/blktrace_api.h`: D is 7, C is 8; a read sets no bit but that it
    // is a filesystem's (0x10000 << 0 is read).
    for (n, (action, ms, sector, error)) in [
        (7_u32, 0_u64, 64_u64, 0_u16),
        (8, 1, 64, 0),
        (7, 2, 72, 0),
        (8, 9, 72, 5),
    ]
    .into_iter()
    .enumerate()
    {
        bytes.extend(0x6561_7407_u32.to_le_bytes());
        bytes.extend((n as u32 + 1).to_le_bytes());
        bytes.extend((ms * 1_000_000).to_le_bytes());
        bytes.extend(sector.to_le_bytes());
        bytes.extend(4096_u32.to_le_bytes());
        bytes.extend((action | 1 << 16).to_le_bytes());
        bytes.extend(96_u32.to_le_bytes());
        bytes.extend((8_u32 << 20).to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        let error = if error == 0 { 0 } else { error.wrapping_neg() };
        bytes.extend(error.to_le_bytes());
        bytes.extend(0_u16.to_le_bytes());
    }
    bytes
}

#[test]
fn an_error_of_a_device_is_told() {
    let scratch = Scratch::new();
    for (name, bytes) in [
        ("trace.txt", FTRACE.as_bytes().to_vec()),
        ("blkparse.txt", BLKPARSE.as_bytes().to_vec()),
        ("sda.blktrace.0", blktrace()),
    ] {
        let file = scratch.file(name, &bytes);
        let io = json(&["io", "--json", &file]);
        valid(&io, "io");
        assert_eq!(
            (&io["requests"], &io["failed"]),
            (&value!(2), &value!(1)),
            "{name}"
        );
        assert_eq!(io["operations"][0]["failed"], 1, "{name}");
        let [failure] = io["failures"].as_array().unwrap().as_slice() else {
            panic!("{name}: {}", io["failures"])
        };
        for (key, wanted) in [
            ("device", value!("8:0")),
            ("operation", value!("read")),
            ("error", value!(-5)),
            ("meaning", value!("EIO: I/O error")),
            ("requests", value!(1)),
            ("bytes", value!(4096)),
        ] {
            assert_eq!(failure[key], wanted, "{name}: {key}");
        }
        let ended = failure["first_ns"].as_i64().unwrap();
        let began = io["timeline"][0]["start_ns"].as_i64().unwrap();
        assert_eq!(ended - began, 9_000_000, "{name}");
        let notes = io["notes"].as_array().unwrap();
        let note = notes
            .iter()
            .find(|n| n["kind"] == "request_failed")
            .unwrap();
        assert_eq!(note["count"], 1, "{name}");
        assert_eq!(
            note["detail"], "first: sector 72 on 8:0, error -5",
            "{name}"
        );
        for source in io["sources"].as_array().unwrap() {
            let of = |key: &str| source[key].as_u64().unwrap();
            assert_eq!(of("units"), of("events") + of("noted"), "{name}");
        }
        let screen = String::from_utf8(firstlight(&["io", &file]).stdout).unwrap();
        assert!(
            screen.contains("1 of 2 requests failed"),
            "{name}\n{screen}"
        );
        assert!(screen.contains("-5 EIO: I/O error"), "{name}\n{screen}");
    }
}

#[test]
fn without_an_error_nothing_is_said_of_errors() {
    let io = json(&["io", "--json", "corpus/ftrace/trace.txt"]);
    assert_eq!(io["failed"], 0);
    assert_eq!(io["failures"], Value::Array(Vec::new()));
    let screen = String::from_utf8(firstlight(&["io", "corpus/ftrace/trace.txt"]).stdout).unwrap();
    assert!(!screen.contains("Failed"), "{screen}");
}
