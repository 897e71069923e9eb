//! `firstlight path --without ...`, through the command line, and on published boots of
//! which both sides of a change were measured.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it found"
)]

mod common;

use common::{Scratch, firstlight, json, sample};
use serde_json::Value;

const TEXTS: &str = "\
Startup finished in 1.000s (kernel) + 9.500s (userspace) = 10.500s
graphical.target reached after 9.000s in userspace.

graphical.target @9.000s
`-multi-user.target @9.000s
  `-slow.service @3.000s +6.000s
    `-basic.target @3.000s
      `-sysinit.target @3.000s
        `-early.service @1.000s +2.000s
";

fn text() -> (Scratch, String) {
    let scratch = Scratch::new();
    let file = scratch.file("chain.txt", TEXTS.as_bytes());
    (scratch, file)
}

/// Least, expected and greatest saving, in seconds.
fn saves(document: &Value) -> [f64; 3] {
    let first = document["first_light_ns"].as_i64().unwrap();
    let new = &document["new_first_light_ns"];
    ["most", "expected", "least"].map(|key| (first - new[key].as_i64().unwrap()) as f64 / 1e9)
}

#[test]
fn the_document_has_the_path_as_it_was_and_as_it_would_be() {
    let (_scratch, file) = text();
    let was = json(&["path", "--json", &file]);
    assert_eq!(saves(&was), [0.0; 3]);
    assert_eq!(was["order"], "chain");
    let new = json(&[
        "path",
        "--json",
        "--without",
        "slow,early.service",
        "--first-light",
        "graphical.target",
        &file,
    ]);
    assert_eq!(new["first_light_ns"], 10_000_000_000_i64);
    let [least, expected, most] = saves(&new);
    assert!((4.0..8.0).contains(&least), "{least}");
    assert!(
        (expected - 8.0).abs() < 0.01 && most >= expected,
        "{expected} {most}"
    );
    assert_eq!(new["changed"][0]["wanted"], "slow");
    let shorter = json(&["path", "--json", "--shorten", "slow=500ms", &file]);
    assert!((saves(&shorter)[1] - 5.5).abs() < 0.01);
    let out = firstlight(&["path", "--without", "slow", &file]);
    let screen = String::from_utf8(out.stdout).unwrap();
    assert!(screen.contains("Forecast of first light"), "{screen}");
    assert!(screen.contains("Range: "), "{screen}");
}

#[test]
fn what_matches_nothing_is_an_error_of_one_sentence() {
    let (_scratch, file) = text();
    for (args, said) in [
        (&["--without", "nothing.service"][..], "matches no unit"),
        (&["--shorten", "slow=9s"], "it takes 6.000 s"),
        (&["--shorten", "slow"], "expected NAME=TIME"),
        (&["--processors", "2"], "does not show"),
        (&["--first-light", "nothing.target"], "matched no mark"),
    ] {
        let out = firstlight(&[&["path", &file][..], args].concat());
        let error = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(said), "{args:?}: {error}");
    }
}

#[test]
fn findings_together_save_no_more_than_the_boot() {
    let (_scratch, file) = text();
    let advice = json(&["advise", "--json", &file]);
    let joint = advice["joint"].as_array().unwrap();
    let findings = advice["findings"].as_array().unwrap();
    assert_eq!(joint.len(), findings.len());
    if let (Some(joint), Some(finding)) = (joint.first(), findings.first()) {
        assert_eq!(joint["saving_ns"], finding["saving_ns"]);
        assert_eq!(joint["saving_range_ns"], finding["saving_range_ns"]);
    }
}

/// The median of a column of a table of boots.
fn median(table: &str, column: &str) -> Option<f64> {
    let text = std::fs::read_to_string(sample(table)?).unwrap();
    let mut lines = text.lines();
    let at = lines.next()?.split(',').position(|c| c == column)?;
    let values = lines.filter_map(|l| l.split(',').nth(at)?.parse().ok());
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    Some((values.get(half)? + values.get(values.len() - 1 - half)?) / 2.0)
}

/// Before: the texts of one boot. The change: cloud-init off, an interface unmanaged. What
/// it saved is in the tables of ten boots of each.
#[test]
fn the_texts_before_a_change_foretell_it() {
    let folder = |name: &str| format!("systemd/{name}");
    let (before, after) = ("rpi4-tracing-disabled", "rpi4-desktop-no-cloud-init");
    let texts = ["summary", "chain", "blame"]
        .map(|t| sample(&folder(&format!("rpi4-desktop-baseline/run_1_{t}.txt"))));
    let [Some(time), Some(chain), Some(blame)] = texts else {
        return;
    };
    for (column, options) in [
        ("Target_Sec", &["--first-light", "graphical.target"][..]),
        ("Userspace_Sec", &[]),
    ] {
        let of = |step: &str| median(&folder(&format!("{step}/global_milestones.csv")), column);
        let (Some(before), Some(after)) = (of(before), of(after)) else {
            return;
        };
        let measured = before - after;
        let inputs = [
            "path",
            "--json",
            &time,
            &chain,
            &blame,
            "--without",
            "cloud-*",
        ];
        let [least, expected, most] = saves(&json(&[&inputs[..], options].concat()));
        println!("{column}: {measured:.3} s measured, {least} to {most}, {expected} expected");
        assert!(
            least <= measured && measured <= most,
            "{least} {measured} {most}"
        );
        assert!(
            (expected / measured - 1.0).abs() <= 0.25,
            "{expected} {measured}"
        );
        // What became of the waiter was measured, too.
        let shorter = ["--shorten", "NetworkManager.service=2360ms"];
        let [least, expected, most] = saves(&json(&[&inputs[..], options, &shorter].concat()));
        println!("with the waiter: {least} to {most}, {expected} expected");
        assert!(
            least <= measured && measured <= most,
            "{least} {measured} {most}"
        );
        assert!(
            (expected / measured - 1.0).abs() <= 0.25,
            "{expected} {measured}"
        );
    }
}
