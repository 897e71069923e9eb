//! What `show` says of a console: real logs, and pairs of a console's log and
//! the kernel's.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{json, sample};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

fn show(paths: &[&Path]) -> Value {
    let mut args = vec!["show", "--json"];
    args.extend(paths.iter().map(|p| p.to_str().unwrap()));
    json(&args)
}

fn seconds(value: &Value) -> f64 {
    value.as_f64().unwrap() / 1e9
}

/// A Raspberry Pi Zero W was booted three times: its console at 115,200 baud,
/// the same with `quiet`, and at 9,600 baud. The log of the first is there; of
/// the others is known when the console was disabled and enabled.
#[test]
fn the_flush_of_a_real_board_takes_what_its_rate_says() {
    let Some(path) = sample("dmesg/rpi-zero-w-normal-dmesg.txt") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let log = std::fs::read_to_string(path).unwrap();
    let boot = |options: &str| {
        let path = folder.path().join("dmesg.txt");
        std::fs::write(&path, log.replace("console=ttyS0,115200", options)).unwrap();
        show(&[&path])["console"].clone()
    };
    let close = |reckoned: f64, measured: f64, within: f64| {
        let part = reckoned / measured;
        assert!(
            (1.0 - within..=1.0).contains(&part),
            "{reckoned} s of {measured} s"
        );
    };

    let normal = boot("console=ttyS0,115200");
    assert_eq!(normal["name"], "ttyS0");
    let flush = &normal["flush"];
    let measured = seconds(&flush["end_ns"]) - seconds(&flush["start_ns"]);
    assert!(
        (measured - (2.581_290 - 1.424_545)).abs() < 1e-6,
        "{measured}"
    );
    // The board did other things meanwhile: USB devices were found.
    close(seconds(&flush["written"]["line_time_ns"]), measured, 0.15);

    let slow = boot("console=ttyS0,9600");
    close(
        seconds(&slow["flush"]["written"]["line_time_ns"]),
        14.012 - 1.423,
        0.05,
    );
    // From the end of the flush to the start of init the kernel only wrote.
    let after = seconds(&slow["kernel"]["line_time_ns"])
        - seconds(&slow["flush"]["written"]["line_time_ns"]);
    assert!(after > 16.11 - 14.012, "{after}");

    let quiet = boot("console=ttyS0,115200 quiet");
    assert_eq!(quiet["flush"]["written"]["line_time_ns"], 0);
}

/// A console of 9,600 baud that was enabled at 1.0 s: what was logged before
/// waits, and what comes later waits behind it. Lines 70 bytes long.
struct Pair {
    /// What the host saw, and what the kernel logged.
    serial: String,
    dmesg: String,
    /// How late each line came, in microseconds.
    delays: Vec<i64>,
}

const ZERO_US: i64 = 4_000_000;

fn pair(stamps_on_console: bool) -> Pair {
    let mut pair = Pair {
        serial: "# firstlight-serial 1\n# line 9600 baud, 10 bits a byte\n".into(),
        dmesg: String::new(),
        delays: Vec::new(),
    };
    let byte_us = 10_000_000 / 9_600;
    let mut free_at = 1_000_000;
    for i in 0..200_i64 {
        // Later lines are far apart: the console gets free between them.
        let stamp = if i < 100 {
            10_000 * i
        } else {
            9_000_000 + 200_000 * (i - 100)
        };
        let level = if i % 10 == 7 { 7 } else { 6 };
        let kernel = format!("[{:5}.{:06}] ", stamp / 1_000_000, stamp % 1_000_000);
        let text = format!("device {i:03}: a line that says nothing of any importance at all");
        writeln!(pair.dmesg, "<{level}>{kernel}{text}").unwrap();
        if level == 7 {
            continue;
        }
        let line = if stamps_on_console {
            format!("{kernel}{text}")
        } else {
            text
        };
        let first = free_at.max(stamp + 300);
        let last = first + byte_us * i64::try_from(line.len() + 2).unwrap();
        free_at = last;
        let at = |us: i64| format!("{}.{:06}000", us / 1_000_000, us % 1_000_000);
        writeln!(
            pair.serial,
            "{} {} {line}\r",
            at(first + ZERO_US),
            at(last + ZERO_US)
        )
        .unwrap();
        pair.delays.push(first - stamp - 300);
    }
    pair
}

fn shown(pair: &Pair) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let [serial, dmesg] = ["serial.log", "dmesg.txt"].map(|n| folder.path().join(n));
    std::fs::write(&serial, &pair.serial).unwrap();
    std::fs::write(&dmesg, &pair.dmesg).unwrap();
    show(&[&serial, &dmesg])
}

#[test]
fn lines_of_the_console_and_of_the_log_are_matched() {
    for stamps_on_console in [true, false] {
        let mut pair = pair(stamps_on_console);
        let show = shown(&pair);
        let delay = &show["console"]["delay"];
        pair.delays.sort_unstable();
        assert_eq!(delay["lines"], pair.delays.len(), "{stamps_on_console}");
        assert_eq!(delay["not_on_console"], 20);
        let longest = pair.delays.last().unwrap();
        assert_eq!(delay["max_ns"].as_i64().unwrap() / 1_000, *longest);
        let text = delay["latest"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("device 099: "), "{text}");
        // The truth is within the bound: no delay was longer than it says.
        assert_eq!(show["console"]["rate"]["from"], "capture");
        let matched = show["notes"].as_array().unwrap();
        let matched = matched.iter().any(|n| n["kind"] == "console_matched");
        assert_eq!(matched, !stamps_on_console);
    }
}

#[test]
fn clocks_that_part_are_noted_and_followed() {
    let mut log = String::from("# firstlight-serial 1\n");
    for i in 0..40_i64 {
        let kernel = i * 500_000;
        // After 10 s the kernel's clock stands still for 0.3 s.
        let host = ZERO_US + kernel + if i > 20 { 300_000 } else { 0 } + i % 3 * 100;
        let line = format!("{}.{:06}000", host / 1_000_000, host % 1_000_000);
        let (s, us) = (kernel / 1_000_000, kernel % 1_000_000);
        writeln!(
            log,
            "{line} {line} [{s:5}.{us:06}] line {i} of the kernel's log"
        )
        .unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("serial.log");
    std::fs::write(&path, &log).unwrap();
    let show = show(&[&path]);
    let note = show["notes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|n| n["kind"] == "clocks_diverge");
    let detail = note.unwrap()["detail"].as_str().unwrap();
    assert!(detail.starts_with("300.0 ms over 10"), "{detail}");
    // Every line is where the host saw it, within the bound.
    let delay = &show["console"]["delay"];
    assert!(delay["error_ns"].as_i64().unwrap() >= 300_000_000);
    assert!(delay["max_ns"].as_i64().unwrap() <= 300_200_000, "{delay}");
}
