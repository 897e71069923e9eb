//! Several boots where one was asked for: in one log, in several files, in a folder.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Scratch, firstlight, json};

fn log(end: &str) -> String {
    format!(
        "[    0.000000] Linux version 6.1.0 (x@y) #1\n\
         [    1.000000] Run /sbin/init as init process\n\
         [    1.100000] systemd[1]: systemd 252 running in system mode\n\
         [    {end}] systemd[1]: Startup finished in 1s (kernel) + 1s (userspace) = 2s.\n"
    )
}

fn refused(args: &[&str]) -> String {
    let output = firstlight(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_log_of_several_boots_is_split() {
    let scratch = Scratch::new();
    let both = log("3.000000") + &log("5.000000");
    let file = scratch.file("two.txt", both.as_bytes());
    let first_light = |args: &[&str]| json(args)["first_light"]["at_ns"].as_i64().unwrap();
    assert_eq!(first_light(&["show", "--json", &file]), 5_000_000_000);
    assert_eq!(
        first_light(&["show", "--json", "--boot", "1", &file]),
        3_000_000_000
    );
    assert_eq!(
        first_light(&["show", "--json", "--boot", "2", &file]),
        5_000_000_000
    );
    let text = refused(&["show", "--boot", "3", &file]);
    assert!(text.contains("the input holds 2 boots"), "{text}");
    // Evidence keeps its place in the file.
    let shown = json(&["show", "--json", &file]);
    let marks = shown["milestones"].as_array().unwrap();
    let start = marks.iter().find(|m| m["name"] == "kernel-start").unwrap();
    assert_eq!(
        start["origin"]["offset"].as_u64(),
        Some(log("3.000000").len() as u64)
    );
    // As boots they are two.
    let boots = firstlight(&["boots", &file]);
    assert!(
        String::from_utf8(boots.stdout)
            .unwrap()
            .starts_with("2 boots")
    );
}

#[test]
fn files_of_different_boots_are_refused() {
    let scratch = Scratch::new();
    let one = scratch.file(
        "a.txt",
        b"Startup finished in 1s (kernel) + 2s (userspace) = 3s\n",
    );
    let two = scratch.file(
        "b.txt",
        b"Startup finished in 1s (kernel) + 4s (userspace) = 5s\n",
    );
    let text = refused(&["show", &one, &two]);
    assert!(text.contains("a.txt") && text.contains("b.txt"), "{text}");
    assert!(text.contains("different boots"), "{text}");
    // The same file said twice is one boot.
    assert!(firstlight(&["show", &one, &one]).status.success());
}

#[test]
fn a_folder_of_logs_is_several_boots() {
    let scratch = Scratch::new();
    for folder in ["runs", "logs"] {
        std::fs::create_dir(scratch.path(folder)).unwrap();
    }
    for run in 1..=3 {
        let time = format!(
            "Startup finished in 1s (kernel) + {run}s (userspace) = {}s\n",
            run + 1
        );
        scratch.file(&format!("runs/run_{run}_time.txt"), time.as_bytes());
        scratch.file(&format!("runs/run_{run}_blame.txt"), b"900ms a.service\n");
        scratch.file(
            &format!("logs/{run}.log"),
            log(&format!("{}.000000", run + 2)).as_bytes(),
        );
    }
    for folder in ["runs", "logs"] {
        let folder = scratch.path(folder);
        let boots = firstlight(&["boots", &folder]);
        let text = String::from_utf8(boots.stdout).unwrap();
        assert!(text.starts_with("3 boots"), "{folder}: {text}");
    }
}

#[test]
fn a_first_light_without_a_match_is_an_error_of_every_verb() {
    let scratch = Scratch::new();
    let file = scratch.file("one.txt", log("3.000000").as_bytes());
    for verb in ["show", "blame", "path", "advise", "boots"] {
        let text = refused(&[verb, &file, "--first-light", "never said"]);
        assert!(
            text.contains("`never said` matched no mark"),
            "{verb}: {text}"
        );
    }
}

#[test]
fn what_this_program_writes_is_not_read_as_a_log() {
    let scratch = Scratch::new();
    let file = scratch.file("one.txt", log("3.000000").as_bytes());
    for (format, name) in [("svg", "o.svg"), ("chrome", "o.json")] {
        let out = scratch.path(name);
        assert!(
            firstlight(&["export", &file, "--to", format, "-o", &out])
                .status
                .success()
        );
        let text = refused(&["show", &out]);
        assert!(text.contains("not a log"), "{text}");
    }
}
