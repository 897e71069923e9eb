//! Tables of strangers, as `history`, `boots` and `gate` read them, and what is said of few rows.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Scratch, valid};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

/// What the command does with `input` on standard input.
fn piped(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(args)
        .current_dir(common::workspace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A child that refuses its arguments reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn said(args: &[&str], input: &str, code: i32) -> String {
    let out = piped(args, input);
    assert_eq!(out.status.code(), Some(code), "{args:?}: {out:?}");
    String::from_utf8([out.stdout, out.stderr].concat()).unwrap()
}

fn document(args: &[&str], input: &str, code: i32) -> Value {
    let out = piped(args, input);
    assert_eq!(out.status.code(), Some(code), "{args:?}: {out:?}");
    serde_json::from_slice(&out.stdout).unwrap()
}

/// A step of 200 ms at row 30 of 50, as cells that `cell` writes from milliseconds.
fn stepped(head: &str, cell: impl Fn(usize, usize) -> String) -> String {
    let mut text = format!("{head}\n");
    for i in 0..50 {
        let ms = 2_000 + i * 7919 % 31 + if i >= 30 { 200 } else { 0 };
        writeln!(text, "{}", cell(i, ms)).unwrap();
    }
    text
}

fn only_change(text: &str) -> (u64, i64) {
    let check = document(&["history", "check", "--json", "-"], text, 1);
    valid(&check, "history");
    let points = check["change_points"].as_array().unwrap();
    assert_eq!(points.len(), 1, "{check:#}");
    let change = points[0]["change_ns"].as_i64().unwrap() / 1_000_000;
    (points[0]["index"].as_u64().unwrap(), change)
}

/// The same history in tables of several habits has one change point, of one size.
#[test]
fn tables_of_several_habits_say_the_same() {
    let seconds = |ms: usize| format!("{}.{:03}", ms / 1000, ms % 1000);
    let tables = [
        stepped("commit,boot", |i, ms| format!("c{i},{}s", seconds(ms))),
        stepped("commit;boot", |i, ms| {
            format!("c{i};{},{:02} s", ms / 1000, ms % 1000 / 10)
        }),
        stepped("commit,boot", |i, ms| {
            format!("c{i},{} s {} ms", ms / 1000, ms % 1000)
        }),
        stepped("commit,boot [ms],status", |i, ms| format!("c{i},{ms},ok")),
        stepped("# commit\tboot_ms", |i, ms| format!("c{i}\t{ms}\t")),
        stepped("commit,boot (s)", |i, ms| format!("c{i},{},", seconds(ms))),
    ];
    for table in tables {
        let (index, change) = only_change(&table);
        assert_eq!(index, 30, "{table}");
        assert!((185..=215).contains(&change), "{change}: {table}");
    }
    // Minutes and seconds, and boots that failed.
    let table = stepped("commit,boot,note", |i, ms| match i {
        7 | 20 | 41 => format!("c{i},failed,3 of 5"),
        _ => format!("c{i},1 min {},warm", seconds(ms) + "s"),
    });
    let out = piped(&["history", "check", "--json", "-"], &table);
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    let check: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(check["change_points"][0]["index"], 30);
    assert_eq!(
        check["change_points"][0]["before_ns"].as_i64().unwrap() / 1_000_000_000,
        62
    );
    let notes = String::from_utf8(out.stderr).unwrap();
    assert!(
        notes.contains("column note") && notes.contains("line 9, column boot (`failed`)"),
        "{notes}"
    );
}

/// `git log` prints the newest commit first. Read so, a regression would be a gain.
#[test]
fn a_table_with_the_newest_row_first_is_read_from_below() {
    let down: String = {
        let up = stepped("commit,date,boot_ms", |i, ms| {
            format!("c{i},2026-{:02}-{:02},{ms}", i / 25 + 1, i % 25 + 1)
        });
        let mut lines: Vec<&str> = up.lines().collect();
        lines[1..].reverse();
        lines.join("\n")
    };
    let check = document(&["history", "check", "--json", "-"], &down, 1);
    assert_eq!(check["change_points"][0]["commit"], "c30");
    assert!(
        check["notes"]
            .to_string()
            .contains("the newest row is the first")
    );
    // Rows in no order stay as they are, and so do commits that come again.
    let mixed = stepped("commit,date,boot_ms", |i, ms| {
        format!("c{},2026-01-{:02},{ms}", i % 20, (i * 7) % 28 + 1)
    });
    let notes = document(&["history", "check", "--json", "-"], &mixed, 1)["notes"].to_string();
    assert!(notes.contains("dated before the row above"), "{notes}");
    assert!(
        notes.contains("at several places of the history: 20 names, such as c0"),
        "{notes}"
    );
}

/// A column whose level changes with that of another explains it, and so do groups.
#[test]
fn columns_explain_each_other() {
    let table = stepped("commit,boot_ms,kernel_ms,net_ms", |i, ms| {
        format!("c{i},{ms},{},{}", 300 + i * 31 % 7, ms - 1_500 + i % 3)
    });
    let args = ["history", "check", "--json", "-", "--of", "boot_ms"];
    let check = document(&args, &table, 1);
    let items = check["change_points"][0]["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{check:#}");
    assert_eq!(items[0]["name"], "net_ms");
    let screen = said(&["history", "check", "-", "--of", "boot_ms"], &table, 1);
    assert!(
        screen.contains("Items that changed with it") && screen.contains("net_ms"),
        "{screen}"
    );

    let mut table = String::from("commit,machine,boot_ms,dhcp_ms\n");
    for i in 0..60 {
        let slow = usize::from(i * 7 % 10 < 3);
        let ms = 2_000 + i * 7919 % 31 + 400 * slow;
        let machine = ["rack-a", "rack-b"][slow];
        writeln!(table, "c{i},{machine},{ms},{}", 50 + i % 5 + 390 * slow).unwrap();
    }
    let args = ["history", "check", "--json", "-", "--of", "boot_ms"];
    let groups = &document(&args, &table, 0)["groups"][0];
    assert_eq!(groups["boots"], serde_json::json!([42, 18]));
    assert_eq!(groups["items"][0]["name"], "dhcp_ms");
    assert_eq!(
        groups["environment"],
        serde_json::json!(["machine: rack-a | rack-b"])
    );
}

#[test]
fn what_is_said_of_no_one_and_five_rows() {
    let rows = |count: usize| -> String {
        let all = stepped("commit,boot_ms", |i, ms| format!("c{i},{ms}"));
        all.lines()
            .take(count + 1)
            .map(|l| format!("{l}\n"))
            .collect()
    };
    let scratch = Scratch::new();
    let of = |count: usize| {
        let path = scratch.file("boots.csv", rows(count).as_bytes());
        said(&["history", "check", &path], "", 2)
    };
    assert!(of(0).contains("no row below the first line has a time"));
    let one = of(1);
    for part in [
        "cannot tell",
        "1 of the 10 entries",
        "2.000 s in its only entry",
        "9 more",
    ] {
        assert!(one.contains(part), "{part}: {one}");
    }
    let five = of(5);
    for part in [
        "5 of the 10 entries",
        "median 2.0",
        "no step is visible with so few",
        "five of each",
    ] {
        assert!(five.contains(part), "{part}: {five}");
    }
    // Nothing is visible, and nothing is said to be.
    let few = document(&["history", "check", "--json", "-"], &rows(5), 2);
    assert_eq!(few["resolution"][0]["visible_ns"], Value::Null);
    let gain = stepped("commit,boot_ms", |i, ms| format!("c{i},{}", 5_000 - ms));
    let gain = said(&["history", "check", "-"], &gain, 0);
    assert!(gain.starts_with("faster  boot_ms  -20"), "{gain}");
    assert!(gain.contains("confidence interval"), "{gain}");
}

/// `boots -` and `gate -` read a table as well as a log from standard input, once.
#[test]
fn tables_on_standard_input() {
    let scratch = Scratch::new();
    let rows = |ms: usize| -> String {
        let all = (0..6).map(|i| format!("{i},{}ms\n", ms + i * 7 % 5));
        format!("n,boot\n{}", all.collect::<String>())
    };
    let base = scratch.file("base.csv", rows(1_000).as_bytes());
    let boots = document(&["boots", "--json", "-"], &rows(1_000), 0);
    valid(&boots, "boots");
    assert_eq!(
        (&boots["boots"], &boots["times"][0]["name"]),
        (&6.into(), &"boot".into())
    );
    for (ms, code) in [(1_100, 1), (1_000, 0)] {
        let args = ["gate", "--json", &base, "--against", "-", "--of", "boot"];
        valid(&document(&args, &rows(ms), code), "gate");
    }
    said(
        &["gate", "-", "--against", &base, "--of", "boot"],
        &rows(1_100),
        0,
    );
    let twice = said(
        &["gate", "-", "--against", "-", "--of", "boot"],
        &rows(1_100),
        2,
    );
    assert!(twice.contains("only once"), "{twice}");
    let log = "Startup finished in 1s (kernel) + 2s (userspace) = 3s\n";
    assert_eq!(document(&["boots", "--json", "-"], log, 0)["boots"], 1);
    for (input, why) in [
        ("hello world\nthis is text\n", "unknown format"),
        ("", "empty"),
        (
            "a,b\n1,2\n",
            "standard input: not a table of boots: no column holds times",
        ),
    ] {
        let error = said(&["boots", "-"], input, 2);
        assert!(error.contains(why), "{input:?}: {error}");
    }
}

/// A trial of the lab that was stopped has no first light, whatever its console says.
#[test]
fn a_failed_trial_is_no_boot_of_a_history() {
    let scratch = Scratch::new();
    let capture = scratch.path("trials/x/0/capture");
    std::fs::create_dir_all(&capture).unwrap();
    let sources = r#"[{"name":"dmesg","format":"kernel-log","file":"dmesg.txt"}]"#;
    let manifest = format!(r#"{{"firstlight_capture":1,"taken_by":"test","sources":{sources}}}"#);
    scratch.file("trials/x/0/capture/manifest.json", manifest.as_bytes());
    scratch.file(
        "trials/x/0/capture/dmesg.txt",
        b"[    0.000000] Linux version 6.1.0\n[    2.000000] firstlight: mark first-light\n",
    );
    let store = scratch.path("store");
    let add = |failure: &str, code: i32| {
        let trial = format!(r#"{{"firstlight_trial":1,"failure":{failure}}}"#);
        scratch.file("trials/x/0/trial.json", trial.as_bytes());
        said(&["history", "add", &store, &capture], "", code)
    };
    let failed = add(
        r#"{"reason":"wall_limit","detail":"stopped after 900 s"}"#,
        2,
    );
    assert!(
        failed.contains("a boot has no times; nothing was added"),
        "{failed}"
    );
    assert!(add("null", 0).contains("added 1 boot"));
}

/// A table of 20,000 columns is read, and the screen stays a screen.
#[test]
fn a_table_with_20_000_columns_is_read() {
    let mut text = String::from("commit");
    for column in 0..20_000 {
        write!(text, ",u{column}_ms").unwrap();
    }
    for row in 0..12 {
        write!(text, "\nc{row}").unwrap();
        for column in 0..20_000 {
            write!(text, ",{}", (row * 7 + column) % 10).unwrap();
        }
    }
    let screen = said(&["history", "check", "-"], &text, 0);
    assert!(
        screen.lines().count() < 40,
        "{} lines",
        screen.lines().count()
    );
    assert!(screen.contains("more; --json has all of them"), "{screen}");
}
