//! `firstlight calibrate`, as a user runs it: the agent measures a file, the lab reads what
//! comes of it, and forecasts are held against a board.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use std::fs;
use std::process::{Command, Stdio};

/// Readings of a board as the agent prints them.
const READINGS: &str = "firstlight readings 1\nmachine aarch64 6.12.9\n\
    additions 16000000 20000000\nadditions 16000000 31000000\n\
    device /dev/mmcblk0 31268536320 0 128 64 mq-deadline\n\
    read 4096 400000\nread 4096 410000\nread 4096 390000\n\
    read 1048576 12000000\nread 1048576 12000000\nparallel 4096 8 256 25600000\nend\n";

#[test]
fn readings_become_a_profile_and_settings_of_the_lab() {
    let folder = tempfile::tempdir().unwrap();
    let readings = folder.path().join("readings");
    let out = folder.path().join("bench");
    fs::write(&readings, READINGS).unwrap();
    let words = |more: &[&str]| {
        let mut words = vec!["calibrate", "board", readings.to_str().unwrap()];
        words.extend(["--name", "bench", "--out", out.to_str().unwrap()]);
        words.extend(more);
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let run = |more: &[&str]| {
        let words = words(more);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        common::json(&words)
    };
    let found = run(&["--json"]);
    common::valid(&found, "calibrate");
    assert_eq!(found["processor_mhz"].as_f64().unwrap().round(), 800.0);
    assert_eq!(found["cpu_shift"], 0);
    assert_eq!(found["storage"]["queue_depth"], 4);
    let rate = found["storage"]["read_bytes_per_s"].as_u64().unwrap();
    assert!((89_000_000..91_000_000).contains(&rate), "{rate}");
    let profile = fs::read_to_string(out.join("storage.toml")).unwrap();
    assert!(
        profile.contains("measured on bench (/dev/mmcblk0)"),
        "{profile}"
    );
    let lab = fs::read_to_string(out.join("lab.toml")).unwrap();
    assert!(lab.contains("storage = \"storage.toml\""), "{lab}");

    // A connection that broke leaves no half profile.
    fs::remove_dir_all(&out).unwrap();
    fs::write(&readings, READINGS.replace("end\n", "")).unwrap();
    let words = words(&[]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let refused = common::firstlight(&words);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said.contains("incomplete"), "{said}");
    assert!(!out.exists());
}

#[test]
fn the_agent_reads_a_file_and_writes_nothing() {
    let agent =
        std::path::Path::new(env!("CARGO_BIN_EXE_firstlight")).with_file_name("firstlight-agent");
    if !agent.is_file() {
        println!("skipped: no firstlight-agent is built (cargo build -p firstlight-agent)");
        return;
    }
    // Not in /tmp, which may be in memory and take no direct reads.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let disk = folder.path().join("disk");
    fs::write(&disk, vec![7; 8 << 20]).unwrap();
    let measured = Command::new(&agent)
        .arg("measure")
        .arg(&disk)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&measured.stderr);
    if said.contains("past the page cache") {
        println!("skipped: {}", said.trim());
        return;
    }
    assert!(measured.status.success(), "{said}");
    assert_eq!(fs::read(&disk).unwrap(), vec![7; 8 << 20]);
    let readings = folder.path().join("readings");
    fs::write(&readings, &measured.stdout).unwrap();
    let out = folder.path().join("here");
    let [readings, out] = [&readings, &out].map(|p| p.to_str().unwrap());
    let words = ["calibrate", "board", readings, "--json", "--out", out];
    let made = common::firstlight(&words);
    let said = String::from_utf8_lossy(&made.stderr);
    match said.contains("while the board is idle") {
        true => println!("skipped: this machine is busy: {}", said.trim()),
        false => {
            assert!(made.status.success(), "{said}");
            let found = serde_json::from_slice(&made.stdout).unwrap();
            common::valid(&found, "calibrate");
        }
    }
    let nothing = Command::new(&agent)
        .args(["measure", "/nonexistent"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(nothing.status.code(), Some(2));
}

#[test]
fn forecasts_are_held_against_the_board() {
    let folder = tempfile::tempdir().unwrap();
    let (lab, board) = (folder.path().join("lab"), folder.path().join("board"));
    fs::create_dir_all(&lab).unwrap();
    fs::create_dir_all(&board).unwrap();
    let row = |name: &str, delta: i64, interval: &str, verdict: &str| {
        format!(
            "{{\"variant\":\"{name}\",\"delta_ns\":{delta},\"interval_ns\":{interval},\
             \"verdict\":\"{verdict}\"}}"
        )
    };
    let of = |rows: [String; 3]| rows.join(",");
    let text = format!(
        "{{\"schema\":\"firstlight.lab/1\",\"clock\":\"virtual\",\"baseline\":\"baseline\",\
         \"variants\":[{{\"variant\":\"baseline\",\"median_ns\":1000}}],\"comparison\":[{}]}}",
        of([
            row("quiet", -200, "null", "faster"),
            row("mask", -100, "null", "faster"),
            row("debug", 50, "null", "slower"),
        ])
    );
    fs::write(lab.join("result.json"), text).unwrap();
    let text = format!(
        "{{\"schema\":\"firstlight.lab.board/1\",\"clock\":\"wall\",\"board\":\"bench\",\
         \"baseline\":\"baseline\",\"basis\":\"loader\",\
         \"variants\":[{{\"variant\":\"baseline\",\"loader\":{{\"median_ns\":10000}}}}],\
         \"comparison\":[{}]}}",
        of([
            row("quiet", -1000, "[-1100,-900]", "faster"),
            row("mask", -500, "[-600,-400]", "faster"),
            row("debug", 20, "[-80,120]", "undecided"),
        ])
    );
    fs::write(board.join("board.json"), text).unwrap();
    let [lab, board] = [&lab, &board].map(|p| p.to_str().unwrap());
    let found = common::json(&["calibrate", "compare", lab, board, "--json"]);
    common::valid(&found, "calibrate.compare");
    assert_eq!(found["rank_correlation"].as_f64(), Some(1.0));
    assert_eq!(
        (&found["same_sign"], &found["proven"]),
        (&2.into(), &2.into())
    );
    assert_eq!(found["ratio"].as_f64(), Some(0.5));
    assert_eq!(
        found["variants"][0]["board_interval_percent"][0].as_f64(),
        Some(-11.0)
    );
    assert!(found["variants"][2]["verdict"].is_null());
    let markdown = common::firstlight(&["calibrate", "compare", lab, board, "--markdown"]);
    let markdown = String::from_utf8_lossy(&markdown.stdout).into_owned();
    assert!(markdown.contains("lab, virtual time") && markdown.contains("board, wall time"));
    // The sides are not taken for each other.
    let refused = common::firstlight(&["calibrate", "compare", board, lab]);
    assert_eq!(refused.status.code(), Some(2));
}
